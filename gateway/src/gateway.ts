import type { Gate } from "./call/gate.ts";
import type { Addresses } from "./config/addresses.ts";
import type { Config } from "./config/config.ts";
import { createContractShelf } from "./contract/contract-shelf.ts";
import { createSalesShelf } from "./contract/sales-shelf.ts";
import { startTaskWorker } from "./doors/worker/task-worker.ts";
import { createBodyReader } from "./doors/http/read-body.ts";
import { createMcpDoor, type AgentServer } from "./doors/mcp/mcp-door.ts";
import { approvalPageUrl } from "./approvals/approval-page.ts";
import { createHttpDoor, type InFlight } from "./doors/http/http-door.ts";
import { createLinkPages } from "./doors/http/link-pages.ts";
import { createSignInDoor, type FetchDocument } from "./doors/oauth/sign-in-door.ts";
import { createOperatorPages } from "./doors/http/operator-pages.ts";
import { answerPreflight } from "./doors/http/preflight.ts";
import { followSandboxLink } from "./doors/http/sandbox-links.ts";
import { download } from "./doors/site/download.ts";
import { createSiteDoor } from "./doors/site/site-door.ts";
import { createWebsite } from "./doors/site/website/website.ts";
import { createCredentials } from "./keys/credentials.ts";
import type { Secrets } from "./keys/secrets.ts";
import type { Store } from "./ledger/store.ts";
import { createLinkDesk } from "./links/link-desk.ts";
import type { PlatformClient } from "./links/platform-client.ts";
import { createVault } from "./links/vault.ts";
import type { Limiter } from "./limits/limiter.ts";
import { createOffer } from "./offer/create-offer.ts";
import { listLimits } from "./offer/list-limits.ts";
import { listModels } from "./offer/list-models.ts";
import { listUpstreams, type Offer } from "./offer/offer.ts";
import { taskUpstreams } from "./offer/task-upstreams.ts";
import type { Catalogue } from "./operation/catalogue.ts";
import { createBooks } from "./operation/create-books.ts";
import type { Forwarder } from "./operation/upstream.ts";
import { systemBytes, systemChance } from "./platform/chance.ts";
import { createIsProxy } from "./platform/caller-address.ts";
import type { Clock } from "./platform/clock.ts";
import { createDeadlines } from "./platform/deadlines.ts";
import { describeError, type Log } from "./platform/log.ts";
import type { Metrics } from "./platform/metrics.ts";
import { unknownPeer, type Peer } from "./platform/peer.ts";
import { CallRefused } from "./platform/refusals.ts";
import { Visitor } from "./platform/visitor.ts";
import { createPollFloor } from "./tasks/poll-floor.ts";
import { createTaskDesk } from "./tasks/task-desk.ts";
import { createUpstreamHealth, type UpstreamHealth } from "./routing/upstream-health.ts";

export interface GatewayParts {
  readonly catalogue: Catalogue;
  readonly config: Config;
  readonly addresses: Addresses;
  readonly sandboxUrl: string | undefined;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly limiter: Limiter;
  readonly forwarder: Forwarder;
  /** Speaks to the platforms at which people link their accounts. */
  readonly platformClient: PlatformClient;
  /** Which upstreams are paused after failures; with the usual rules when not given. */
  readonly health?: UpstreamHealth;
  readonly random?: () => number;
  readonly clock: Clock;
  readonly newId: () => string;
  /** For what nobody may guess; the system's own when not given. */
  readonly randomBytes?: (count: number) => Uint8Array;
  /** Fetches what a client known by an address says about itself; without it only other clients can come. */
  readonly fetchDocument?: FetchDocument;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly operatorToken?: string | undefined;
  readonly bodyTimeoutMs?: number;
  readonly salesRefreshMs?: number;
  /** Adds to what agents find at their door: tools of an embedder's own. */
  readonly extendAgentServer?: (server: AgentServer) => void;
}

export interface Gateway {
  readonly fetch: (request: Request, peer?: Peer) => Promise<Response>;
  readonly offer: () => Offer;
  /** Swaps what is on sale for calls that begin from now on. */
  readonly reload: (catalogue: Catalogue, config: Config, sandboxUrl: string | undefined) => Promise<Offer>;
  /** Makes the contract of the current offer known; otherwise whoever asks for it first does. */
  readonly publish: () => Promise<void>;
  readonly callsInFlight: () => number;
  /** Asks no upstream about tasks any more; resolves when nothing is under way. */
  readonly stop: () => Promise<void>;
}

/** Streams that are read on for an exact bill after their callers left; beyond these, what passed is the bill. */
const drainsMax = 256;

/** Nobody needs longer to send a body; a trickle only keeps a connection. */
const bodyTimeoutUsualMs = 60_000;

/** How often a configured source of sales data is looked at again. */
const salesRefreshUsualMs = 10 * 60_000;

/** Puts the parts together. Begins a run of the ledger, so everything a dead process left open is resolved first. */
export async function createGateway(parts: GatewayParts): Promise<Gateway> {
  const { store, clock, log, metrics } = parts;
  const recovery = await store.ledger.beginRun(clock.wallMs());
  if (recovery.releasedCalls + recovery.settledCalls > 0) {
    log.warn("calls of a process that died were ended", {
      released_calls: recovery.releasedCalls,
      settled_streams: recovery.settledCalls,
      micros_usd: recovery.releasedMicros,
    });
  }

  if (recovery.lostTasks > 0) {
    log.error("nobody knows whether tasks were created; their holds stay until the deadline", {
      lost_tasks: recovery.lostTasks,
    });
  }

  const prepare = async (
    catalogue: Catalogue,
    config: Config,
    sandboxUrl: string | undefined,
  ): Promise<Offer> => {
    const next = createOffer(catalogue, config, sandboxUrl);
    log.hide([...config.upstreams.values()].flatMap(({ key, link }) => [key, link?.clientSecret ?? ""]));
    await store.ledger.recordPrices(next.prices);
    return next;
  };
  let offer = await prepare(parts.catalogue, parts.config, parts.sandboxUrl);
  const readersView = ({ sales: configured }: Config) => ({
    contract: { offer, addresses: parts.addresses },
    sales: { offer, boundAtMs: clock.wallMs(), configured },
  });
  let view = readersView(parts.config);
  let { mcp } = parts.config;
  let isProxy = createIsProxy(parts.config.trustedProxies);
  const inFlight: InFlight = { calls: 0 };
  let drains = 0;
  const begin = (): (() => void) => {
    let running = true;
    inFlight.calls++;
    return () => {
      if (running) inFlight.calls--;
      running = false;
    };
  };

  const random = parts.random ?? systemChance;
  const desk = createTaskDesk({
    tasks: store.tasks,
    ledger: store.ledger,
    forwarder: parts.forwarder,
    upstreamOf: (name) => taskUpstreams(offer).find(({ upstream }) => upstream.name === name),
    clock,
    random,
    log,
    metrics,
  });
  const randomBytes = parts.randomBytes ?? systemBytes;
  const links = createLinkDesk({
    book: store.links,
    keys: store.keys,
    accounts: store.accounts,
    vault: createVault({ rowKey: parts.secrets.rowKey, randomBytes }),
    client: parts.platformClient,
    offer: () => offer,
    baseUrl: parts.addresses.baseUrl,
    clock,
    newId: parts.newId,
    randomBytes,
    log,
  });
  const gate: Gate = {
    credentials: createCredentials({
      keys: store.keys,
      grants: store.grants,
      audience: parts.addresses.mcpUrl,
      secrets: parts.secrets,
      limiter: parts.limiter,
      clock,
    }),
    limiter: parts.limiter,
    ledger: store.ledger,
    tasks: store.tasks,
    desk,
    pollFloor: createPollFloor(clock.monotonicMs),
    newTaskId: () => crypto.randomUUID(),
    forwarder: parts.forwarder,
    health: parts.health ?? createUpstreamHealth(clock.monotonicMs),
    random,
    links,
    books: createBooks({
      store,
      limiter: parts.limiter,
      links,
      models: () => listModels(offer),
      sharedLimits: () => listLimits(offer),
    }),
    clock,
    deadlines: createDeadlines(clock.monotonicMs),
    log,
    metrics,
    begin,
    beginDrain: () => {
      if (drains >= drainsMax) return undefined;
      drains++;
      return () => void drains--;
    },
  };
  const bodies = createBodyReader(parts.bodyTimeoutMs ?? bodyTimeoutUsualMs, clock.monotonicMs);
  const door = createHttpDoor({ gate, offer: () => offer, bodies, newId: parts.newId, inFlight });
  const linkPages = createLinkPages({
    desk: links,
    offer: () => offer,
    baseUrl: parts.addresses.baseUrl,
    bodies,
    newId: parts.newId,
    log,
  });
  const agents = createMcpDoor({
    gate,
    offer: () => offer,
    settings: () => mcp,
    approvals: store.approvals,
    stateKey: parts.secrets.keyFor("request state"),
    approvalPage: (id) => approvalPageUrl(parts.addresses, id),
    addresses: parts.addresses,
    bodies,
    newId: parts.newId,
    newSecretId: () => crypto.randomUUID(),
    extend: parts.extendAgentServer,
  });
  const signIn = createSignInDoor({
    ...parts,
    config: () => mcp,
    randomBytes,
    fetchDocument: parts.fetchDocument ?? (() => Promise.reject(new Error("No documents are fetched here."))),
    readBody: bodies.read,
  });
  const pages = createOperatorPages({
    metrics,
    operatorToken: parts.operatorToken,
    readiness: async () => {
      try {
        await store.ping();
      } catch (error) {
        log.error("the store does not answer", describeError(error));
        return "store";
      }
      if (!(await agents.isWell())) return "agents";
      return (await signIn.isWell()) ? undefined : "sign_in";
    },
  });
  const common = { book: store.publications, wallMs: clock.wallMs, log };
  const contracts = createContractShelf({ ...common, input: () => view.contract });
  const sales = createSalesShelf({ ...common, source: () => view.sales, download });
  const site = createSiteDoor({
    contracts,
    sales,
    offer: () => offer,
    newId: parts.newId,
    refuse: door.refuse,
  });
  const website = createWebsite({
    contracts,
    addresses: parts.addresses,
    offer: () => offer,
    newId: parts.newId,
    refuse: door.refuse,
  });
  sales.refresh();
  setInterval(sales.refresh, parts.salesRefreshMs ?? salesRefreshUsualMs).unref();
  metrics.gauge("tollgate_calls_in_flight", () => inFlight.calls);
  metrics.gauge("tollgate_upstream_paused", () =>
    listUpstreams(offer).map((upstream) => [{ upstream }, gate.health.isResting(upstream) ? 1 : 0]),
  );

  const serve = (request: Request, visitor: Visitor): Promise<Response> => {
    const target = splitTarget(request.url);
    const { path, rawQuery } = target;
    const broken = brokenRequest(request);
    if (broken) return attend(visitor, closing(door.refuse(broken, path)));
    // People come to these from a platform, without a key, so they are found before a key is asked for.
    const linkPage = linkPages.find(request.method, path);
    if (linkPage) return attend(visitor, linkPage(request, rawQuery));
    if (agents.serves(path, request)) return attend(visitor, agents.answer(request, visitor));
    if (!isApiPath(path)) return attend(visitor, servePage(request, target, visitor));
    const preflight = answerPreflight(request, parts.newId);
    return preflight ? attend(visitor, preflight) : door.answer(request, target, visitor);
  };

  /** The door for calls attends to its visitors itself: whatever is done around every call is worth a promise less. */
  const attend = async (visitor: Visitor, answer: Response | Promise<Response>): Promise<Response> => {
    inFlight.calls++;
    try {
      return visitor.answered(await answer);
    } finally {
      inFlight.calls--;
    }
  };

  /** Every answer has a name by which it can be asked about, also one that went wrong. */
  const servePage: typeof findPage = async (request, target, visitor) => {
    try {
      const response = await findPage(request, target, visitor);
      if (!response.headers.has("x-request-id")) response.headers.set("x-request-id", parts.newId());
      return response;
    } catch (error) {
      if (error instanceof CallRefused) return door.refuse(error, target.path);
      log.error("a page failed unexpectedly", { path: target.path, ...describeError(error) });
      return door.refuse(new CallRefused("internal", "internal error"), target.path);
    }
  };

  const findPage = async (
    request: Request,
    { path, rawQuery }: { readonly path: string; readonly rawQuery: string },
    visitor: Visitor,
  ): Promise<Response> => {
    if (signIn.owns(path)) return signIn.answer(request, { path, rawQuery }, visitor.address());
    const reads = request.method === "GET" || request.method === "HEAD";
    const page = reads ? pages.find(path) : undefined;
    if (page) return page(request, visitor.address());
    const read = reads ? (site.find(path) ?? website.find(path)) : undefined;
    if (read) return read(request, rawQuery);
    const linked = path.startsWith("/sandbox/")
      ? await followSandboxLink(request, { path, rawQuery }, { offer, baseUrl: parts.addresses.baseUrl })
      : undefined;
    if (linked) return linked;
    const refusal = new CallRefused("unknown_endpoint", "api endpoint not found");
    return website.notFound(request, path) ?? door.refuse(refusal, path);
  };

  const worker = startTaskWorker({ desk, upstreams: () => taskUpstreams(offer), log });

  return {
    fetch: (request, peer = unknownPeer) => serve(request, new Visitor(request, peer, isProxy)),
    offer: () => offer,
    reload: async (catalogue, config, sandboxUrl) => {
      offer = await prepare(catalogue, config, sandboxUrl);
      view = readersView(config);
      ({ mcp } = config);
      isProxy = createIsProxy(config.trustedProxies);
      sales.refresh();
      return offer;
    },
    publish: async () => void (await contracts.current()),
    callsInFlight: () => inFlight.calls,
    stop: worker.stop,
  };
}

/** Where a credential is asked for before anything else, whether the path exists or not. */
const isApiPath = (path: string): boolean =>
  path.startsWith("/v1/") ||
  path.startsWith("/v1beta/") ||
  path.startsWith("/apis/v1/") ||
  apiRoots.has(path);

const apiRoots: ReadonlySet<string> = new Set(["/v1", "/v1beta", "/apis/v1"]);

function splitTarget(url: string): { path: string; rawQuery: string } {
  // HTTP/1.0 without a Host leaves the bare path; everything else arrives as an absolute address.
  const start = url.startsWith("/") ? 0 : Math.max(0, url.indexOf("/", url.indexOf("://") + 3));
  const fragment = url.indexOf("#");
  const end = fragment === -1 ? url.length : fragment;
  const question = url.indexOf("?");
  if (question === -1 || question > end) return { path: url.slice(start, end), rawQuery: "" };
  return { path: url.slice(start, question), rawQuery: url.slice(question + 1, end) };
}

/** Two readers may see different ends of this request, so nothing after it can be trusted. */
function closing(response: Response): Response {
  response.headers.set("connection", "close");
  return response;
}

/** What the HTTP parser lets through although two readers could understand it differently. */
function brokenRequest(request: Request): CallRefused | undefined {
  if (request.method === "CONNECT" || request.method === "TRACE") {
    return new CallRefused("method_not_allowed", "this method is not served");
  }
  const host = request.headers.get("host");
  if (host?.includes(",") === true) {
    return new CallRefused("invalid_parameters", "Host: given more than once");
  }
  // An address is made of the Host where that is possible; HTTP/1.0 may come without one.
  if (host !== null && request.url.startsWith("/")) {
    return new CallRefused("invalid_parameters", "Host: expected an address");
  }
  if (request.headers.get("content-length")?.includes(",") === true) {
    return new CallRefused("invalid_parameters", "Content-Length: given more than once");
  }
  return undefined;
}

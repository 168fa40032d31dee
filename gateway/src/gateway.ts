import type { Gate } from "./call/gate.ts";
import type { Addresses } from "./config/addresses.ts";
import type { Config } from "./config/config.ts";
import { createContractShelf } from "./contract/contract-shelf.ts";
import { createSalesShelf } from "./contract/sales-shelf.ts";
import { startTaskWorker } from "./doors/worker/task-worker.ts";
import { createBodyReader } from "./doors/http/read-body.ts";
import { createMcpDoor, type AgentServer } from "./doors/mcp/mcp-door.ts";
import { approvalPageUrl } from "./approvals/approval-page.ts";
import { createDrains } from "./call/drains.ts";
import { createModelNews } from "./call/model-news.ts";
import { createHttpDoor, type InFlight } from "./doors/http/http-door.ts";
import { createLinkPages } from "./doors/http/link-pages.ts";
import { createSignInDoor, type FetchDocument } from "./doors/oauth/sign-in-door.ts";
import { createOperatorPages } from "./doors/http/operator-pages.ts";
import { download } from "./doors/site/download.ts";
import { createSiteDoor } from "./doors/site/site-door.ts";
import { createWebsite } from "./doors/site/website/website.ts";
import { createCredentials } from "./keys/credentials.ts";
import type { Secrets } from "./keys/secrets.ts";
import type { Recovery } from "./ledger/ledger.ts";
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
import { Visitor } from "./platform/visitor.ts";
import { createPollFloor } from "./tasks/poll-floor.ts";
import { createTaskDesk } from "./tasks/task-desk.ts";
import { createFrontDoor } from "./front-door.ts";
import { createUpstreamHealth, type UpstreamHealth } from "./routing/upstream-health.ts";
import { withNews, type UpstreamNews } from "./routing/upstream-news.ts";

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

/** Nobody needs longer to send a body; a trickle only keeps a connection. */
const bodyTimeoutUsualMs = 60_000;

/** How often a configured source of sales data is looked at again. */
const salesRefreshUsualMs = 10 * 60_000;

/** Puts the parts together. Begins a run of the ledger, so everything a dead process left open is resolved first. */
export async function createGateway(parts: GatewayParts): Promise<Gateway> {
  const { store, clock, log, metrics } = parts;
  tellRecovery(await store.ledger.beginRun(clock.wallMs()), log);

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
    health: withNews(parts.health ?? createUpstreamHealth(clock.monotonicMs), {
      monotonicMs: clock.monotonicMs,
      tell: (news) => tellNews(news, log),
    }),
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
    drains: createDrains(),
    modelNews: createModelNews(log),
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

  const answer = createFrontDoor({
    calls: door,
    agents,
    linkPages,
    signIn,
    pages,
    site,
    website,
    offer: () => offer,
    baseUrl: parts.addresses.baseUrl,
    bodies,
    newId: parts.newId,
    inFlight,
    log,
  });
  const worker = startTaskWorker({ desk, upstreams: () => taskUpstreams(offer), log });

  return {
    fetch: (request, peer = unknownPeer) => answer(request, new Visitor(request, peer, isProxy)),
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

function tellNews(news: UpstreamNews, log: Log): void {
  const { kind, upstream } = news;
  if (kind === "works_again") {
    log.warn("an upstream works again", { upstream, troubled_ms: Math.round(news.troubledMs) });
    return;
  }
  const does = kind === "fails" ? "keeps failing" : "asks to wait";
  log.warn(`an upstream ${does}; it rests while there are others`, { upstream, because: news.because });
}

/** What the process before this one left open, and what became of it. */
function tellRecovery({ releasedCalls, settledCalls, releasedMicros, lostTasks }: Recovery, log: Log): void {
  if (releasedCalls + settledCalls > 0) {
    log.warn("calls of a process that died were ended", {
      released_calls: releasedCalls,
      settled_streams: settledCalls,
      micros_usd: releasedMicros,
    });
  }
  if (lostTasks > 0) {
    log.error("nobody knows whether tasks were created; their holds stay until the deadline", {
      lost_tasks: lostTasks,
    });
  }
}

import type { Gate } from "./call/gate.ts";
import type { Addresses } from "./config/addresses.ts";
import type { Config } from "./config/config.ts";
import { createBodyReader } from "./doors/http/read-body.ts";
import { createHttpDoor } from "./doors/http/http-door.ts";
import { createOperatorPages } from "./doors/http/operator-pages.ts";
import { followSandboxLink } from "./doors/http/sandbox-links.ts";
import { createCredentials } from "./keys/credentials.ts";
import type { Secrets } from "./keys/secrets.ts";
import type { Store } from "./ledger/store.ts";
import type { Limiter } from "./limits/limiter.ts";
import { createOffer } from "./offer/create-offer.ts";
import { listLimits } from "./offer/list-limits.ts";
import { listModels } from "./offer/list-models.ts";
import { listUpstreams, type Offer } from "./offer/offer.ts";
import type { Catalogue } from "./operation/catalogue.ts";
import { createBooks } from "./operation/create-books.ts";
import type { Forwarder } from "./operation/upstream.ts";
import { systemChance } from "./platform/chance.ts";
import type { Clock } from "./platform/clock.ts";
import { describeError, type Log } from "./platform/log.ts";
import type { Metrics } from "./platform/metrics.ts";
import { CallRefused } from "./platform/refusals.ts";
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
  /** Which upstreams are paused after failures; with the usual rules when not given. */
  readonly health?: UpstreamHealth;
  readonly random?: () => number;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly operatorToken?: string | undefined;
  readonly bodyTimeoutMs?: number;
}

export interface Gateway {
  /** `address` tells the peer's, where the listener knows it; it is asked only by pages that need it. */
  readonly fetch: (request: Request, address?: () => string | undefined) => Promise<Response>;
  readonly offer: () => Offer;
  /** Swaps what is on sale for calls that begin from now on. */
  readonly reload: (catalogue: Catalogue, config: Config, sandboxUrl: string | undefined) => Promise<Offer>;
  readonly callsInFlight: () => number;
}

/** Streams that are read on for an exact bill after their callers left; beyond these, what passed is the bill. */
const drainsMax = 256;

/** Nobody needs longer to send a body; a trickle only keeps a connection. */
const bodyTimeoutUsualMs = 60_000;

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

  const prepare = async (
    catalogue: Catalogue,
    config: Config,
    sandboxUrl: string | undefined,
  ): Promise<Offer> => {
    const next = createOffer(catalogue, config, sandboxUrl);
    log.hide([...config.upstreams.values()].map((upstream) => upstream.key));
    await store.ledger.recordPrices(next.prices);
    return next;
  };
  let offer = await prepare(parts.catalogue, parts.config, parts.sandboxUrl);
  let inFlight = 0;
  let drains = 0;
  const begin = (): (() => void) => {
    let running = true;
    inFlight++;
    return () => {
      if (running) inFlight--;
      running = false;
    };
  };

  const gate: Gate = {
    credentials: createCredentials({ keys: store.keys, secrets: parts.secrets, clock }),
    limiter: parts.limiter,
    ledger: store.ledger,
    forwarder: parts.forwarder,
    health: parts.health ?? createUpstreamHealth(clock.monotonicMs),
    random: parts.random ?? systemChance,
    books: createBooks({
      store,
      limiter: parts.limiter,
      models: () => listModels(offer),
      sharedLimits: () => listLimits(offer),
    }),
    clock,
    log,
    metrics,
    begin,
    beginDrain: () => {
      if (drains >= drainsMax) return undefined;
      drains++;
      return () => void drains--;
    },
  };
  const door = createHttpDoor({
    gate,
    offer: () => offer,
    bodies: createBodyReader(parts.bodyTimeoutMs ?? bodyTimeoutUsualMs, clock.monotonicMs),
    newId: parts.newId,
  });
  const pages = createOperatorPages({
    metrics,
    operatorToken: parts.operatorToken,
    readiness: async () => {
      try {
        await store.ping();
        return undefined;
      } catch (error) {
        log.error("the store does not answer", describeError(error));
        return "store";
      }
    },
  });
  metrics.gauge("tollgate_calls_in_flight", () => inFlight);
  metrics.gauge("tollgate_upstream_paused", () =>
    listUpstreams(offer).map((upstream) => [{ upstream }, gate.health.isResting(upstream) ? 1 : 0]),
  );

  const serve = (request: Request, address: () => string | undefined): Promise<Response> => {
    const { path, rawQuery } = splitTarget(request.url);
    const broken = brokenRequest(request);
    if (broken) return Promise.resolve(closing(door.refuse(broken, path)));
    return isApiPath(path) ? door.answer(request, path, rawQuery) : servePage(request, path, address);
  };

  const servePage = async (
    request: Request,
    path: string,
    address: () => string | undefined,
  ): Promise<Response> => {
    const page = request.method === "GET" ? pages.find(path) : undefined;
    if (page) return page(request, address());
    const linked = path.startsWith("/sandbox/") ? await followSandboxLink(request, path, offer) : undefined;
    return linked ?? door.refuse(new CallRefused("unknown_endpoint", "api endpoint not found"), path);
  };

  return {
    fetch: async (request, address = () => undefined) => {
      const end = begin();
      try {
        return await serve(request, address);
      } finally {
        end();
      }
    },
    offer: () => offer,
    reload: async (catalogue, config, sandboxUrl) => (offer = await prepare(catalogue, config, sandboxUrl)),
    callsInFlight: () => inFlight,
  };
}

/** Where a credential is asked for before anything else, whether the path exists or not. */
const isApiPath = (path: string): boolean =>
  apiRoots.some(
    (root) => path.startsWith(root) && (path.length === root.length || path[root.length] === "/"),
  );

const apiRoots = ["/v1", "/v1beta", "/apis/v1"];

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
  if (request.headers.get("host")?.includes(",") === true) {
    return new CallRefused("invalid_parameters", "Host: given more than once");
  }
  if (request.headers.get("content-length")?.includes(",") === true) {
    return new CallRefused("invalid_parameters", "Content-Length: given more than once");
  }
  return undefined;
}

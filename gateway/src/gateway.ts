import { createGate } from "./call/create-gate.ts";
import type { Gate } from "./call/gate.ts";
import type { Addresses } from "./config/addresses.ts";
import type { Config } from "./config/config.ts";
import { createContractShelf } from "./contract/contract-shelf.ts";
import { createSalesShelf } from "./contract/sales-shelf.ts";
import { createDoors } from "./doors/create-doors.ts";
import { createBodyReader } from "./doors/wire/read-body.ts";
import type { AgentServer } from "./doors/mcp/mcp-door.ts";
import type { FetchDocument } from "./doors/oauth/server-configuration.ts";
import { download } from "./doors/site/download.ts";
import { startTaskWorker } from "./doors/worker/task-worker.ts";
import { createFrontDoor } from "./front-door.ts";
import type { Secrets } from "./keys/secrets.ts";
import { tellRecovery } from "./ledger/tell-recovery.ts";
import type { Store } from "./store/store.ts";
import type { StoreNews } from "./store/store-news.ts";
import type { PlatformClient } from "./links/platform-client.ts";
import type { Limiter } from "./limits/limiter.ts";
import { bringIntoForce } from "./offer/in-force.ts";
import { listUpstreams, type Offer } from "./offer/offer.ts";
import type { Catalogue } from "./operation/catalogue.ts";
import type { Forwarder } from "./operation/forwarder.ts";
import { systemBytes, systemChance } from "./platform/chance.ts";
import type { Clock } from "./platform/clock.ts";
import type { HttpRequest } from "./platform/http-request.ts";
import { createInFlight, type InFlight } from "./platform/in-flight.ts";
import type { Log } from "./platform/log.ts";
import type { Metrics } from "./platform/metrics.ts";
import { unknownPeer, type Peer } from "./platform/peer.ts";
import type { Answered } from "./platform/reply.ts";
import { Visitor } from "./platform/visitor.ts";
import type { UpstreamHealth } from "./routing/upstream-health.ts";

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
  /** Which upstreams are paused after failures. */
  readonly health?: UpstreamHealth;
  /** Where failures of the store are told, also by whoever opened it; told to the log when not given. */
  readonly storeNews?: StoreNews;
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
  /** For the bodies of all calls that are not answered yet; see doors/wire/body-room.ts. */
  readonly bodyRoomBytes?: number;
  readonly salesRefreshMs?: number;
  /** Adds to what agents find at their door: tools of an embedder's own. */
  readonly extendAgentServer?: (server: AgentServer) => void;
}

export interface Gateway {
  readonly answer: (request: HttpRequest, peer?: Peer) => Promise<Answered>;
  readonly offer: () => Offer;
  /** Swaps what is on sale for calls that begin from now on. */
  readonly reload: (catalogue: Catalogue, config: Config, sandboxUrl: string | undefined) => Promise<Offer>;
  /** Makes the contract of the current offer known; otherwise whoever asks for it first does. */
  readonly publish: () => Promise<void>;
  readonly callsInFlight: () => number;
  /** Is not ready for new callers from now on, and serves those who come nevertheless. */
  readonly announceStop: () => void;
  /** Asks no upstream about tasks any more, and lets nobody listen for news; resolves when nothing is under way. */
  readonly stop: () => Promise<void>;
}

/** Nobody needs longer to send a body; a trickle only keeps a connection. */
const bodyTimeoutUsualMs = 60_000;

/** How often a configured source of sales data is looked at again. */
const salesRefreshUsualMs = 10 * 60_000;

/** Puts the parts together. Begins a run of the ledger, so everything a dead process left open is resolved first. */
export async function createGateway(parts: GatewayParts): Promise<Gateway> {
  const { store, clock, random = systemChance, randomBytes = systemBytes } = parts;
  tellRecovery(await store.ledger.beginRun(clock.wallMs()), parts);

  let inForce = await bringIntoForce(parts, parts);
  const offer = (): Offer => inForce.offer;
  const inFlight = createInFlight();
  const gate = createGate({ ...parts, offer, inFlight, random, randomBytes });

  const publishing = { ...parts, book: store.publications, wallMs: clock.wallMs };
  const contracts = createContractShelf({ ...publishing, offer });
  const refreshMs = parts.salesRefreshMs ?? salesRefreshUsualMs;
  const sales = createSalesShelf({ ...publishing, source: () => inForce, download, refreshMs });
  sales.refresh();

  let isStopping = false;
  const { bodyTimeoutMs = bodyTimeoutUsualMs, bodyRoomBytes } = parts;
  const bodies = createBodyReader({ timeoutMs: bodyTimeoutMs, roomBytes: bodyRoomBytes, clock });
  const shared = { ...parts, gate, inForce: () => inForce, contracts, sales, bodies, inFlight, randomBytes };
  const doors = createDoors({ ...shared, isStopping: () => isStopping });
  const answer = createFrontDoor({ ...shared, doors });
  const worker = startTaskWorker({ ...gate, upstreams: () => offer().taskUpstreams });
  showGauges(gate, offer, inFlight);

  return {
    answer: (request, peer = unknownPeer) => answer(request, new Visitor(request, peer, inForce.isProxy)),
    offer,
    reload: async (catalogue, config, sandboxUrl) => {
      inForce = await bringIntoForce({ catalogue, config, sandboxUrl }, parts);
      sales.refresh();
      return inForce.offer;
    },
    publish: async () => void (await contracts.current()),
    callsInFlight: () => inFlight.calls,
    announceStop: () => void (isStopping = true),
    stop: async () => {
      sales.stop();
      await Promise.all([doors.agents.endListening(), worker.stop()]);
    },
  };
}

function showGauges({ metrics, health }: Gate, offer: () => Offer, inFlight: InFlight): void {
  metrics.gauge("tollgate_calls_in_flight", () => inFlight.calls);
  metrics.gauge("tollgate_upstream_paused", () =>
    listUpstreams(offer()).map((upstream) => [{ upstream }, health.isResting(upstream) ? 1 : 0]),
  );
}

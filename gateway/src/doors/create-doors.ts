import { approvalPageUrl } from "../approvals/approval-page.ts";
import type { Gate } from "../call/gate.ts";
import { ownOrigins, type Addresses } from "../config/addresses.ts";
import type { ContractShelf } from "../contract/contract-shelf.ts";
import type { SalesShelf } from "../contract/sales-shelf.ts";
import type { Secrets } from "../keys/secrets.ts";
import type { Store } from "../store/store.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { InForce } from "../offer/in-force.ts";
import type { Clock } from "../platform/clock.ts";
import type { InFlight } from "../platform/in-flight.ts";
import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Door } from "../platform/door.ts";
import { responseOf } from "../platform/reply.ts";
import { createAccountDoor } from "./account/account-door.ts";
import { createHttpDoor, type HttpDoor } from "./http/http-door.ts";
import { createLinkPages } from "./links/link-pages.ts";
import { createOperatorPages } from "./operator/operator-pages.ts";
import { createSandboxLinks } from "./sandbox/sandbox-links.ts";
import type { BodyReader } from "./wire/read-body.ts";
import { createMcpDoor, type AgentServer, type McpDoor } from "./mcp/mcp-door.ts";
import { createSessionRecords } from "./mcp/sessions/session-records.ts";
import type { FetchDocument } from "./oauth/server-configuration.ts";
import { createSignInDoor, type SignInDoor } from "./oauth/sign-in-door.ts";
import type { FormParts } from "./people/form.ts";
import { createPeople } from "./people/person.ts";
import { createSiteDoor } from "./site/site-door.ts";
import { createWebsite, type Website } from "./site/website/website.ts";

/** Every door that the front door can lead a request to. */
export interface Doors {
  readonly calls: HttpDoor;
  readonly agents: McpDoor;
  readonly linkPages: Door;
  readonly signIn: SignInDoor;
  readonly account: Door;
  readonly operator: Door;
  readonly site: Door;
  readonly website: Website;
  readonly sandboxLinks: Door;
}

interface Parts {
  readonly gate: Gate;
  readonly inForce: () => InForce;
  readonly contracts: ContractShelf;
  readonly sales: SalesShelf;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly limiter: Limiter;
  readonly addresses: Addresses;
  readonly bodies: BodyReader;
  readonly inFlight: InFlight;
  readonly isStopping: () => boolean;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly fetchDocument?: FetchDocument;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly operatorToken?: string | undefined;
  readonly extendAgentServer?: (server: AgentServer) => void;
}

export function createDoors(parts: Parts): Doors {
  const { gate, inForce, addresses, bodies, newId } = parts;
  const { baseUrl } = addresses;
  const offer = () => inForce().offer;
  const mcp = () => inForce().mcp;

  const calls = createHttpDoor({ gate, offer, bodies, newId, inFlight: parts.inFlight });
  const agents = createMcpDoor({
    gate,
    offer,
    settings: mcp,
    approvals: parts.store.approvals,
    calls: parts.store.calls,
    stateKey: parts.secrets.keyFor("request state"),
    sessionRecords: createSessionRecords({
      ...parts,
      records: parts.store.signIns,
      wallMs: parts.clock.wallMs,
    }),
    approvalPage: (id) => approvalPageUrl(addresses, id),
    addresses,
    bodies,
    newId,
    newSecretId: () => crypto.randomUUID(),
    extend: parts.extendAgentServer,
  });
  const forms: FormParts = {
    people: createPeople({ ...parts, encrypted: baseUrl.startsWith("https:") }),
    limiter: parts.limiter,
    origins: () => ownOrigins(addresses, mcp().allowedHosts),
    readBody: bodies.read,
  };
  const signIn = createSignInDoor({
    ...parts,
    ...forms,
    config: mcp,
    fetchDocument: parts.fetchDocument ?? (() => Promise.reject(new Error("No documents are fetched here."))),
  });
  return {
    calls,
    agents,
    linkPages: createLinkPages({ desk: gate.links, offer, baseUrl, bodies }),
    signIn,
    account: createAccountDoor({ ...parts, ...forms, selfService: gate.selfService, config: mcp, offer }),
    operator: createOperatorPages({
      metrics: parts.metrics,
      operatorToken: parts.operatorToken,
      isProxy: (address) => inForce().isProxy(address),
      readiness: () => findFailing({ agents, signIn }, parts),
    }),
    site: createSiteDoor({
      contracts: parts.contracts,
      sales: parts.sales,
      offer,
      limiter: parts.limiter,
      clock: parts.clock,
      refuse: (refusal, { target, id }) => responseOf(calls.refuse(refusal, target.path, id)),
    }),
    website: createWebsite({ contracts: parts.contracts, addresses, offer }),
    sandboxLinks: createSandboxLinks({ offer, baseUrl, bodies }),
  };
}

/** Names what cannot be served right now; undefined when everything can. */
async function findFailing(
  { agents, signIn }: Pick<Doors, "agents" | "signIn">,
  { store, gate, isStopping }: Parts,
): Promise<string | undefined> {
  if (isStopping()) return "stopping";
  try {
    await store.ping();
  } catch (error) {
    // Whoever asks, however often, hears it; the log once.
    gate.storeNews.failed("the store does not answer", error);
    return "store";
  }
  if (!(await agents.isWell())) return "agents";
  return (await signIn.isWell()) ? undefined : "sign_in";
}

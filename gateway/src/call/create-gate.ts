import type { Addresses } from "../config/addresses.ts";
import { createCredentials } from "../keys/credentials.ts";
import type { Secrets } from "../keys/secrets.ts";
import type { Store } from "../store/store.ts";
import { createStoreNews, type StoreNews } from "../store/store-news.ts";
import type { Limiter } from "../limits/limiter.ts";
import { createLinkDesk } from "../links/link-desk.ts";
import type { PlatformClient } from "../links/platform-client.ts";
import { createVault } from "../links/vault.ts";
import type { Offer } from "../offer/offer.ts";
import { createSelfService } from "../self-service/create-self-service.ts";
import type { Forwarder } from "../operation/forwarder.ts";
import type { Clock } from "../platform/clock.ts";
import { createDeadlines } from "../platform/deadlines.ts";
import type { InFlight } from "../platform/in-flight.ts";
import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import { TransitMap } from "../platform/transit-map.ts";
import { createUpstreamHealth, type UpstreamHealth } from "../routing/upstream-health.ts";
import { withNews, type UpstreamNews } from "../routing/upstream-news.ts";
import { createPollFloor } from "../tasks/poll-floor.ts";
import { createTaskDesk, type TaskDesk } from "../tasks/task-desk.ts";
import { createDrains } from "./later/drains.ts";
import type { Gate } from "./gate.ts";
import { createModelNews } from "./news/model-news.ts";

interface Parts {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly limiter: Limiter;
  readonly forwarder: Forwarder;
  readonly platformClient: PlatformClient;
  readonly health?: UpstreamHealth;
  readonly storeNews?: StoreNews;
  readonly addresses: Addresses;
  readonly offer: () => Offer;
  readonly inFlight: InFlight;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly random: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** The one gate of the house: every door leads its calls through it. */
export function createGate(parts: Parts): Gate {
  const { store, limiter, offer, clock } = parts;
  const links = createLinkDesk({
    book: store.links,
    keys: store.keys,
    accounts: store.accounts,
    vault: createVault({ rowKey: parts.secrets.rowKey, randomBytes: parts.randomBytes }),
    client: parts.platformClient,
    offer,
    baseUrl: parts.addresses.baseUrl,
    clock,
    newId: parts.newId,
    randomBytes: parts.randomBytes,
    log: parts.log,
  });
  const openAttempts: Gate["openAttempts"] = new TransitMap();
  const storeNews =
    parts.storeNews ?? createStoreNews({ ping: store.ping, monotonicMs: clock.monotonicMs, log: parts.log });
  return {
    credentials: createCredentials({
      keys: store.keys,
      tokens: store.tokens,
      audience: parts.addresses.mcpUrl,
      secrets: parts.secrets,
      limiter,
      clock,
    }),
    limiter,
    ledger: store.ledger,
    tasks: store.tasks,
    desk: taskDesk({ ...parts, storeNews }),
    pollFloor: createPollFloor(clock.monotonicMs),
    newTaskId: () => crypto.randomUUID(),
    forwarder: parts.forwarder,
    health: toldHealth(parts),
    keptAnswers: store.keptAnswers,
    random: parts.random,
    links,
    openAttempts,
    selfService: createSelfService({
      store,
      limiter,
      links,
      offer,
      attemptsOf: (callId) => openAttempts.get(callId),
    }),
    clock,
    deadlines: createDeadlines(clock.monotonicMs),
    log: parts.log,
    storeNews,
    metrics: parts.metrics,
    begin: parts.inFlight.begin,
    drains: createDrains(),
    modelNews: createModelNews(parts.log),
  };
}

const taskDesk = ({ store, offer, ...parts }: Parts & Pick<Gate, "storeNews">): TaskDesk =>
  createTaskDesk({
    tasks: store.tasks,
    ledger: store.ledger,
    forwarder: parts.forwarder,
    upstreamOf: (name) => offer().taskUpstreams.find(({ upstream }) => upstream.name === name),
    clock: parts.clock,
    random: parts.random,
    log: parts.log,
    storeNews: parts.storeNews,
    metrics: parts.metrics,
  });

/** Which upstreams are paused after failures; whoever operates the gateway hears of their troubles in the log. */
const toldHealth = ({ health, clock: { monotonicMs }, log }: Parts): UpstreamHealth =>
  withNews(health ?? createUpstreamHealth(monotonicMs), { monotonicMs, tell: (news) => tellNews(news, log) });

function tellNews(news: UpstreamNews, log: Log): void {
  const { kind, upstream } = news;
  if (kind === "works_again") {
    log.warn("an upstream works again", { upstream, troubled_ms: Math.round(news.troubledMs) });
    return;
  }
  if (news.outOfCredit) {
    const event = "the operator's account at an upstream is out of credit; it rests while there are others";
    log.error(event, { upstream });
    return;
  }
  const does = kind === "fails" ? "keeps failing" : "asks to wait";
  log.warn(`an upstream ${does}; it rests while there are others`, { upstream, because: news.because });
}

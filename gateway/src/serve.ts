import { addressOf, completeAddresses, hostAndPort, isThisMachine } from "./config/addresses.ts";
import { createConfigReader } from "./config/config-reader.ts";
import type { Config } from "./config/config.ts";
import type { Settings } from "./config/environment.ts";
import type { Environment } from "./config/variable.ts";
import { checkPublic } from "./config/public-sandbox.ts";
import { sentInTheClear } from "./config/sent-in-the-clear.ts";
import { createGateway, type Gateway, type GatewayParts } from "./gateway.ts";
import { answerEarly } from "./host/answer-early.ts";
import { drain } from "./host/drain.ts";
import { findLimitsApart } from "./host/installation.ts";
import type { Listen, Listening } from "./host/listen.ts";
import type { Reloads } from "./host/reload-on-change.ts";
import { sayOpen, type Greet } from "./host/say-open.ts";
import { createSandboxes, type Sandboxes } from "./host/sandboxes.ts";
import type { Secrets } from "./keys/secrets.ts";
import type { Store } from "./store/store.ts";
import type { StoreNews } from "./store/store-news.ts";
import type { PlatformClient } from "./links/platform-client.ts";
import type { Limiter } from "./limits/limiter.ts";
import { createOfferNews } from "./offer/advice/offer-news.ts";
import type { Catalogue } from "./operation/catalogue.ts";
import type { Forwarder } from "./operation/forwarder.ts";
import type { Clock } from "./platform/clock.ts";
import type { Log } from "./platform/log.ts";
import type { Metrics } from "./platform/metrics.ts";
import { reloadOffer } from "./reload-offer.ts";

export interface ServeParts {
  readonly settings: Settings;
  readonly environment: Environment;
  readonly projectFolder: string;
  /** The version of this program: whoever upgrades several nodes sees which of them have it. */
  readonly version: string;
  readonly readCatalogue: (config: Config) => Promise<Catalogue>;
  readonly allowSandboxPublic: boolean;
  readonly store: Store;
  readonly storeNews: StoreNews;
  readonly secrets: Secrets;
  readonly limiter: Limiter;
  readonly forwarder: Forwarder;
  /** Waits for no upstream any more: whatever is still open there ends as it stands. */
  readonly leaveUpstreams: () => void;
  readonly platformClient: PlatformClient;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly fetchDocument: NonNullable<GatewayParts["fetchDocument"]>;
  readonly bodyRoomBytes: number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly greet: Greet;
  readonly listen: Listen;
  /** Requests to read the configuration again, listened for since before it was read first. */
  readonly reloads: Reloads;
}

/** Describing the whole offer is a third of a second's work, and whoever waited for the start comes first. */
const publishAfterMs = 2_000;

/** Serves until told to stop. Resolves with the exit code. */
export async function serve(parts: ServeParts): Promise<number> {
  const { settings, log } = parts;
  const readConfig = createConfigReader(settings.configFile, parts.environment);
  const config = readConfig();
  checkPublic(config, parts);

  const open: { gateway?: Gateway } = {};
  const opening = Promise.withResolvers<Gateway>();
  const listener = parts.listen({
    host: settings.host,
    port: settings.port,
    answer: (request, peer) =>
      open.gateway?.answer(request, peer) ??
      answerEarly(request, peer, { opening: opening.promise, newId: parts.newId }),
  });
  const baseUrl = settings.baseUrl ?? addressOf(settings.host, listener.port);
  const sandboxes = createSandboxes(parts, `${baseUrl}/sandbox`);

  const addresses = completeAddresses(baseUrl, settings);
  const gateway = await createGateway({
    ...parts,
    config,
    addresses,
    catalogue: await parts.readCatalogue(config),
    sandboxUrl: await sandboxes.urlFor(config),
    operatorToken: settings.operatorToken,
  });
  // From the first call on, whoever stops the process lets running calls end.
  const stopped = stopSignal();
  open.gateway = gateway;
  opening.resolve(gateway);
  const offerNews = createOfferNews(log);
  offerNews.tell(gateway.offer());
  tellSettings(settings, { environment: parts.environment, config, baseUrl, log });
  const listensOn = hostAndPort(settings.host, listener.port);
  await sayOpen(parts, { offer: gateway.offer(), config, addresses, listensOn });

  parts.reloads.begin(() => reloadOffer({ ...parts, gateway, sandboxes, readConfig, offerNews }));
  let published: Promise<void> | undefined;
  const publishing = setTimeout(() => void (published = gateway.publish()), publishAfterMs);
  await stopped;
  clearTimeout(publishing);
  await stop(parts, { gateway, listener, sandboxes, published });
  return 0;
}

/** Signals can arrive several times for one request: from the terminal, from npm, from the runner. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve());
  });
}

/** What is allowed, and may not be what was meant. */
function tellSettings(settings: Settings, { environment, config, baseUrl, log }: Told): void {
  if (isNamelessPublic(settings.host, baseUrl))
    log.warn(namelessPublic, { host: settings.host, address: baseUrl });
  if (settings.store.kind === "postgres" && config.sandbox === "on") log.warn(sandboxOfOneNode);
  const limitsApart = findLimitsApart(settings);
  if (limitsApart !== undefined) log.warn(`limits are counted in the memory of this node: ${limitsApart}`);
  for (const note of sentInTheClear(settings, environment)) log.warn("set, perhaps not as meant", { note });
}

interface Told {
  readonly environment: Environment;
  readonly config: Config;
  readonly baseUrl: string;
  readonly log: Log;
}

/** It listens to others, and calls itself by an address that only this machine finds. */
const isNamelessPublic = (host: string, baseUrl: string): boolean =>
  !isThisMachine(host) && isThisMachine(new URL(baseUrl).hostname);

const namelessPublic =
  "others can reach this gateway, but not by the address it gives them: snippets and links lead to their own machine, " +
  "and agents and sign-in are refused; set TOLLGATE_BASE_URL to the address by which they know it";

const sandboxOfOneNode =
  "this node has a sandbox of its own, which knows nothing of the videos and links made at other nodes; " +
  "start one for all of them and write its address, as in sandbox: http://127.0.0.1:9100";

/** Lets nobody new in, and what runs come to its end. */
async function stop(parts: ServeParts, running: Running): Promise<void> {
  const { gateway, listener, sandboxes, published } = running;
  const { log, reloads } = parts;
  await announceStop(gateway, parts);
  // First of all nobody new is let in: whatever else has to end may take its time.
  const closed = listener.stop();
  log.info("stopping", { calls_in_flight: gateway.callsInFlight() });
  reloads.stop();
  await Promise.all([
    published,
    gateway.stop(),
    drain({
      ...parts,
      callsInFlight: gateway.callsInFlight,
      openRequests: listener.openRequests,
      cutAnswers: listener.cut,
      closed,
    }),
  ]);
  await sandboxes.stop();
  log.info("stopped");
}

interface Running {
  readonly gateway: Gateway;
  readonly listener: Listening;
  readonly sandboxes: Sandboxes;
  /** Resolves when the contract is known; undefined when that had not begun. */
  readonly published: Promise<void> | undefined;
}

/** Whoever sends callers here finds out at /readyz and sends them elsewhere, before anybody is turned away. */
async function announceStop(gateway: Gateway, { settings: { stopDelayMs }, log }: ServeParts): Promise<void> {
  if (stopDelayMs === 0) return;
  gateway.announceStop();
  log.info("stopping soon, as /readyz says by now", { serves_on_ms: stopDelayMs });
  await Bun.sleep(stopDelayMs);
}

import { existsSync } from "node:fs";
import { join } from "node:path";
import { addressOf, completeAddresses, hostAndPort, isThisMachine } from "./config/addresses.ts";
import type { Config } from "./config/config.ts";
import type { Settings } from "./config/environment.ts";
import { loadConfig, type Environment } from "./config/load-config.ts";
import { checkPublic } from "./config/public-sandbox.ts";
import { createGateway, type Gateway, type GatewayParts } from "./gateway.ts";
import { createDemoAccount } from "./host/demo-account.ts";
import { answerEarly } from "./host/answer-early.ts";
import { drain } from "./host/drain.ts";
import { greeting } from "./host/greeting.ts";
import { findLimitsApart } from "./host/installation.ts";
import type { Listen } from "./host/listen.ts";
import { openSandboxProcess, type SandboxProcess } from "./host/sandbox-process.ts";
import { reloadOnChange, type ReloadEnd } from "./host/reload-on-change.ts";
import type { Secrets } from "./keys/secrets.ts";
import type { Store } from "./books/store.ts";
import { InDoubt, NotWritten } from "./ledger/store-errors.ts";
import type { PlatformClient } from "./links/platform-client.ts";
import type { Limiter } from "./limits/limiter.ts";
import { exampleRequest, type ExampleRequest } from "./offer/example-request.ts";
import { firstCall } from "./offer/first-call.ts";
import { describeGap } from "./offer/gap.ts";
import type { Offer } from "./offer/offer.ts";
import type { Catalogue } from "./operation/catalogue.ts";
import type { Forwarder } from "./operation/upstream.ts";
import type { Clock } from "./platform/clock.ts";
import { ConfigError } from "./platform/config-error.ts";
import { describeError, type Log } from "./platform/log.ts";
import type { Metrics } from "./platform/metrics.ts";

export interface ServeParts {
  readonly settings: Settings;
  readonly environment: Environment;
  readonly projectFolder: string;
  /** Of this program: who upgrades several nodes sees which of them it is. */
  readonly version: string;
  readonly readCatalogue: (config: Config) => Promise<Catalogue>;
  readonly allowSandboxPublic: boolean;
  readonly store: Store;
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
  readonly log: Log;
  readonly metrics: Metrics;
  /** Says that it is open: words for people, the same facts for a program. */
  readonly greet: (words: string, facts: OpenFacts) => void;
  readonly listen: Listen;
}

/** The account and its key are told when they were just made, and never again. */
interface OpenFacts {
  readonly address: string;
  readonly account_id?: string | undefined;
  readonly key_id?: string | undefined;
  readonly key?: string | undefined;
}

/** Describing the whole offer is a third of a second's work, and whoever waited for the start comes first. */
const publishAfterMs = 2_000;

/** Serves until told to stop. Resolves with the exit code. */
export async function serve(parts: ServeParts): Promise<number> {
  const { settings, log, version } = parts;
  const readConfig = createConfigReader(parts);
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
  tellOffer(gateway.offer(), log);
  if (isNamelessPublic(settings.host, baseUrl))
    log.warn(namelessPublic, { host: settings.host, address: baseUrl });
  if (settings.store.kind === "postgres" && config.sandbox === "on") log.warn(sandboxOfOneNode);
  const limitsApart = findLimitsApart(settings);
  if (limitsApart !== undefined) log.warn(`limits are counted in the memory of this node: ${limitsApart}`);
  const newKey = await createDemoAccount({
    ...parts,
    signupCreditMicros: config.signupCreditMicros,
    nowMs: parts.clock.wallMs(),
  });
  const listensOn = hostAndPort(settings.host, listener.port);
  const words = greeting({
    addresses,
    listensOn: settings.baseUrl === undefined ? undefined : listensOn,
    newKey,
    sandbox: config.sandbox !== "off",
    firstCall: exampleOf(gateway.offer()),
  });
  parts.greet(words, { address: baseUrl, ...(await ownerOf(newKey, parts)) });
  parts.metrics.gauge("tollgate_build_info", () => [[{ version }, 1]]);
  log.info("serving", {
    version,
    address: baseUrl,
    listens_on: listensOn,
    operations: gateway.offer().operations.size,
  });

  const stopWatching = reloadOnChange(settings.configFile.path, () =>
    reload(parts, gateway, sandboxes, readConfig),
  );
  let published: Promise<void> | undefined;
  const publishing = setTimeout(() => void (published = gateway.publish()), publishAfterMs);
  await stopped;
  clearTimeout(publishing);
  await announceStop(gateway, parts);
  // First of all nobody new is let in: whatever else has to end may take its time.
  const closed = listener.stop();
  log.info("stopping", { calls_in_flight: gateway.callsInFlight() });
  stopWatching();
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
  return 0;
}

/** Whoever sends callers here finds out at /readyz and sends them elsewhere, before anybody is turned away. */
async function announceStop(gateway: Gateway, { settings: { stopDelayMs }, log }: ServeParts): Promise<void> {
  if (stopDelayMs === 0) return;
  gateway.announceStop();
  log.info("stopping soon, as /readyz says by now", { serves_on_ms: stopDelayMs });
  await Bun.sleep(stopDelayMs);
}

async function ownerOf(
  key: string | undefined,
  { store, secrets, clock }: ServeParts,
): Promise<Omit<OpenFacts, "address">> {
  if (key === undefined) return {};
  const owner = await store.keys.findCredential(secrets.hashKey(key), clock.wallMs());
  return { account_id: owner?.accountId, key_id: owner?.keyId, key };
}

function exampleOf(offer: Offer): ExampleRequest | undefined {
  const first = firstCall(offer);
  return first && exampleRequest(first, offer.names);
}

function tellOffer({ gaps, notes }: Offer, log: Log): void {
  for (const gap of gaps) log.warn("not on offer", { gap: describeGap(gap) });
  for (const note of notes) log.warn("on offer, perhaps not as meant", { note });
}

/**
 * The usual file may appear after the start. Once it was there it must be: one that is about to be replaced would put
 * everything back to the defaults for a moment, prices too.
 */
function createConfigReader({ settings, environment }: ServeParts): () => Config {
  const { path } = settings.configFile;
  let { mayBeAbsent } = settings.configFile;
  return () => {
    mayBeAbsent &&= !existsSync(path);
    return loadConfig({ path, mayBeAbsent }, environment);
  };
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

function createSandboxes(parts: ServeParts, publicUrl: string) {
  let running: SandboxProcess | undefined;
  return {
    urlFor: async (config: Config): Promise<string | undefined> => {
      if (config.sandbox === "off") return undefined;
      if (config.sandbox !== "on") return config.sandbox.url;
      running ??= await openSandboxProcess({
        program: join(parts.projectFolder, "sandbox/src/main.ts"),
        publicUrl,
        controlToken: Buffer.from(parts.randomBytes(16)).toString("hex"),
        file: sandboxFile(parts.settings),
        environment: parts.environment,
        log: parts.log,
      });
      return running.url;
    },
    stop: async () => running?.stop(),
  };
}

/** Beside the books, where one server at a time may write; nodes of a Postgres need not have a place to write at all. */
const sandboxFile = ({ store }: Settings): string | undefined =>
  store.kind === "sqlite" ? `${store.path}.sandbox` : undefined;

/** Puts a changed configuration in force, or keeps the old one and says why. */
async function reload(
  parts: ServeParts,
  gateway: Gateway,
  sandboxes: ReturnType<typeof createSandboxes>,
  readConfig: () => Config,
): Promise<ReloadEnd> {
  try {
    const config = readConfig();
    checkPublic(config, parts);
    const catalogue = await parts.readCatalogue(config);
    const offer = await gateway.reload(catalogue, config, await sandboxes.urlFor(config));
    tellOffer(offer, parts.log);
    await gateway.publish();
    parts.metrics.count("tollgate_config_reloads_total", { result: "ok" });
    parts.log.info("configuration reloaded", { operations: offer.operations.size });
    return "over";
  } catch (error) {
    if (isOfStore(error)) {
      // Each try counts, so it has a result of its own: whoever watches for bad files would be called for none.
      parts.metrics.count("tollgate_config_reloads_total", { result: "waiting" });
      parts.log.error(
        "the prices of the new configuration cannot be recorded yet; the old one stays until they are",
        describeError(error),
      );
      return "again";
    }
    parts.metrics.count("tollgate_config_reloads_total", { result: "kept_old" });
    const why = error instanceof ConfigError ? { error: error.message } : describeError(error);
    parts.log.error("the new configuration cannot be used; the old one stays", why);
    return "over";
  }
}

/** The file is good then, and nobody would touch it again to have it read. */
const isOfStore = (error: unknown): boolean => error instanceof NotWritten || error instanceof InDoubt;

/** Signals can arrive several times for one wish: from the terminal, from npm, from the runner. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve());
  });
}

// The composition root: the only file that knows which store, which limiter and which listener there are.

import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { addressOf, completeAddresses } from "./config/addresses.ts";
import type { Config } from "./config/config.ts";
import { readSettings, usualFileIn, type Settings } from "./config/environment.ts";
import { loadConfig } from "./config/load-config.ts";
import { checkPublic } from "./config/public-sandbox.ts";
import type { CliParts } from "./doors/cli/cli-parts.ts";
import { runCommand } from "./doors/cli/run-command.ts";
import { createDocumentFetch } from "./host/fetch-document.ts";
import {
  checkAddress,
  checkSecret,
  claimed,
  findFingerprint,
  secretsOf,
  withoutPasswords,
} from "./host/installation.ts";
import { createListen } from "./host/listen.ts";
import { createOutput } from "./host/output.ts";
import { probe } from "./host/probe.ts";
import type { Secrets } from "./keys/secrets.ts";
import type { Store } from "./books/store.ts";
import { tellRecovery } from "./ledger/tell-recovery.ts";
import type { Limiter } from "./limits/limiter.ts";
import { createOffer } from "./offer/create-offer.ts";
import { loadCatalogue, type Catalogue } from "./operation/catalogue.ts";
import { systemBytes } from "./platform/chance.ts";
import { systemClock } from "./platform/clock.ts";
import { messageOf } from "./platform/error-message.ts";
import { createLog, describeError, type Log } from "./platform/log.ts";
import { createMetrics, type Metrics } from "./platform/metrics.ts";
import { checkData, type DataPlace, type OpeningEvents } from "./stores/data-place.ts";
import { createMemoryLimiter } from "./stores/memory-limiter.ts";
import { moveBooks, undoMove, type NewBooks, type OldBooks } from "./stores/move-books.ts";
import { openNewBooks } from "./stores/postgres/new-books.ts";
import { postgresPlace } from "./stores/postgres/postgres-place.ts";
import { lookAtRedis } from "./stores/redis/look-at-redis.ts";
import { openSoftLimiter } from "./stores/redis/soft-limiter.ts";
import { openOldBooks } from "./stores/sqlite/old-books.ts";
import { sqlitePlace } from "./stores/sqlite/sqlite-place.ts";
import { createListingAsker } from "./upstreams/ask-listing.ts";
import { createForwarder } from "./upstreams/forwarder.ts";
import { httpClient } from "./upstreams/http-client.ts";
import { createPlatformClient } from "./upstreams/platform-client.ts";
import { exchanges, protocols } from "./upstreams/protocols.ts";

const projectFolder = join(import.meta.dir, "../..");
const environment = process.env;
const newId = (): string => Bun.randomUUIDv7();
const output = createOutput(process.stdout);
const errorOutput = createOutput(process.stderr);
const print = (text: string): void => output.write(`${text}\n`);
const printError = (text: string): void => errorOutput.write(`${text}\n`);

/** A terminal shows one line that changes; a file or a pipe gets none of it. */
const showProgress = (line: string | undefined): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${line ?? ""}`);
};

async function main(words: readonly string[]): Promise<number> {
  try {
    return await runCommand(words, cliParts(readSettings(environment, process.cwd())));
  } catch (error) {
    printError(messageOf(error));
    return 1;
  }
}

function cliParts(settings: Settings): CliParts {
  const data = dataPlaceOf(settings);
  const secrets = (): Secrets => secretsOf(settings);
  const onBroughtForward: OpeningEvents["onBroughtForward"] = (schemas) =>
    printError(`${sentenceAbout(schemas)}.`);
  const openForPeople = async (under: Secrets): Promise<Store> =>
    claimed(await data.openForPeople({ onBroughtForward }), under);
  return {
    openStore: async () => {
      await checkData(data);
      return openForPeople(secrets());
    },
    hasData: data.hasData,
    openOrBeginStore: async () => openForPeople(secrets()),
    secrets,
    platformClient: createPlatformClient(httpClient),
    clock: systemClock,
    newId,
    randomBytes: systemBytes,
    print,
    printError,
    backUp: data.backUp,
    backUpInto: data.backUpInto,
    // Nobody may have started anything here yet: then there is no secret, and none is made that would be the wrong one.
    restore: (file, options) => data.restore(file, { fingerprint: findFingerprint(settings), ...options }),
    moveBooks: (file, onProgress) =>
      withBothBooks(settings, file, { onProgress, onBroughtForward }, (old, fresh) =>
        moveBooks(old, fresh, newId),
      ),
    undoMove: (file) =>
      withBothBooks(settings, file, { onProgress: () => {}, onBroughtForward }, async (old, fresh) => {
        await undoMove(old, fresh);
        return old.name;
      }),
    loadOffer: async () => {
      const config = loadConfig(settings.configFile, environment);
      const sandboxUrl = config.sandbox === "off" ? undefined : "http://sandbox.invalid";
      return { config, offer: createOffer(await readCatalogue(config), config, sandboxUrl) };
    },
    checkStart: (config, { allowSandboxPublic }) => {
      checkAddress(settings);
      checkPublic(config, { settings, allowSandboxPublic });
    },
    dataName: data.name,
    lookAtData: () => withoutPasswords(settings, data.look),
    findFingerprint: () => {
      checkSecret(settings);
      return findFingerprint(settings);
    },
    lookAtLimits: () => withoutPasswords(settings, () => lookAtLimits(settings)),
    addresses: () => completeAddresses(settings.baseUrl ?? addressOf(settings.host, settings.port), settings),
    probe,
    askListing: createListingAsker(protocols),
    version: packageVersion,
    caller: () => ({
      apiKey: environment["TOLLGATE_KEY"],
      baseUrl: settings.baseUrl ?? `http://127.0.0.1:${settings.port}`,
    }),
    write: output.write,
    showProgress,
    serve: (flags) => serveHere(settings, data, flags.allowSandboxPublic),
  };
}

async function serveHere(settings: Settings, data: DataPlace, allowSandboxPublic: boolean): Promise<number> {
  checkAddress(settings);
  const secrets = secretsOf(settings);
  const metrics = createMetrics();
  const log = createLog({
    level: settings.logLevel,
    nowMs: systemClock.wallMs,
    write: (line) => void process.stderr.write(line),
  });
  if (settings.store.kind === "postgres") log.hide(settings.store.secrets);
  const limits = await openLimits(settings, log, metrics);
  const { store: opened, leave } = await data.openForServing({
    onCommit: (writes) => {
      metrics.count("tollgate_ledger_commits_total");
      metrics.count("tollgate_ledger_writes_total", undefined, writes);
    },
    onBrokenDisk: (error) => {
      log.error("the disk failed; stopping, because nobody knows what is on it", describeError(error));
      process.exit(brokenDiskExitCode);
    },
    onBroughtForward: (schemas) => log.warn(sentenceAbout(schemas)),
    onLostNote: (error) => log.error("a note about a call could not be written", describeError(error)),
    onRecovered: (recovery) => tellRecovery(recovery, log),
  });
  const store = await claimed(opened, secrets);
  try {
    // Only here: all doors together take longer to load than a command takes to run.
    const { serve } = await import("./serve.ts");
    return await serve({
      settings,
      environment,
      projectFolder,
      version: packageVersion(),
      readCatalogue,
      allowSandboxPublic,
      store,
      secrets,
      limiter: limits.limiter,
      forwarder: createForwarder(httpClient, protocols),
      platformClient: createPlatformClient(httpClient),
      clock: systemClock,
      newId,
      randomBytes: systemBytes,
      fetchDocument: createDocumentFetch({
        resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
      }),
      log,
      metrics,
      print,
      listen: createListen(),
    });
  } finally {
    await limits.close();
    await store.close();
    leave();
  }
}

/** What ships, and the folders of the operator's own. */
const readCatalogue = ({ catalogueFolders }: Config): Promise<Catalogue> =>
  loadCatalogue([join(projectFolder, "catalogue")], { own: catalogueFolders, exchanges });

/** Told once, when it happens: from then on only a backup leads back to the earlier version. */
const sentenceAbout: (schemas: Parameters<OpeningEvents["onBroughtForward"]>[0]) => string = ({ from, to }) =>
  `the data was brought forward from schema ${from} to ${to}`;

interface Limits {
  readonly limiter: Limiter;
  readonly close: () => Promise<void>;
}

/** A Redis that is not there is no reason not to start; one that does not accept us is. */
async function openLimits({ limits }: Settings, log: Log, metrics: Metrics): Promise<Limits> {
  const { monotonicMs } = systemClock;
  if (limits.kind === "memory") return { limiter: createMemoryLimiter(monotonicMs), close: async () => {} };
  log.hide(limits.secrets);
  const limiter = await openSoftLimiter({ url: limits.url, node: newId(), monotonicMs, log, metrics });
  return { limiter, close: limiter.close };
}

async function lookAtLimits({ limits }: Settings): Promise<string> {
  if (limits.kind === "memory") return "the memory of the server";
  const place = `the Redis at ${new URL(limits.url).host}`;
  try {
    await lookAtRedis(limits.url, systemClock.monotonicMs);
  } catch (error) {
    throw new Error(`${place} cannot be used: ${messageOf(error)}`, { cause: error });
  }
  return place;
}

const dataPlaceOf = ({ store }: Settings): DataPlace =>
  store.kind === "sqlite"
    ? sqlitePlace(store.path, systemClock.wallMs)
    : postgresPlace(store.url, systemClock.monotonicMs);

interface MoveEvents extends OpeningEvents {
  readonly onProgress: (rows: number) => void;
}

/** The books of a file, and those of the database that they move to. */
async function withBothBooks<Result>(
  settings: Settings,
  file: string | undefined,
  { onProgress, onBroughtForward }: MoveEvents,
  use: (old: OldBooks, fresh: NewBooks) => Promise<Result>,
): Promise<Result> {
  const { store } = settings;
  if (store.kind !== "postgres")
    throw new Error("Set TOLLGATE_STORE to the Postgres database that the books are to move to.");
  const { fingerprint } = secretsOf(settings);
  const { wallMs, monotonicMs } = systemClock;
  const old = await openOldBooks(file ?? usualFileIn(settings.dataFolder), { wallMs, onBroughtForward });
  try {
    const { name } = dataPlaceOf(settings);
    const fresh = await openNewBooks({
      url: store.url,
      name,
      fingerprint,
      wallMs,
      monotonicMs,
      onProgress,
      onBroughtForward,
    });
    try {
      return await use(old.books, fresh.books);
    } finally {
      await fresh.close();
    }
  } finally {
    old.release();
  }
}

/** Tells a supervisor to start again: recovery then reads what really is on the disk. */
const brokenDiskExitCode = 70;

/** The file is ours, and npm does not install it without a version. */
const packageVersion = (): string =>
  (JSON.parse(readFileSync(join(projectFolder, "package.json"), "utf8")) as { version: string }).version;

const exitCode = await main(process.argv.slice(2));
await Promise.all([output.taken(), errorOutput.taken()]);
process.exit(exitCode);

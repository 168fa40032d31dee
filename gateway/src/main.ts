// The composition root: the only file that knows which store, which limiter and which listener there are.

import { lookup } from "node:dns/promises";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { addressOf, completeAddresses } from "./config/addresses.ts";
import { readSettings, type Settings } from "./config/environment.ts";
import { loadConfig } from "./config/load-config.ts";
import type { CliParts } from "./doors/cli/cli-parts.ts";
import { runCommand } from "./doors/cli/run-command.ts";
import { createDocumentFetch } from "./host/fetch-document.ts";
import { findInstallationSecret, loadInstallationSecret } from "./host/installation-secret.ts";
import { createListen } from "./host/listen.ts";
import { createOutput } from "./host/output.ts";
import { createSecrets, type Secrets } from "./keys/secrets.ts";
import type { Store } from "./books/store.ts";
import type { Limiter } from "./limits/limiter.ts";
import { createOffer } from "./offer/create-offer.ts";
import { loadCatalogue } from "./operation/catalogue.ts";
import { systemBytes } from "./platform/chance.ts";
import { systemClock } from "./platform/clock.ts";
import { createLog, describeError, type Log } from "./platform/log.ts";
import { createMetrics, type Metrics } from "./platform/metrics.ts";
import { serve } from "./serve.ts";
import { createMemoryLimiter } from "./stores/memory-limiter.ts";
import { openSoftLimiter } from "./stores/redis/soft-limiter.ts";
import { backUp, restore } from "./stores/sqlite/backup.ts";
import { backUpInto } from "./stores/sqlite/kept-backups.ts";
import { takeServerLock, type ServerLock } from "./stores/sqlite/server-lock.ts";
import { openSqliteStore, type SqliteStoreOptions } from "./stores/sqlite/sqlite-store.ts";
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
    printError(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

function cliParts(settings: Settings): CliParts {
  const secrets = (): Secrets =>
    createSecrets(loadInstallationSecret(settings.secret, settings.dataFolder, systemBytes));
  const secretsOfData = (): Secrets => {
    checkData(settings);
    return secrets();
  };
  const openForPeople = (under: Secrets): Promise<Store> =>
    openStore(settings, under, {
      patienceMs: patienceOfPeopleMs,
      guardMigration: (migrate) => migrateAlone(settings, migrate),
    });
  return {
    openStore: async () => openForPeople(secretsOfData()),
    hasData: () => existsSync(settings.databasePath),
    openOrBeginStore: async () => openForPeople(secrets()),
    secrets: secretsOfData,
    platformClient: createPlatformClient(httpClient),
    clock: systemClock,
    newId,
    randomBytes: systemBytes,
    print,
    printError,
    backUp: async (file) => {
      checkData(settings);
      await backUp(settings.databasePath, file);
    },
    backUpInto: async (folder, keep) => {
      checkData(settings);
      return backUpInto({ path: settings.databasePath, folder, keep, nowMs: systemClock.wallMs() });
    },
    restore: async (file) => {
      const lock = lockServer(settings);
      try {
        // Nobody may have started anything here yet: then there is no secret, and none is made that would be the wrong one.
        const secret = findInstallationSecret(settings.secret, settings.dataFolder);
        return restore({
          backup: file,
          path: settings.databasePath,
          fingerprint: secret === undefined ? undefined : createSecrets(secret).fingerprint,
          nowMs: systemClock.wallMs(),
        });
      } finally {
        lock.release();
      }
    },
    loadOffer: async () => {
      const config = loadConfig(settings.configFile, environment);
      const catalogue = await loadCatalogue([join(projectFolder, "catalogue")], {
        own: config.catalogueFolders,
        exchanges,
      });
      const sandboxUrl = config.sandbox === "off" ? undefined : "http://sandbox.invalid";
      return { config, offer: createOffer(catalogue, config, sandboxUrl) };
    },
    addresses: () => completeAddresses(settings.baseUrl ?? addressOf(settings.host, settings.port), settings),
    probe,
    askListing: createListingAsker(protocols),
    version: () => packageVersion(join(projectFolder, "package.json")),
    caller: () => ({
      apiKey: environment["TOLLGATE_KEY"],
      baseUrl: settings.baseUrl ?? `http://127.0.0.1:${settings.port}`,
    }),
    write: output.write,
    showProgress,
    serve: (flags) => serveHere(settings, secrets(), flags.allowSandboxPublic),
  };
}

async function serveHere(settings: Settings, secrets: Secrets, allowSandboxPublic: boolean): Promise<number> {
  const lock = lockServer(settings);
  const metrics = createMetrics();
  const log = createLog({
    level: settings.logLevel,
    nowMs: systemClock.wallMs,
    write: (line) => void process.stderr.write(line),
  });
  const limits = await openLimits(settings, log, metrics);
  const store = await openStore(settings, secrets, {
    ballastPath: `${settings.databasePath}.ballast`,
    onCommit: (writes) => {
      metrics.count("tollgate_ledger_commits_total");
      metrics.count("tollgate_ledger_writes_total", undefined, writes);
    },
    onBrokenDisk: (error) => {
      log.error("the disk failed; stopping, because nobody knows what is on it", describeError(error));
      process.exit(brokenDiskExitCode);
    },
    onLostNote: (error) => log.error("a note about a call could not be written", describeError(error)),
  });
  try {
    return await serve({
      settings,
      environment,
      projectFolder,
      exchanges,
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
    lock.release();
  }
}

interface Limits {
  readonly limiter: Limiter;
  readonly close: () => Promise<void>;
}

/** A Redis that is not there is no reason not to start; one that does not accept us is. */
async function openLimits({ limits }: Settings, log: Log, metrics: Metrics): Promise<Limits> {
  const { monotonicMs } = systemClock;
  if (limits.kind === "memory") return { limiter: createMemoryLimiter(monotonicMs), close: async () => {} };
  const { password } = new URL(limits.url);
  log.hide([limits.url, password]);
  const limiter = await openSoftLimiter({ url: limits.url, node: newId(), monotonicMs, log, metrics });
  return { limiter, close: limiter.close };
}

/** In the wrong folder a command would succeed over nothing, and a nightly backup be empty for months. */
function checkData({ databasePath }: Settings): void {
  if (existsSync(databasePath)) return;
  throw new Error(
    `There is no data at ${resolve(databasePath)}. ` +
      "Run this where the server runs, or set TOLLGATE_DATA or TOLLGATE_STORE to where its data is.",
  );
}

/** Who typed a command would rather wait for a busy server than type it again. */
const patienceOfPeopleMs = 20_000;

/** Tells a supervisor to start again: recovery then reads what really is on the disk. */
const brokenDiskExitCode = 70;

async function openStore(
  settings: Settings,
  secrets: Secrets,
  options: Omit<SqliteStoreOptions, "path"> = {},
): Promise<Store> {
  const store = openSqliteStore({ path: settings.databasePath, ...options });
  if (await store.claimSecret(secrets.fingerprint)) return store;
  await store.close();
  throw new Error(
    "The data was written under another secret. Set TOLLGATE_SECRET, or put the old data/secret back.",
  );
}

function lockServer(settings: Settings): ServerLock {
  const lock = takeServerLock(lockPath(settings));
  if (lock) return lock;
  throw new Error(`Another Tollgate is serving ${settings.databasePath}; one file has one server.`);
}

/** A server of the earlier version would go on writing what it finds no place for any more. */
function migrateAlone(settings: Settings, migrate: () => void): void {
  const lock = takeServerLock(lockPath(settings));
  if (!lock) {
    throw new Error(
      `An earlier version of Tollgate is serving ${settings.databasePath}. Stop it before you use this one, ` +
        "or use the command of that version.",
    );
  }
  try {
    migrate();
  } finally {
    lock.release();
  }
}

const lockPath = ({ databasePath }: Settings): string => `${databasePath}.lock`;

/** The file is ours, and npm does not install it without a version. */
const packageVersion = (file: string): string =>
  (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;

const probeTimeoutMs = 5_000;

/** Any answer proves that somebody is there; what it says does not matter. */
async function probe(url: string): Promise<string> {
  try {
    await fetch(url, { method: "HEAD", redirect: "manual", signal: AbortSignal.timeout(probeTimeoutMs) });
    return "reachable";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const exitCode = await main(process.argv.slice(2));
await Promise.all([output.taken(), errorOutput.taken()]);
process.exit(exitCode);

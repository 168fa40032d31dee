// The composition root: it knows which stores and which upstreams there are, and start-server.ts, its other half, which limiter
// and which listener. What most commands do without is imported where it is needed: it takes longer to load than they to run.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { addressOf, completeAddresses } from "./config/addresses.ts";
import { isAbsent } from "./config/config-file.ts";
import type { Config } from "./config/config.ts";
import { readSettings, usualFileIn, type Settings } from "./config/environment.ts";
import { loadConfig } from "./config/load-config.ts";
import { checkPublic } from "./config/public-sandbox.ts";
import { secretFilesOf } from "./config/secret-files.ts";
import { sentInTheClear } from "./config/sent-in-the-clear.ts";
import type { CliParts } from "./doors/cli/cli-parts.ts";
import { runCommand, tellFailure } from "./doors/cli/run-command.ts";
import {
  checkAddress,
  checkFirstSecret,
  checkSecret,
  claimed,
  findFingerprint,
  findLimitsApart,
  loadSecrets,
  withoutPasswords,
} from "./host/installation.ts";
import { secretPlace } from "./host/installation-secret.ts";
import { createOutput } from "./host/output.ts";
import { openReloads } from "./host/reload-on-change.ts";
import type { Secrets } from "./keys/secrets.ts";
import type { Store } from "./store/store.ts";
import { createOffer } from "./offer/create-offer.ts";
import { loadCatalogue, type Catalogue } from "./operation/catalogue.ts";
import { systemBytes } from "./platform/chance.ts";
import { systemClock } from "./platform/clock.ts";
import { messageOf } from "./platform/error-message.ts";
import { broughtForward, checkData, type DataPlace, type OpeningEvents } from "./stores/data-place.ts";
import { moveBooks, undoMove, type NewBooks, type OldBooks } from "./stores/move-books.ts";
import { lookAtRedis } from "./stores/redis/look-at-redis.ts";
import { openOldBooks } from "./stores/sqlite/file/old-books.ts";
import { sqlitePlace } from "./stores/sqlite/sqlite-place.ts";
import { createHttpClient } from "./upstreams/http/http-client.ts";
import { createPlatformClient } from "./upstreams/platform-client.ts";
import { probe } from "./upstreams/probe.ts";

const projectFolder = join(import.meta.dir, "../..");
const environment = process.env;
const newId = (): string => Bun.randomUUIDv7();
const output = createOutput(process.stdout);
const errorOutput = createOutput(process.stderr);
const print = (text: string): void => void output.write(`${text}\n`);
const printError = (text: string): void => void errorOutput.write(`${text}\n`);

/** A terminal shows one line that changes; a file or a pipe gets none of it. */
function showProgress(line: string | undefined): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${line ?? ""}`);
}

async function main(words: readonly string[]): Promise<number> {
  const exitCode = await runCommand(words, { print, printError }, () =>
    cliParts(readSettings(environment, process.cwd())),
  );
  const [lost] = await Promise.all([output.taken(), errorOutput.taken()]);
  if (exitCode !== 0 || lost === undefined) return exitCode;
  // A key that is told once was made, and nobody has it: whoever called must not take this for success.
  const unheard = `It was done, but what there is to say about it could not be written: ${messageOf(lost)}`;
  tellFailure(new Error(unheard), words, { printError });
  await errorOutput.taken();
  return 1;
}

async function cliParts(settings: Settings): Promise<CliParts> {
  const data = await dataPlaceOf(settings);
  const secrets = (): Promise<Secrets> => loadSecrets(settings, data);
  const onBroughtForward: OpeningEvents["onBroughtForward"] = (schemas) =>
    printError(`${broughtForward(schemas)}.`);
  const openForPeople = async (under: Secrets): Promise<Store> =>
    claimed(await data.openForPeople({ onBroughtForward }), under);
  return {
    openStore: async () => {
      await checkData(data);
      return openForPeople(await secrets());
    },
    hasData: data.hasData,
    openOrBeginStore: async () => openForPeople(await secrets()),
    secrets,
    platformClient: createPlatformClient(createHttpClient()),
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
    findConfigFile: () => {
      const path = resolve(settings.configFile.path);
      return { path, isThere: !isAbsent(path) };
    },
    notesOnSettings: sentInTheClear(settings, environment),
    checkStart: (config, { allowSandboxPublic }) => {
      checkAddress(settings);
      checkPublic(config, { settings, allowSandboxPublic });
    },
    dataName: data.name,
    lookAtData: () =>
      withoutPasswords(settings, async () => {
        const seen = await data.look();
        if (seen === undefined) checkFirstSecret(settings);
        return seen;
      }),
    checkRoom: data.checkRoom,
    explain: data.explain,
    findFingerprint: () => {
      checkSecret(settings);
      return findFingerprint(settings);
    },
    secretPlace: () => secretPlace(settings.secret, resolve(settings.dataFolder)),
    lookAtLimits: () => withoutPasswords(settings, () => lookAtLimits(settings)),
    addresses: () => completeAddresses(baseUrlOf(settings), settings),
    probe,
    askListing: async (upstream) => {
      const { createListingAsker } = await import("./upstreams/ask-listing.ts");
      const { protocols } = await import("./upstreams/protocols.ts");
      return createListingAsker(protocols)(upstream);
    },
    version: packageVersion,
    caller: () => ({
      apiKey: environment["TOLLGATE_KEY"],
      baseUrl: baseUrlOf(settings),
    }),
    write: output.write,
    showProgress,
    serve: async ({ allowSandboxPublic }, greet) => {
      const { path } = settings.configFile;
      const reloads = openReloads(path, () => secretFilesOf(path, environment));
      checkAddress(settings);
      const { startServer } = await import("./start-server.ts");
      return startServer({
        settings,
        environment,
        projectFolder,
        version: packageVersion(),
        readCatalogue,
        allowSandboxPublic,
        data,
        secrets: await secrets(),
        newId,
        greet,
        reloads,
      });
    },
  };
}

/** Where a server with these settings is found, as its greeting says. */
const baseUrlOf = ({ baseUrl, host, port }: Settings): string => baseUrl ?? addressOf(host, port);

/** What ships, and the folders of the operator's own. */
async function readCatalogue({ catalogueFolders }: Config): Promise<Catalogue> {
  const { exchanges } = await import("./upstreams/protocols.ts");
  return loadCatalogue([join(projectFolder, "catalogue")], { own: catalogueFolders, exchanges });
}

async function lookAtLimits(settings: Settings): Promise<string> {
  const { limits } = settings;
  const limitsApart = findLimitsApart(settings);
  if (limitsApart !== undefined) return `the memory of each server: ${limitsApart}`;
  if (limits.kind === "memory") return "the memory of the server";
  const place = `the Redis at ${new URL(limits.url).host}`;
  try {
    await lookAtRedis({ url: limits.url, monotonicMs: systemClock.monotonicMs, newId });
  } catch (error) {
    throw new Error(`${place} cannot be used: ${messageOf(error)}`, { cause: error });
  }
  return place;
}

async function dataPlaceOf({ store }: Settings): Promise<DataPlace> {
  if (store.kind === "sqlite") return sqlitePlace(store.path, systemClock.wallMs);
  const { postgresPlace } = await import("./stores/postgres/postgres-place.ts");
  return postgresPlace(store.url, systemClock.monotonicMs);
}

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
  const place = await dataPlaceOf(settings);
  // There is data already: the books that come, whose secret is compared with this one.
  const { fingerprint } = await loadSecrets(settings, { ...place, hasData: async () => true });
  const { wallMs, monotonicMs } = systemClock;
  const old = await openOldBooks(file ?? usualFileIn(settings.dataFolder), { wallMs, onBroughtForward });
  try {
    const { openNewBooks } = await import("./stores/postgres/server/new-books.ts");
    const fresh = await openNewBooks({
      url: store.url,
      name: place.name,
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

/** The file is ours, and npm does not install it without a version. */
const packageVersion = (): string =>
  (JSON.parse(readFileSync(join(projectFolder, "package.json"), "utf8")) as { version: string }).version;

process.exit(await main(process.argv.slice(2)));

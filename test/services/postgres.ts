// Real Postgres for tests: an empty database on the server of TOLLGATE_TEST_POSTGRES, or a server of one's own that may
// be harmed.

import { SQL } from "bun";
import { chownSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { endingWithUs, openServerFolder, startPrivateServer, type PrivateServer } from "./private-server.ts";
import { findFreePort } from "../support/free-port.ts";

const templatesMax = 24;
const connectionsMax = 300;
const sessionsWaitMs = 1_000;

export interface TestDatabase {
  readonly url: string;
  /** Ends the sessions that are left on it, too. */
  readonly drop: () => Promise<void>;
}

/** Fills an empty database, and leaves no connection to it open. */
export type FillTemplate = (url: string) => Promise<unknown>;

/**
 * A database that nobody else uses: empty, or a copy of what `template` made of an empty one. A template is made once for
 * each function, so pass the same one each time. A copy of files takes a third of what migrating and emptying takes.
 */
export async function openTestDatabase(options: { template?: FillTemplate } = {}): Promise<TestDatabase> {
  server ??= openServer();
  const { admin, addressOf, run } = await server;
  const source = options.template === undefined ? "template0" : await templateFrom(options.template);
  const name = nameIn(run);
  await admin.unsafe(`CREATE DATABASE ${name} TEMPLATE ${source} STRATEGY file_copy`);
  return {
    url: addressOf(name),
    drop: () => dropDatabase(admin, name),
  };
}

export interface PostgresPlan {
  /** As an operator runs it: in this folder, which is a disk's, with every commit on it before it is confirmed. */
  readonly durableIn?: string;
}

/** A server of one's own, with one empty database at `url`. What it has confirmed survives `stopHard`. */
export async function startPrivatePostgres({ durableIn }: PostgresPlan = {}): Promise<
  PrivateServer & { readonly url: string }
> {
  const bin = findPostgres();
  if (bin === undefined) throw new Error(`No Postgres was found. ${postgresWanted}`);
  const folder = durableIn ?? openServerFolder();
  const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined;
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const ended = endingWithUs("QUIT", user);

  // Words are sorted as most operators' servers sort them, not by bytes: what relies on an order must say which.
  const locale = ["--locale=C", "--locale-provider=icu", "--icu-locale=en-US", "--encoding=UTF8"];
  const made = Bun.spawnSync(
    [...ended, join(bin, "initdb"), "-D", data, "-U", "tollgate", "-A", "trust", "--no-sync", ...locale],
    { cwd: folder, env: { PATH: process.env["PATH"] }, stdin: "ignore" },
  );
  if (!made.success) throw new Error(`initdb failed:\n${made.stdout.toString()}${made.stderr.toString()}`);

  const port = await findFreePort();
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    max_connections: connectionsMax,
    // Nothing is left outside the folder when it is killed.
    dynamic_shared_memory_type: "mmap",
    ...(durableIn === undefined ? forgetful : {}),
  };
  const words = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const running = await startPrivateServer({
    name: "Postgres",
    folder,
    command: [...ended, join(bin, "postgres"), "-D", data, ...words],
    endSignal: "SIGQUIT",
    isReady: async () => {
      const asked = Bun.spawn([join(bin, "pg_isready"), "-q", "-h", "127.0.0.1", "-p", String(port)]);
      return (await asked.exited) === 0;
    },
  });
  return { ...running, url: `postgres://tollgate@127.0.0.1:${port}/postgres` };
}

/** Nothing here must survive the machine. What is confirmed must survive the server, so commits are still written. */
const forgetful = {
  fsync: "off",
  full_page_writes: "off",
  wal_level: "minimal",
  max_wal_senders: 0,
  autovacuum: "off",
} as const;

export const postgresWanted =
  "Install Postgres 15 or newer (on Debian: apt-get install postgresql), or set TOLLGATE_TEST_POSTGRES to the URL of a superuser of yours.";

/** The folder of its programs. Debian keeps them off the path, a folder for each version. */
export function findPostgres(): string | undefined {
  const onPath = (process.env["PATH"] ?? "").split(":");
  const versions = "/usr/lib/postgresql";
  const numbers = existsSync(versions) ? readdirSync(versions).filter((name) => /^\d+$/.test(name)) : [];
  const packaged = numbers
    .toSorted((a, b) => Number(b) - Number(a))
    .map((name) => join(versions, name, "bin"));
  const isWhole = (folder: string) =>
    folder !== "" &&
    ["initdb", "postgres", "pg_isready"].every((program) => existsSync(join(folder, program)));
  return [...onPath, ...packaged].find(isWhole);
}

/** Postgres refuses to run as root. */
function unprivilegedUser(): { uid: number; gid: number } {
  const users = readFileSync("/etc/passwd", "utf8");
  const found = /^postgres:[^:]*:(\d+):(\d+):/m.exec(users) ?? /^nobody:[^:]*:(\d+):(\d+):/m.exec(users);
  if (found === null)
    throw new Error("Postgres needs a user who is not root: there is no postgres and no nobody.");
  return { uid: Number(found[1]), gid: Number(found[2]) };
}

interface Server {
  readonly admin: SQL;
  readonly run: string;
  readonly addressOf: (database: string) => string;
}

// The processes of a run share nothing but the server, so each names its databases after itself.
let server: Promise<Server> | undefined;
let databasesNamed = 0;
const templates = new Map<FillTemplate, Promise<string>>();

const nameIn = (run: string) => `${run}_${++databasesNamed}`;

async function openServer(): Promise<Server> {
  const url = process.env["TOLLGATE_TEST_POSTGRES"];
  if (url === undefined || url === "")
    throw new Error("TOLLGATE_TEST_POSTGRES is not set: npm run test:services -- FILE starts a Postgres.");
  const run = `tollgate_test_${crypto.randomUUID().slice(0, 8)}`;
  // One connection, which stays open and bears the run's name: as long as it is there, the run's databases are needed.
  const admin = new SQL(url, { max: 1, connection: { application_name: run } });
  await removeLeftDatabases(admin);
  const addressOf = (database: string) => {
    const address = new URL(url);
    address.pathname = `/${database}`;
    return address.href;
  };
  return { admin, run, addressOf };
}

async function removeLeftDatabases(admin: SQL): Promise<void> {
  const left: { name: string }[] = await admin`
    SELECT datname AS name FROM pg_database AS present
    WHERE starts_with(datname, 'tollgate_test_') AND NOT EXISTS (
      SELECT FROM pg_stat_activity AS session
      WHERE session.application_name <> '' AND starts_with(present.datname, session.application_name || '_')
    )`;
  for (const { name } of left) await dropDatabase(admin, name);
}

async function dropDatabase(admin: SQL, name: string): Promise<void> {
  // A session that is just ending is in the way too. Postgres looks again after 100 ms, and we after one.
  const deadlineMs = Date.now() + sessionsWaitMs;
  for (;;) {
    const sessions: unknown[] =
      await admin`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name}`;
    if (sessions.length === 0 || Date.now() > deadlineMs) break;
    await Bun.sleep(1);
  }
  await admin.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}

function templateFrom(fill: FillTemplate): Promise<string> {
  const known = templates.get(fill);
  if (known !== undefined) return known;
  if (templates.size === templatesMax)
    throw new Error(`${templatesMax} templates are enough: pass the same function each time.`);
  const made = fillTemplate(fill);
  templates.set(fill, made);
  return made;
}

async function fillTemplate(fill: FillTemplate): Promise<string> {
  const { url } = await openTestDatabase();
  await fill(url);
  return new URL(url).pathname.slice(1);
}

// Starts a Postgres and a Redis, runs a command that needs them, and stops both. Whoever has servers for it names them in
// TOLLGATE_TEST_POSTGRES and TOLLGATE_TEST_REDIS.
//
//   bun scripts/with-services.ts bun test gateway/src/stores/postgres/ledger/runs.services.test.ts

import { join } from "node:path";
import { endingWithUs, removeLeftServers } from "../test/services/private-server.ts";
import { findPostgres, postgresWanted, startPrivatePostgres } from "../test/services/postgres.ts";
import { findRedis, redisWanted, startPrivateRedis } from "../test/services/redis.ts";

const root = join(import.meta.dir, "..");
const launcherLookMs = 500;
/** A case of a property has a database of its own, which takes many times what a file takes; npm test runs 300 of them. */
const propertyRuns = "40";

/** The exit code of the command. */
export async function runWithServices(command: readonly string[]): Promise<number> {
  const { TOLLGATE_TEST_POSTGRES: ownPostgres = "", TOLLGATE_TEST_REDIS: ownRedis = "" } = process.env;
  const wanted = [
    ...(ownPostgres === "" && findPostgres() === undefined
      ? [{ package: "postgresql", hint: postgresWanted }]
      : []),
    ...(ownRedis === "" && findRedis() === undefined ? [{ package: "redis-server", hint: redisWanted }] : []),
  ];
  if (wanted.length > 0 && !installed(wanted.map((each) => each.package))) {
    for (const { hint } of wanted) console.error(hint);
    return 1;
  }

  removeLeftServers();
  const servers: { close: () => Promise<void> }[] = [];
  const started = async <Server extends { url: string; close: () => Promise<void> }>(
    starting: Promise<Server>,
  ) => {
    const server = await starting;
    servers.push(server);
    return server.url;
  };
  try {
    return await run(command, {
      TOLLGATE_TEST_POSTGRES: ownPostgres === "" ? await started(startPrivatePostgres()) : ownPostgres,
      TOLLGATE_TEST_REDIS: ownRedis === "" ? await started(startPrivateRedis()) : ownRedis,
    });
  } finally {
    for (const server of servers) await server.close();
    removeLeftServers();
  }
}

async function run(command: readonly string[], services: Readonly<Record<string, string>>): Promise<number> {
  const child = Bun.spawn([...endingWithUs("TERM"), ...command], {
    cwd: root,
    env: { TOLLGATE_PROPERTY_RUNS: propertyRuns, ...process.env, ...services },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const stop = () => child.kill("SIGTERM");
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  // Whoever started us may be killed and then tells us nothing.
  const launcher = process.ppid;
  const looking = setInterval(() => {
    if (process.ppid !== launcher) stop();
  }, launcherLookMs);
  const code = await child.exited;
  clearInterval(looking);
  if (child.signalCode !== null) console.error(`${command[0]} was ended by ${child.signalCode}.`);
  return code;
}

function installed(packages: readonly string[]): boolean {
  if (process.getuid?.() !== 0 || Bun.which("apt-get") === null) return false;
  console.error(`Installing ${packages.join(" and ")}…`);
  const aptGet = (...words: string[]) =>
    Bun.spawnSync(["apt-get", ...words], {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      stdio: ["ignore", "ignore", "inherit"],
    }).success;
  return aptGet("update", "-qq") && aptGet("install", "-y", "-qq", "--no-install-recommends", ...packages);
}

if (import.meta.main) process.exit(await runWithServices(process.argv.slice(2)));

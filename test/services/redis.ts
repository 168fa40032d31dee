// Real Redis for tests: an empty database on the server of TOLLGATE_TEST_REDIS, or a server of one's own that may be
// harmed.

import { RedisClient } from "bun";
import {
  endingWithUs,
  findFreePort,
  openServerFolder,
  startPrivateServer,
  type PrivateServer,
} from "./private-server.ts";

// As many as every Redis has, without the first, which a developer may be using.
const DATABASES = 15;

let databasesTaken = 0;

/** The URL of a database that was just emptied. The last fifteen to be asked for are different ones. */
export async function redisForTests(): Promise<string> {
  const server = process.env["TOLLGATE_TEST_REDIS"];
  if (server === undefined || server === "")
    throw new Error("TOLLGATE_TEST_REDIS is not set: npm run test:services -- FILE starts a Redis.");
  const address = new URL(server);
  address.pathname = `/${1 + (databasesTaken++ % DATABASES)}`;
  const client = new RedisClient(address.href);
  await client.send("FLUSHDB", []);
  client.close();
  return address.href;
}

export interface PrivateRedis extends Omit<PrivateServer, "stopHard"> {
  readonly url: string;
  /** Everything in it is gone. */
  readonly kill: () => Promise<void>;
}

export async function startPrivateRedis(): Promise<PrivateRedis> {
  const program = findRedis();
  if (program === undefined) throw new Error(`No Redis was found. ${redisWanted}`);
  const port = await findFreePort();
  const url = `redis://127.0.0.1:${port}`;
  const settings = { port: String(port), bind: "127.0.0.1", save: "", appendonly: "no" };
  const words = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const { stopHard, ...running } = await startPrivateServer({
    name: "Redis",
    folder: openServerFolder(),
    command: [...endingWithUs("KILL"), program, ...words],
    endSignal: "SIGKILL",
    isReady: () => answers(url),
  });
  return { ...running, kill: stopHard, url };
}

export const redisWanted =
  "Install Redis (on Debian: apt-get install redis-server), or set TOLLGATE_TEST_REDIS to the URL of one whose databases 1 to 15 may be emptied.";

export const findRedis = (): string | undefined => Bun.which("redis-server") ?? undefined;

async function answers(url: string): Promise<boolean> {
  const client = new RedisClient(url, { autoReconnect: false, connectionTimeout: 1_000 });
  try {
    await client.connect();
    await client.ping();
    return true;
  } catch {
    return false;
  } finally {
    client.close();
  }
}

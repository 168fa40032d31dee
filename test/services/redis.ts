// Real Redis for tests: an empty database on the server of TOLLGATE_TEST_REDIS, or a server of one's own that may be
// harmed.

import { RedisClient } from "bun";
import { endingWithUs, openServerFolder, startPrivateServer, type PrivateServer } from "./private-server.ts";
import { findFreePort } from "../support/free-port.ts";

// As many as every Redis has, without the first, which a developer may be using, for five runs of tests at a time.
const databaseCount = 15;
const laneCount = 5;
const databasesOfLane = databaseCount / laneCount;
const connectWaitMs = 1_000;

let databasesTaken = 0;

export interface TestRedis {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** A database that was just emptied. The last three to be asked for are different ones, and nobody else's. */
export async function redisForTests(): Promise<TestRedis> {
  const server = process.env["TOLLGATE_TEST_REDIS"];
  if (server === undefined || server === "")
    throw new Error("TOLLGATE_TEST_REDIS is not set: npm run test:services -- FILE starts a Redis.");
  const address = new URL(server);
  const lane = Number(process.env["TOLLGATE_TEST_LANE"] ?? 0) % laneCount;
  address.pathname = `/${1 + lane * databasesOfLane + (databasesTaken++ % databasesOfLane)}`;
  const url = address.href;
  const empty = async () => {
    await sendTo(url, "FLUSHDB");
  };
  await empty();
  return { url, close: empty };
}

export interface PrivateRedis extends TestRedis, Omit<PrivateServer, "stopHard"> {
  readonly port: number;
  /** Everything in it is gone that was not saved (`SAVE`) before. */
  readonly kill: () => Promise<void>;
  readonly send: (command: string, ...words: string[]) => Promise<unknown>;
}

export async function startPrivateRedis({ password }: { password?: string } = {}): Promise<PrivateRedis> {
  const program = findRedis();
  if (program === undefined) throw new Error(`No Redis was found. ${redisWanted}`);
  const port = await findFreePort();
  const url = `redis://${password === undefined ? "" : `:${password}@`}127.0.0.1:${port}`;
  const settings = { port: String(port), bind: "127.0.0.1", save: "", appendonly: "no" };
  const guarded = password === undefined ? settings : { ...settings, requirepass: password };
  const words = Object.entries(guarded).flatMap(([name, value]) => [`--${name}`, value]);
  const send = (command: string, ...rest: string[]) => sendTo(url, command, ...rest);
  const { stopHard, ...running } = await startPrivateServer({
    name: "Redis",
    folder: openServerFolder(),
    command: [...endingWithUs("KILL"), program, ...words],
    endSignal: "SIGKILL",
    isReady: async () => (await send("PING").catch(() => undefined)) === "PONG",
  });
  return { ...running, kill: stopHard, send, port, url };
}

export const redisWanted =
  "Install Redis (on Debian: apt-get install redis-server), or set TOLLGATE_TEST_REDIS to the URL of one whose databases 1 to 15 may be emptied.";

export const findRedis = (): string | undefined => Bun.which("redis-server") ?? undefined;

async function sendTo(url: string, command: string, ...words: string[]): Promise<unknown> {
  const client = new RedisClient(url, { autoReconnect: false, connectionTimeout: connectWaitMs });
  try {
    return (await client.send(command, words)) as unknown;
  } finally {
    client.close();
  }
}

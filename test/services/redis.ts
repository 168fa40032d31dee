// A real Redis for tests that need one: the one that was started for all of them, or one of their own.

import { RedisClient } from "bun";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TestRedis {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** May be shared: whoever uses it has keys of their own, and leaves those of others alone. */
export async function redisForTests(): Promise<TestRedis> {
  const url = process.env["TOLLGATE_TEST_REDIS"];
  return url === undefined ? openPrivateRedis() : { url, close: async () => {} };
}

/** One that a test may do anything to. */
export interface PrivateRedis extends TestRedis {
  readonly port: number;
  /** It stays connected and says nothing more. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** It is gone from one moment to the next, with all it knew. */
  readonly kill: () => Promise<void>;
  /** Starts it again at the same place, empty. */
  readonly start: () => Promise<void>;
  readonly send: (command: string, ...words: string[]) => Promise<unknown>;
}

export async function openPrivateRedis({ password }: { password?: string } = {}): Promise<PrivateRedis> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-redis-"));
  const port = await freePort();
  const url = `redis://${password === undefined ? "" : `:${password}@`}127.0.0.1:${port}`;
  const flags = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder];
  const transient = ["--save", "", "--appendonly", "no"];
  const guarded = password === undefined ? [] : ["--requirepass", password];
  const spawn = () =>
    Bun.spawn(["redis-server", ...flags, ...transient, ...guarded], { stdout: "ignore", stderr: "ignore" });

  let server = spawn();
  const send = async (command: string, ...words: string[]): Promise<unknown> => {
    const client = new RedisClient(url, { autoReconnect: false });
    try {
      return (await client.send(command, words)) as unknown;
    } finally {
      client.close();
    }
  };
  const ready = async (): Promise<void> => {
    for (let tries = 0; tries < 200; tries++) {
      const answer = await send("PING").catch(() => undefined);
      if (answer === "PONG") return;
      await Bun.sleep(25);
    }
    throw new Error("redis-server did not start. Is it installed?");
  };
  const kill = async (): Promise<void> => {
    server.kill("SIGKILL");
    await server.exited;
  };

  await ready();
  return {
    url,
    port,
    pause: () => server.kill("SIGSTOP"),
    resume: () => server.kill("SIGCONT"),
    kill,
    start: async () => {
      server = spawn();
      await ready();
    },
    send,
    close: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

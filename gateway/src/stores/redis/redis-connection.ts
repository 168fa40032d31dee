import { RedisClient } from "bun";

/**
 * One connection to Redis. When it fails, or an answer is late, it is over, for everybody who waits: whoever wants
 * another opens another, so that no answer is ever taken for that to a command of an earlier connection.
 */
export interface RedisConnection {
  /** Commands of one turn travel together. Fails when the connection is over, or with what the server objects to. */
  readonly ask: (command: string, words: string[]) => Promise<unknown>;
  readonly close: () => void;
}

interface Parts {
  readonly url: string;
  readonly monotonicMs: () => number;
  /** 50 ms unless a test says more. Redis answers within one; a caller who would wait longer is better served without it. */
  readonly answerWithinMs?: number;
  /** Told once, also when nobody was waiting for anything. Not when it was closed on purpose. */
  readonly onLost: (error: Error) => void;
}

/** Over TLS and a wide network; no call waits for it. */
const connectWithinMs = 1_000;
/** When the check itself comes this late, the process was busy, and the answer may have arrived unread. */
const lookLateMs = 10;

/** The server was reached, and does not accept our credentials. */
export class RedisPasswordRefused extends Error {
  override readonly name = "RedisPasswordRefused";
}

interface Waiting {
  sinceMs: number;
  wasExcused: boolean;
  readonly fail: (error: Error) => void;
}

export async function openRedisConnection(parts: Parts): Promise<RedisConnection> {
  const { url, monotonicMs, answerWithinMs = 50, onLost } = parts;
  const client = new RedisClient(url, { autoReconnect: false, connectionTimeout: connectWithinMs });
  /** The oldest first, which is answered first. */
  const waiting: Waiting[] = [];
  let timer: NodeJS.Timeout | undefined;
  let over: Error | undefined;

  const end = (error: Error): void => {
    if (over) return;
    over = error;
    clearTimeout(timer);
    client.close();
    for (const { fail } of waiting.splice(0)) fail(error);
  };

  const lose = (error: Error): void => {
    if (over) return;
    end(error);
    onLost(error);
  };

  const lookIn = (ms: number): void => {
    const dueMs = monotonicMs() + ms;
    timer = setTimeout(() => look(dueMs), ms).unref();
  };

  const look = (dueMs: number): void => {
    timer = undefined;
    const [oldest] = waiting;
    if (!oldest) return;
    const nowMs = monotonicMs();
    if (nowMs - dueMs > lookLateMs && !oldest.wasExcused) {
      oldest.wasExcused = true;
      oldest.sinceMs = nowMs;
    }
    const leftMs = oldest.sinceMs + answerWithinMs - nowMs;
    if (leftMs > 0) lookIn(leftMs);
    else lose(new Error(`Redis did not answer within ${answerWithinMs} ms.`));
  };

  const ask = (command: string, words: string[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (over) {
        reject(over);
        return;
      }
      const one = { sinceMs: monotonicMs(), wasExcused: false, fail: reject };
      waiting.push(one);
      if (!timer) lookIn(answerWithinMs);
      client.send(command, words).then(
        (answer) => {
          leave(one);
          resolve(answer);
        },
        (error: unknown) => {
          leave(one);
          reject(asError(error));
          if (!isObjection(error)) lose(asError(error));
        },
      );
    });

  const leave = (one: Waiting): void => {
    if (waiting[0] === one) waiting.shift();
    else if (waiting.includes(one)) waiting.splice(waiting.indexOf(one), 1);
  };

  try {
    // The client says why a connection could not be made only in answer to a command, so a first one is sent.
    await within(connectWithinMs, client.send("PING", []));
  } catch (error) {
    client.close();
    throw isRefusedPassword(error) ? new RedisPasswordRefused(asError(error).message) : asError(error);
  }
  client.onclose = (error) => lose(error);
  return { ask, close: () => end(new Error("The connection to Redis was closed.")) };
}

async function within<Value>(ms: number, wanted: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Redis could not be reached within ${ms} ms.`)), ms);
  });
  try {
    return await Promise.race([wanted, late]);
  } finally {
    clearTimeout(timer);
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;

/** The server answered, with an error; the next command may succeed. */
export const isObjection = (error: unknown): boolean => hasCode(error, "ERR_REDIS_SERVER_ERROR");

const isRefusedPassword = (error: unknown): boolean => hasCode(error, "ERR_REDIS_AUTHENTICATION_FAILED");

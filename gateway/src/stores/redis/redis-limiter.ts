import { createHash } from "node:crypto";
import type { Standing, Take, Want } from "../../limits/limiter.ts";
import { asTakenAt, type TakenAt } from "../../limits/taken-at.ts";
import type { KeptSlot } from "./kept-slots.ts";
import { limiterScript } from "./limiter-script.ts";
import type { RedisConnection } from "./redis-connection.ts";

/**
 * The limiter of several processes, as long as its connection lasts: the promises of `Limiter`, kept across all of them
 * by the clock of the Redis server. Whatever it is asked is one command, and fails when Redis does.
 *
 * One Redis, or one that fails over: not a cluster, over which the keys of one take would be scattered.
 */
export interface RedisLimiter {
  readonly take: (wants: readonly Want[]) => Take | Promise<Take>;
  readonly look: (want: Want) => Promise<Standing>;
  readonly bringBack: (returns: readonly Return[]) => Promise<void>;
  /** Says that this node is there under this name, and still under those that it had on earlier connections. */
  readonly come: () => Promise<void>;
  /** Slots that this node has under earlier names it has under this one. */
  readonly bringOver: (slots: readonly KeptSlot[]) => Promise<void>;
  /**
   * Says that this node is there, under this name alone, and tells how many nodes are. One that is silent for 20 s loses
   * its slots to others, and at once those under an earlier name.
   */
  readonly join: () => Promise<Joined>;
  /** What this node still had is free for others. */
  readonly leave: () => Promise<void>;
}

interface Joined {
  readonly nodes: number;
  /** Nobody knew of this one any more, so that others may have taken its slots. */
  readonly wasForgotten: boolean;
}

/** Something that was taken and is not needed, or not all of it; or more was used than was taken. */
export type Return =
  | { readonly kind: "rate"; readonly name: string; readonly by: number; readonly takenAt: TakenAt }
  | { readonly kind: "slot"; readonly name: string; readonly holder: string };

interface Parts {
  readonly connection: Pick<RedisConnection, "ask">;
  /** `id:number`: the id of this process alone, without spaces, and a number that grows with each of its connections. */
  readonly name: string;
  /** Of all keys: those of several installations may lie on one server. */
  readonly prefix: string;
  /** The server's own clock unless a test brings another. */
  readonly nowMs?: () => number;
}

const scriptHash = createHash("sha1").update(limiterScript).digest("hex");

export function createRedisLimiter({ connection, name, prefix, nowMs }: Parts): RedisLimiter {
  const nodesKey = `${prefix}nodes`;
  const keyOf = (one: Pick<Want, "kind" | "name">): string => `${prefix}${one.kind}:${escaped(one.name)}`;

  const ask = async (what: string, keys: readonly string[], words: readonly string[]): Promise<number[]> => {
    const atMs = nowMs ? String(nowMs()) : "";
    const rest = [String(keys.length + 1), nodesKey, ...keys, what, atMs, name, ...words];
    try {
      return numbersOf(await connection.ask("EVALSHA", [scriptHash, ...rest]));
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
      return numbersOf(await connection.ask("EVAL", [limiterScript, ...rest]));
    }
  };

  return {
    take: (wants) =>
      wants.length === 0
        ? nothingTaken
        : ask("take", wants.map(keyOf), wants.flatMap(wordsOfWant)).then((answer) => takeOf(answer, wants)),
    look: async (want) => {
      const [remaining = 0, resetsInMs = 0] = await ask("look", [keyOf(want)], wordsOfWant(want));
      return { limit: want.limit, remaining, resetsInMs };
    },
    bringBack: async (returns) => {
      await ask("return", returns.map(keyOf), returns.flatMap(wordsOfReturn));
    },
    come: async () => void (await ask("come", [], [])),
    bringOver: async (slots) => {
      const words = slots.flatMap(({ holder, leftMs }) => ["slot", holder, "", String(leftMs)]);
      await ask("rename", slots.map(keyOf), words);
    },
    join: async () => {
      const [nodes = 1, added] = await ask("join", [], []);
      return { nodes, wasForgotten: added === 1 };
    },
    leave: async () => void (await ask("leave", [], [])),
  };
}

const nothingTaken: Take = { kind: "taken", standings: [], takenAt: asTakenAt(0) };

const wordsOfWant = (want: Want): string[] =>
  want.kind === "rate"
    ? ["rate", String(want.amount), String(want.limit), ""]
    : ["slot", want.holder, String(want.limit), String(want.leaseMs)];

const wordsOfReturn = (one: Return): string[] =>
  one.kind === "rate" ? ["rate", String(one.by), String(one.takenAt), ""] : ["slot", one.holder, "", ""];

function takeOf([isTaken, ...rest]: readonly number[], wants: readonly Want[]): Take {
  if (isTaken === 1) {
    const [serverMs = 0, ...figures] = rest;
    const standings = wants.map(({ limit }, at) => ({
      limit,
      remaining: figures[2 * at] ?? 0,
      resetsInMs: figures[2 * at + 1] ?? 0,
    }));
    return { kind: "taken", standings, takenAt: asTakenAt(serverMs) };
  }
  const [at = 0, remaining = 0, resetsInMs = 0, retryInMs = 0] = rest;
  const want = wants[at];
  if (!want) throw new Error("Redis refused something that nobody wanted.");
  return { kind: "refused", want, standing: { limit: want.limit, remaining, resetsInMs }, retryInMs };
}

function numbersOf(answer: unknown): number[] {
  if (Array.isArray(answer) && answer.every((one) => typeof one === "number")) return answer;
  throw new Error("Redis answered something else than the limiter's script does.");
}

const isUnknownScript = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith("NOSCRIPT");

/** Names may have spaces and any letters of strangers; keys should also be readable and typable in a terminal. */
const escaped = (name: string): string =>
  name.replace(/[^\w.:/-]/gu, (letter) => `%${letter.codePointAt(0)?.toString(16)}%`);

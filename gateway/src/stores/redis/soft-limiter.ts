import type { Limiter, Take, Want } from "../../limits/limiter.ts";
import { asTakenAt, type TakenAt } from "../../limits/taken-at.ts";
import { messageOf } from "../../platform/error-message.ts";
import type { Log } from "../../platform/log.ts";
import type { Metrics } from "../../platform/metrics.ts";
import { createMemoryLimiter } from "../memory-limiter.ts";
import { createKeptSlots } from "./kept-slots.ts";
import { createLocalShare } from "./local-share.ts";
import {
  isObjection,
  openRedisConnection,
  RedisPasswordRefused,
  type RedisConnection,
} from "./redis-connection.ts";
import { createRedisLimiter, type RedisLimiter, type Return } from "./redis-limiter.ts";

/**
 * The limiter of several nodes: limits are counted in Redis, for all of them together. A node that Redis does not answer
 * at once limits by itself, to its share, for a second at least, and asks again without any call waiting for it. What
 * was taken in Redis is returned there, if need be when it is back; what was taken here is returned here.
 *
 * Which slots it has in Redis a node knows itself: on each connection it has another name, under which it brings over those
 * whose calls still run. So a Redis that remembers too much, or hears something late, keeps no slot from anybody.
 *
 * So no call ever fails or waits for more than 50 ms because of Redis. In a minute in which it went away, came back or
 * forgot everything, at most twice a limit is let through.
 */
export interface SoftLimiter extends Limiter {
  /** How many nodes there are, by whoever knows it besides Redis, each time that it was looked. */
  readonly seeNodes: (count: number) => void;
  /** What this node still has in Redis is free for the others. */
  readonly close: () => Promise<void>;
}

interface Parts {
  readonly url: string;
  /** The id of this process alone, without spaces. */
  readonly node: string;
  readonly monotonicMs: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Of all keys there, which those of another installation do not have. */
  readonly prefix: string;
  readonly answerWithinMs?: number;
  /** The Redis server's own clock unless a test brings another. */
  readonly nowMs?: () => number;
}

const askAgainMs = 1_000;
/** A little more than a third of the time after which a silent node counts as gone. */
const joinEveryMs = 5_000;
/** What cannot be returned of a rate is remembered, up to a bound: beyond it rates forget within a minute. */
const owedMax = 10_000;
const broughtAtOnceMax = 200;

interface SharedLimiter {
  readonly connection: RedisConnection;
  readonly limiter: RedisLimiter;
}

/** Fails only when Redis is there and does not accept our credentials. */
export async function openSoftLimiter(parts: Parts): Promise<SoftLimiter> {
  const { log, metrics, monotonicMs } = parts;
  const redis = new URL(parts.url).host;
  /** How many nodes there were when Redis last said so. */
  let nodes = 1;
  /** How many were seen elsewhere: a Redis that never answered, or has just forgotten everything, knows of fewer. */
  let nodesSeen = 1;
  const nodesAlone = (): number => Math.max(nodes, nodesSeen);
  const local = createLocalShare(createMemoryLimiter(monotonicMs), nodesAlone);
  const slotsThere = createKeptSlots(monotonicMs);
  /** What is to be returned to Redis as soon as it is back. */
  const owed: Return[] = [];
  let shared: SharedLimiter | undefined;
  let connections = 0;
  let isClosed = false;

  const connect = async (): Promise<void> => {
    const connection = await openRedisConnection({
      ...parts,
      onLost: (error) => void (shared?.connection === connection && lose(shared, error)),
    });
    const name = `${parts.node}:${++connections}`;
    const limiter = createRedisLimiter({ ...parts, name, connection });
    try {
      // Under one name or the other, every slot counts at every moment of this.
      await limiter.come();
      slotsThere.dropEnded();
      await bringOverTo(limiter);
      ({ nodes } = await limiter.join());
      // The last, because slots that were just brought over may be among them.
      while (owed.length > 0) await limiter.bringBack(owed.splice(0, broughtAtOnceMax));
    } catch (error) {
      connection.close();
      throw error;
    }
    if (isClosed) connection.close();
    else shared = { connection, limiter };
  };

  const bringOverTo = async (limiter: RedisLimiter): Promise<void> => {
    for (const slots of slotsThere.inParts(broughtAtOnceMax)) await limiter.bringOver(slots);
  };

  const lose = (lost: SharedLimiter, error: unknown): void => {
    if (shared !== lost) return;
    shared = undefined;
    lost.connection.close();
    goOnAlone(error);
  };

  const goOnAlone = (error: unknown): void => {
    saidRefusal = refusalIn(error);
    metrics.count("tollgate_limits_outages_total");
    const event = saidRefusal === undefined ? silent : refused;
    log.warn(event, { redis, error: messageOf(error), nodes: nodesAlone() });
    askAgainLater();
  };

  const askAgainLater = (): void => {
    setTimeout(() => void askAgain(), askAgainMs).unref();
  };

  /** What may not pass by waiting is said, though not every second. */
  let saidRefusal: string | undefined;

  const askAgain = async (): Promise<void> => {
    if (isClosed) return;
    try {
      await connect();
      if (shared) log.info("limits are counted in Redis again", { redis, nodes });
    } catch (error) {
      sayRefusal(error);
      askAgainLater();
    }
  };

  const sayRefusal = (error: unknown): void => {
    const refusal = refusalIn(error);
    if (refusal === undefined || refusal === saidRefusal) return;
    saidRefusal = refusal;
    const what = error instanceof RedisPasswordRefused ? "our password" : "us";
    log.error(`Redis is back, but refuses ${what}`, { redis, error: messageOf(error) });
  };

  const joining = setInterval(() => {
    slotsThere.dropEnded();
    const asked = shared;
    if (!asked) return;
    joinAgain(asked.limiter).catch((error: unknown) => lose(asked, error));
  }, joinEveryMs).unref();

  const joinAgain = async (limiter: RedisLimiter): Promise<void> => {
    const joined = await limiter.join();
    nodes = joined.nodes;
    // What others took meanwhile stays theirs, but nobody gets more before there is room for the calls of all.
    if (joined.wasForgotten) await bringOverTo(limiter);
  };

  /** Nobody waits for it: whatever this node asks next is answered after it. */
  const bringBack = (returns: readonly Return[]): void => {
    const asked = shared;
    // Redis may have heard what failed: it is not repeated, since a rate must not be returned twice, and a slot stays behind
    // with the name of this connection.
    if (asked) asked.limiter.bringBack(returns).catch((error: unknown) => lose(asked, error));
    else owe(returns);
  };

  /** No slot is left out, of which there are only as many as calls ran when Redis went away. */
  const owe = (returns: readonly Return[]): void => {
    for (const one of returns) if (one.kind === "slot" || owed.length < owedMax) owed.push(one);
  };

  const freeSlot = (name: string, holder: string): void => {
    local.freeSlot(name, holder);
    if (slotsThere.drop(name, holder)) bringBack([{ kind: "slot", name, holder }]);
  };

  const takeHere = (wants: readonly Want[]): Take => {
    const take = local.take(wants);
    return take.kind === "refused" ? take : { ...take, takenAt: markedHere(take.takenAt) };
  };

  metrics.gauge("tollgate_limits_alone", () => (shared ? 0 : 1));
  try {
    await connect();
  } catch (error) {
    if (error instanceof RedisPasswordRefused) {
      clearInterval(joining);
      throw new Error(`TOLLGATE_LIMITS: the Redis at ${redis} refuses us: ${error.message}`, {
        cause: error,
      });
    }
    goOnAlone(error);
  }

  return {
    seeNodes: (count) => {
      const before = nodesAlone();
      nodesSeen = count;
      if (shared || isClosed || nodesAlone() === before) return;
      log.info("the share of the limits that this node lets through has changed", { nodes: nodesAlone() });
    },
    take: (wants) => {
      const asked = shared;
      if (!asked) return takeHere(wants);
      const taking = asked.limiter.take(wants);
      if (!(taking instanceof Promise)) return taking;
      return taking.then(
        (take) => {
          if (take.kind === "taken") slotsThere.keep(wants);
          return take;
        },
        (error: unknown) => {
          // Redis may still hear it. What it takes of a rate is soon forgotten, and a slot stays behind with this name.
          lose(asked, error);
          return takeHere(wants);
        },
      );
    },
    giveBack: (wants, takenAt) => {
      const returns: Return[] = [];
      for (const want of wants) {
        if (want.kind === "slot") freeSlot(want.name, want.holder);
        else if (isHere(takenAt)) local.giveBack([want], unmarked(takenAt));
        else returns.push({ kind: "rate", name: want.name, by: -want.amount, takenAt });
      }
      if (returns.length > 0) bringBack(returns);
    },
    correct: (want, used, takenAt) => {
      if (isHere(takenAt)) local.correct(want, used, unmarked(takenAt));
      else bringBack([{ kind: "rate", name: want.name, by: used - want.amount, takenAt }]);
    },
    freeSlot,
    look: (want) => {
      const asked = shared;
      if (!asked) return local.look(want);
      return asked.limiter.look(want).catch((error: unknown) => {
        lose(asked, error);
        return local.look(want);
      });
    },
    close: async () => {
      isClosed = true;
      clearInterval(joining);
      const asked = shared;
      shared = undefined;
      // Answered after everything that was asked before; should it fail, others find out by themselves.
      await asked?.limiter.leave().catch(() => {});
      asked?.connection.close();
    },
  };
}

const silent = "Redis does not answer; this node limits by itself, to its share, until it does";
const refused = "Redis refuses us; this node limits by itself, to its share, until it does not";

/** The word by which Redis says why it does not do as it is asked: NOPERM, READONLY. */
const refusalIn = (error: unknown): string | undefined =>
  isObjection(error) || error instanceof RedisPasswordRefused ? messageOf(error).split(" ", 1)[0] : undefined;

// What comes back has to go where it was taken, and its mark says where that is. Redis counts milliseconds since 1970, and
// this process since it began, so both are positive: the marks of this process are turned below zero.
const markedHere = (local: TakenAt): TakenAt => asTakenAt(-1 - local);
const unmarked = (takenAt: TakenAt): TakenAt => asTakenAt(-1 - takenAt);
const isHere = (takenAt: TakenAt): boolean => takenAt < 0;

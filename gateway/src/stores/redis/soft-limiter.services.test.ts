import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { startPrivateRedis, redisForTests, type TestRedis } from "../../../../test/services/redis.ts";
import { until } from "../../../../test/support/until.ts";
import { limiterConformance, worstMinute } from "../../limits/limiter-conformance.ts";
import type { RateWant } from "../../limits/limiter.ts";
import { asTakenAt } from "../../limits/taken-at.ts";
import { createLog } from "../../platform/log.ts";
import { createMetrics } from "../../platform/metrics.ts";
import { openSoftLimiter, type SoftLimiter } from "./soft-limiter.ts";
import { rate, slot } from "./test-wants.ts";

let redis: TestRedis;
let opened: SoftLimiter[] = [];
beforeAll(async () => {
  redis = await redisForTests();
});
afterEach(async () => {
  await Promise.all(opened.map((limiter) => limiter.close()));
  opened = [];
});
afterAll(async () => {
  await redis.close();
});

const newPrefix = (): string => `tollgate-test:${Bun.randomUUIDv7()}:`;

/** One of the nodes that share what begins with the prefix. */
async function openNode(
  prefix: string,
  nowMs?: () => number,
  node: string = Bun.randomUUIDv7(),
  { url }: TestRedis = redis,
): Promise<SoftLimiter> {
  const limiter = await openSoftLimiter({
    url,
    node,
    monotonicMs: () => performance.now(),
    log: createLog({ level: "silent", nowMs: Date.now, write: () => {} }),
    metrics: createMetrics(),
    // What is shown here does not depend on how busy this machine is.
    answerWithinMs: 5_000,
    prefix,
    ...(nowMs && { nowMs }),
  });
  opened.push(limiter);
  return limiter;
}

limiterConformance("the limiter in Redis", async () => {
  let nowMs = Date.UTC(2026, 5, 1, 12) + 345;
  return {
    limiter: await openNode(newPrefix(), () => nowMs),
    advance: (ms) => void (nowMs += ms),
    nowMs: () => nowMs,
  };
});

describe("several nodes", () => {
  test("share a limit: of all that come to any of them, no 60 s let through more", async () => {
    let nowMs = Date.UTC(2026, 5, 1, 12);
    const prefix = newPrefix();
    const nodes = await Promise.all(Array.from({ length: 3 }, () => openNode(prefix, () => nowMs)));
    const admittedMs: number[] = [];
    for (let round = 0; round < 400; round++) {
      nowMs += 777;
      const takes = await Promise.all(nodes.map(async (node) => node.take([rate(60)])));
      for (const { kind } of takes) if (kind === "taken") admittedMs.push(nowMs);
    }
    expect(worstMinute(admittedMs)).toBe(60);
    expect(admittedMs.length).toBeGreaterThanOrEqual(60 * 5);
  });

  test("see what the others took, gave back and corrected", async () => {
    const prefix = newPrefix();
    const [one, two] = [await openNode(prefix), await openNode(prefix)];
    const take = await one.take([rate(100, 50), slot("call")]);
    if (take.kind !== "taken") throw new Error("There was room.");
    expect(Math.abs(take.takenAt - Date.now())).toBeLessThan(5_000);
    expect((await two.look(rate(100))).remaining).toBe(50);
    expect((await two.look(slot("x"))).remaining).toBe(1);
    await one.correct(rate(100, 50), 30, take.takenAt);
    await one.freeSlot("s", "call");
    // Nobody waits for what comes back; what the same node asks next is answered after it.
    expect((await one.look(rate(100))).remaining).toBe(70);
    expect((await two.look(rate(100))).remaining).toBe(70);
    expect((await two.look(slot("x"))).remaining).toBe(2);
  });

  test("get the places of one that stopped at once, and no place of one that lives", async () => {
    const prefix = newPrefix();
    const [one, two, three] = [await openNode(prefix), await openNode(prefix), await openNode(prefix)];
    await one.take([slot("a")]);
    await two.take([slot("b")]);
    expect((await three.take([slot("c")])).kind).toBe("refused");
    await one.close();
    expect((await three.look(slot("c"))).remaining).toBe(1);
    expect((await three.take([slot("c")])).kind).toBe("taken");
    expect((await three.take([slot("d")])).kind).toBe("refused");
  });

  test("get all places of one that stopped, however many it had", async () => {
    const prefix = newPrefix();
    const [one, two] = [await openNode(prefix), await openNode(prefix)];
    const limit = 9_000;
    const takes = Array.from({ length: limit }, async (_, holder) =>
      one.take([slot(`call ${holder}`, limit)]),
    );
    expect((await Promise.all(takes)).filter(({ kind }) => kind === "taken")).toHaveLength(limit);
    expect((await two.take([slot("next", limit)])).kind).toBe("refused");
    await one.close();
    expect((await two.take([slot("next", limit)])).kind).toBe("taken");
    expect((await two.look(slot("another", limit))).remaining).toBe(limit - 1);
  });

  test("get the places of one that fell silent, when they need them", async () => {
    const prefix = newPrefix();
    const dead = Bun.randomUUIDv7();
    const [one, two] = [await openNode(prefix, undefined, dead), await openNode(prefix)];
    await one.take([slot("a")]);
    await one.take([slot("b")]);
    expect((await two.take([slot("c")])).kind).toBe("refused");
    const client = new Bun.RedisClient(redis.url);
    await client.send("ZADD", [`${prefix}nodes`, String(Date.now() - 19_000), `${dead}:1`]);
    expect((await two.take([slot("c")])).kind).toBe("refused");
    await client.send("ZADD", [`${prefix}nodes`, String(Date.now() - 21_000), `${dead}:1`]);
    expect((await two.look(slot("c", 3))).remaining).toBe(3);
    // Its own places are as good as ever to itself: whoever asks is not silent.
    expect((await one.look(slot("c", 3))).remaining).toBe(1);
    expect((await one.take([slot("c")])).kind).toBe("refused");
    expect((await two.take([slot("c")])).kind).toBe("taken");
    expect((await two.take([slot("d")])).kind).toBe("taken");
    expect((await two.take([slot("e")])).kind).toBe("refused");
    client.close();
  });
});

describe("when Redis has lost the list of nodes, or its clock was put forward", () => {
  const accidents: Record<string, (client: Bun.RedisClient, key: string) => Promise<unknown>> = {
    "the list was lost": (client, key) => client.send("DEL", [key]),
    "all look silent": async (client, key) => {
      const names = (await client.send("ZRANGE", [key, "0", "-1"])) as string[];
      const silentSince = String(Date.now() - 21_000);
      await client.send("ZADD", [key, ...names.flatMap((name) => [silentSince, name])]);
    },
  };

  test.each(Object.keys(accidents))("nobody takes the places of the living: %s", async (accident) => {
    const prefix = newPrefix();
    const nodes = [await openNode(prefix), await openNode(prefix)];
    for (const [at, node] of nodes.entries()) expect((await node.take([slot(`${at}`)])).kind).toBe("taken");
    const client = new Bun.RedisClient(redis.url);
    await accidents[accident]?.(client, `${prefix}nodes`);
    for (const node of nodes) {
      expect((await node.look(slot("x"))).remaining).toBe(0);
      expect((await node.take([slot("x")])).kind).toBe("refused");
    }
    client.close();
  });

  test.each(Object.keys(accidents))(
    "nor does who says first that it is there, before the others have: %s",
    async (accident) => {
      const prefix = newPrefix();
      const earlier = Bun.randomUUIDv7();
      const one = await openNode(prefix, undefined, earlier);
      // Every five seconds each says that it is there, so the other does so much later.
      await Bun.sleep(2_500);
      const two = await openNode(prefix);
      for (const [at, node] of [one, two].entries())
        expect((await node.take([slot(`${at}`)])).kind).toBe("taken");
      const client = new Bun.RedisClient(redis.url);
      const beganMs = Date.now();
      const saidSince = async (): Promise<string> =>
        String(await client.send("ZRANGE", [`${prefix}nodes`, `${beganMs}`, "inf", "BYSCORE"]));
      await accidents[accident]?.(client, `${prefix}nodes`);
      await until(async () => (await saidSince()) !== "");
      const first = (await saidSince()).includes(earlier) ? one : two;
      expect((await first.take([slot("x")])).kind).toBe("refused");
      client.close();
    },
  );

  test("a node that was forgotten is back with its places, also those that others took meanwhile", async () => {
    const prefix = newPrefix();
    const id = Bun.randomUUIDv7();
    const [one, two] = [await openNode(prefix, undefined, id), await openNode(prefix)];
    for (const holder of ["a", "b"]) expect((await one.take([slot(holder)])).kind).toBe("taken");
    const client = new Bun.RedisClient(redis.url);
    await client.send("ZREM", [`${prefix}nodes`, `${id}:1`]);
    expect((await two.take([slot("c")])).kind).toBe("taken");
    // Every five seconds a node says that it is there.
    await until(async () => (await two.look(slot("x", 3))).remaining === 0);
    await two.freeSlot("s", "c");
    expect((await two.take([slot("d")])).kind).toBe("refused");
    await one.freeSlot("s", "a");
    expect((await one.look(slot("x"))).remaining).toBe(1);
    client.close();
  });
});

test("nothing stays in Redis for ever", async () => {
  const prefix = newPrefix();
  // What is known late counts from now on, and all that counts is given back at once.
  const nowMs = Date.now();
  const node = await openNode(prefix, () => nowMs);
  const take = await node.take([rate(100, 50), slot("call")]);
  if (take.kind !== "taken") throw new Error("There was room.");
  await node.correct(rate(100, 50), 55, take.takenAt);
  await node.correct(rate(100, 50), 55, asTakenAt(take.takenAt - 300_000));
  await node.look(rate(100));
  const client = new Bun.RedisClient(redis.url);
  const keys = await client.keys(`${prefix}*`);
  expect(keys.map((key) => key.slice(prefix.length)).toSorted()).toEqual(["nodes", "rate:r", "slot:s"]);
  const leftMs = await Promise.all(keys.map(async (key) => Number(await client.send("PTTL", [key]))));
  for (const ms of leftMs) expect(ms).toBeGreaterThan(0);
  await node.freeSlot("s", "call");
  await node.giveBack([rate(100, 60)], take.takenAt);
  await node.close();
  expect(await client.keys(`${prefix}*`)).toEqual([]);
  client.close();
});

test("a limit that is always in use takes no more room with time", async () => {
  let nowMs = Date.UTC(2026, 5, 1, 12);
  const prefix = newPrefix();
  const node = await openNode(prefix, () => nowMs);
  for (let second = 0; second < 300; second++) {
    nowMs += 1_000;
    await node.take([rate(1_000)]);
  }
  const client = new Bun.RedisClient(redis.url);
  expect(await client.send("HLEN", [`${prefix}rate:r`])).toBe(60 + 3);
  client.close();
});

test("nor does one that is used in every millisecond take more than a few bytes for each", async () => {
  let nowMs = Date.UTC(2026, 5, 1, 12);
  const prefix = newPrefix();
  const node = await openNode(prefix, () => nowMs);
  for (let millisecond = 0; millisecond < 2_000; millisecond++) {
    nowMs += 1;
    for (let take = 0; take < 2; take++) await node.take([rate(1_000_000)]);
  }
  const client = new Bun.RedisClient(redis.url);
  const bytes = async (): Promise<number> =>
    Number(await client.send("MEMORY", ["USAGE", `${prefix}rate:r`, "SAMPLES", "0"]));
  expect(await bytes()).toBeLessThan(2_000 * 20);
  nowMs += 59_000;
  await node.take([rate(1_000_000)]);
  expect(await bytes()).toBeLessThan(1_000 * 20);
  client.close();
});

test("nor does one whose takes all come back, second for second, while others keep it in use", async () => {
  let nowMs = Date.UTC(2026, 5, 1, 12);
  const prefix = newPrefix();
  const node = await openNode(prefix, () => nowMs);
  for (let second = 0; second < 300; second++) {
    nowMs += 1_000;
    const take = await node.take([rate(1_000)]);
    if (take.kind !== "taken") throw new Error("There was room.");
    // Some in their own second, some later, but for one now and then.
    if (second % 2 === 0) nowMs += 1_000;
    if (second % 20 > 0) await node.giveBack([rate(1_000)], take.takenAt);
  }
  expect((await node.look(rate(1_000))).remaining).toBe(998);
  const client = new Bun.RedisClient(redis.url);
  expect(await client.send("HLEN", [`${prefix}rate:r`])).toBe(2 + 3);
  client.close();
});

test("what was taken within one millisecond leaves with the last of it, to the microsecond", async () => {
  const startMs = Date.UTC(2026, 5, 1, 12);
  let nowMs = startMs;
  const node = await openNode(newPrefix(), () => nowMs);
  for (const afterMs of [0.25, 0.75]) {
    nowMs = startMs + afterMs;
    expect((await node.take([rate(2)])).kind).toBe("taken");
  }
  for (const afterMs of [0.75, 60_000, 60_000.25, 60_000.5]) {
    nowMs = startMs + afterMs;
    const retryInMs = Math.ceil(60_000.75 - afterMs);
    expect(await node.take([rate(2)])).toMatchObject({ kind: "refused", retryInMs });
  }
  nowMs = startMs + 60_000.75;
  expect((await node.look(rate(2))).remaining).toBe(2);
});

test("a clock that is set back a little lets nothing extra through, and one set back by more begins anew", async () => {
  let nowMs = Date.UTC(2026, 5, 1, 12);
  const node = await openNode(newPrefix(), () => nowMs);
  for (let second = 0; second < 10; second++) {
    expect((await node.take([rate(100, 10)])).kind).toBe("taken");
    nowMs += 1_000;
  }
  nowMs -= 40_000;
  expect((await node.take([rate(100)])).kind).toBe("refused");
  nowMs -= 60_000;
  for (let second = 0; second < 100; second++) {
    expect((await node.take([rate(100, 1)])).kind).toBe("taken");
    nowMs += 1_000;
  }
  expect((await node.look(rate(100))).remaining).toBe(100 - 59);
  nowMs += 55_000;
  expect((await node.look(rate(100))).remaining).toBe(100 - 4);
});

test("what is taken while a clock that was set back catches up comes back whole, and nobody waits over a minute", async () => {
  let nowMs = Date.UTC(2026, 5, 1, 12);
  const node = await openNode(newPrefix(), () => nowMs);
  await node.take([rate(60_000)]);
  nowMs -= 5_000;
  const estimate = rate(60_000, 50_000);
  const other: RateWant = { ...estimate, name: "other" };
  const take = await node.take([other, estimate]);
  if (take.kind !== "taken") throw new Error("There was room.");
  const refused = await node.take([rate(60_000, 60_000)]);
  expect(refused).toMatchObject({ kind: "refused", retryInMs: 60_000 });
  for (const want of [estimate, other]) await node.correct(want, 100, take.takenAt);
  expect((await node.look(rate(60_000))).remaining).toBe(60_000 - 1 - 100);
  expect((await node.look(other)).remaining).toBe(60_000 - 100);
  nowMs += 5_000 + 60_000;
  expect((await node.look(rate(60_000))).remaining).toBe(60_000);
  expect((await node.look(other)).remaining).toBe(60_000);
});

test("what is asked in one turn travels together", async () => {
  const own = await startPrivateRedis();
  try {
    const node = await openNode("tollgate:", undefined, "node", own);
    const countReads = async (): Promise<number> =>
      Number(/total_reads_processed:(\d+)/.exec(String(await own.send("INFO", "stats")))?.[1]);
    const before = await countReads();
    await Promise.all(Array.from({ length: 64 }, async () => node.take([rate(1_000)])));
    // Two or three are those of whoever counts.
    expect((await countReads()) - before).toBeLessThan(10);
    await node.close();
  } finally {
    await own.close();
  }
});

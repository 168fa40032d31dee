import { afterEach, describe, expect, test } from "bun:test";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { startPrivateRedis, type PrivateRedis } from "../../../../test/services/redis.ts";
import { until } from "../../../../test/support/until.ts";
import type { RateWant, Take } from "../../limits/limiter.ts";
import { asTakenAt, type TakenAt } from "../../limits/taken-at.ts";
import { createLog } from "../../platform/log.ts";
import { createMetrics } from "../../platform/metrics.ts";
import { openSoftLimiter, type SoftLimiter } from "./soft-limiter.ts";
import { rate, slot } from "./test-wants.ts";

interface Node {
  readonly limiter: SoftLimiter;
  /** What it wrote into its log. */
  readonly said: string[];
  readonly metric: (name: string) => number;
}

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function openRedis(password?: string): Promise<PrivateRedis> {
  const redis = await startPrivateRedis(password === undefined ? {} : { password });
  closing.push(redis.close);
  return redis;
}

/** Given more time than usual, where a test is not about time: this machine may be busy. */
async function openNode(url: string, answerWithinMs = 300): Promise<Node> {
  const said: string[] = [];
  const metrics = createMetrics();
  const limiter = await openSoftLimiter({
    url,
    prefix: "tollgate:",
    node: Bun.randomUUIDv7(),
    monotonicMs: () => performance.now(),
    log: createLog({ level: "info", nowMs: Date.now, write: (line) => void said.push(line) }),
    metrics,
    answerWithinMs,
  });
  closing.push(limiter.close);
  const metric = (name: string): number =>
    Number(new RegExp(`^${name} (\\d+)$`, "m").exec(metrics.render())?.[1] ?? 0);
  return { limiter, said, metric };
}

interface Wire {
  readonly url: string;
  readonly cut: () => void;
  readonly mend: () => void;
  /** The first command that has this word is heard, and its answer is not. */
  readonly mendAndLoseOneAnswer: (to: string) => void;
  readonly lostAnswers: () => number;
  /** The first command that has this word is under way until it is delivered, also when its connection is long over. */
  readonly holdUp: (word: string) => void;
  readonly hasHeldUp: () => boolean;
  readonly deliver: () => void;
}

/** The way of one node to a Redis. */
async function openWire(port: number): Promise<Wire> {
  let isCut = false;
  let losing: string | undefined;
  let lost = 0;
  let holding: string | undefined;
  let deliver: (() => void) | undefined;
  const callers = new Set<Socket>();
  const ends = new Set<Socket>();
  const server = createServer((caller) => {
    if (isCut) return void caller.destroy();
    const far = connect(port, "127.0.0.1");
    callers.add(caller);
    for (const end of [caller, far]) ends.add(end);
    let isMute = false;
    let heldUp: (string | Buffer)[] | undefined;
    caller.on("data", (bytes) => {
      if (losing !== undefined && bytes.includes(losing)) {
        losing = undefined;
        isMute = true;
        lost++;
      }
      if (holding !== undefined && bytes.includes(holding)) {
        holding = undefined;
        heldUp = [];
        deliver = () => {
          for (const part of heldUp?.splice(0) ?? []) far.write(part);
          heldUp = undefined;
          if (caller.destroyed) far.end();
        };
      }
      if (heldUp) heldUp.push(bytes);
      else far.write(bytes);
    });
    far.on("data", (bytes) => void (isMute || caller.write(bytes)));
    for (const end of [caller, far]) {
      end.on("error", () => {});
      end.on("close", () => {
        caller.destroy();
        if (!heldUp) far.destroy();
        callers.delete(caller);
        ends.delete(end);
      });
    }
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  closing.push(async () => {
    for (const end of ends) end.destroy();
    await new Promise((closed) => server.close(closed));
  });
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => {
      isCut = true;
      for (const caller of callers) caller.destroy();
    },
    mend: () => {
      isCut = false;
    },
    mendAndLoseOneAnswer: (to) => {
      isCut = false;
      losing = to;
    },
    lostAnswers: () => lost,
    holdUp: (word) => {
      holding = word;
    },
    hasHeldUp: () => deliver !== undefined,
    deliver: () => deliver?.(),
  };
}

/** How many of so many get through, one after the other. */
async function countTaken({ limiter }: Node, want: RateWant, times: number): Promise<number> {
  let count = 0;
  for (let time = 0; time < times; time++) if ((await limiter.take([want])).kind === "taken") count++;
  return count;
}

const isAlone = ({ metric }: Node): boolean => metric("tollgate_limits_alone") === 1;
const isBack = (node: Node): Promise<void> => until(() => !isAlone(node));
const wentAlone = (node: Node): Promise<void> => until(() => isAlone(node), 2_000);

async function timed<Value>(run: () => Promise<Value>): Promise<{ value: Value; tookMs: number }> {
  const startedMs = performance.now();
  return { value: await run(), tookMs: performance.now() - startedMs };
}

describe("a Redis that falls silent", () => {
  test("costs the calls of that moment 50 ms and the others nothing, and limits hold", async () => {
    const freezeOne = async () => {
      const redis = await openRedis();
      const node = await openNode(redis.url, 50);
      expect(await countTaken(node, rate(60), 10)).toBe(10);
      redis.freeze();
      const first = await timed(() =>
        Promise.all(Array.from({ length: 20 }, async () => node.limiter.take([rate(60)]))),
      );
      return { redis, node, first };
    };
    let frozen = await freezeOne();
    // A machine that others use stands still now and then; a limiter that makes callers wait does so every time.
    for (let tries = 1; tries < 3 && frozen.first.tookMs >= 250; tries++) frozen = await freezeOne();
    const { redis, node, first } = frozen;
    expect(first.value.every(({ kind }) => kind === "taken")).toBe(true);
    expect(first.tookMs).toBeGreaterThan(45);
    expect(first.tookMs).toBeLessThan(250);
    // Longer than until it is asked again: nobody waits for that either.
    let takenSince = first.value.length;
    const endMs = performance.now() + 2_500;
    while (performance.now() < endMs) {
      const take = node.limiter.take([rate(60)]);
      if (take instanceof Promise) throw new Error("Somebody had to wait.");
      if (take.kind === "taken") takenSince++;
      await Bun.sleep(5);
    }
    expect(takenSince).toBe(60);
    expect(node.said.filter((line) => line.includes("limits by itself"))).toHaveLength(1);
    expect(node.metric("tollgate_limits_outages_total")).toBe(1);

    redis.thaw();
    await isBack(node);
    expect(node.said.filter((line) => line.includes("in Redis again"))).toHaveLength(1);
    expect(node.said).toHaveLength(2);
    // Ten before, and those twenty that were heard after all, or not.
    expect((await node.limiter.look(rate(60))).remaining).toBeOneOf([30, 50]);
  });

  test("is not asked again for a second", async () => {
    const redis = await openRedis();
    const node = await openNode(redis.url);
    redis.freeze();
    const silentAtMs = performance.now();
    await node.limiter.take([rate(60)]);
    redis.thaw();
    await isBack(node);
    expect(performance.now() - silentAtMs).toBeGreaterThan(1_000);
  });

  test("is not taken for silent when it was this process that was busy", async () => {
    const redis = await openRedis();
    const node = await openNode(redis.url);
    const taking = node.limiter.take([rate(60)]);
    Bun.sleepSync(500);
    const answering = node.limiter.take([rate(60)]);
    await Bun.sleep(0);
    Bun.sleepSync(500);
    expect((await taking).kind).toBe("taken");
    expect((await answering).kind).toBe("taken");
    expect(node.metric("tollgate_limits_outages_total")).toBe(0);
    expect((await node.limiter.look(rate(60))).remaining).toBe(58);
  });

  test("leaves every node its share", async () => {
    const redis = await openRedis();
    const nodes = [await openNode(redis.url), await openNode(redis.url), await openNode(redis.url)];
    // A node learns from its own joining how many there are; the last one knows it from the start.
    const last = nodes[2];
    if (!last) throw new Error("There are three.");
    redis.freeze();
    expect(await countTaken(last, rate(60), 60)).toBe(20);
    expect(await countTaken(last, rate(2, 1, "small"), 5)).toBe(1);
    expect((await last.limiter.take([rate(100, 100, "large")])).kind).toBe("taken");
    expect((await last.limiter.take([rate(100, 101, "larger")])).kind).toBe("refused");
    const places = await Promise.all(
      ["a", "b", "c"].map(async (holder) => last.limiter.take([slot(holder, 6)])),
    );
    expect(places.map(({ kind }) => kind)).toEqual(["taken", "taken", "refused"]);
    expect(places[2]).toMatchObject({ want: slot("c", 6), standing: { limit: 6, remaining: 0 } });
    // What comes back counts for as many nodes as what was taken.
    const taken = await last.limiter.take([rate(90, 20, "corrected")]);
    expect(taken).toMatchObject({ kind: "taken", standings: [{ remaining: 30 }] });
    if (taken.kind === "taken") await last.limiter.correct(rate(90, 20, "corrected"), 10, taken.takenAt);
    expect((await last.limiter.look(rate(90, 1, "corrected"))).remaining).toBe(60);
    // So does what was used of an estimate that alone was all that there is.
    const estimate = rate(60_000, 60_000, "estimated");
    const whole = await last.limiter.take([estimate]);
    if (whole.kind === "taken") await last.limiter.correct(estimate, 5_000, whole.takenAt);
    expect((await last.limiter.look(estimate)).remaining).toBe(45_000);
  });

  test("leaves a node that was the first one no more than its share of now", async () => {
    const redis = await openRedis();
    const first = await openNode(redis.url);
    await openNode(redis.url);
    await openNode(redis.url);
    // Every five seconds a node says that it is there, and hears how many are; on a busy machine somewhat later.
    await Bun.sleep(8_000);
    redis.freeze();
    expect(await countTaken(first, rate(60), 60)).toBe(20);
  });
});

describe("what was taken", () => {
  const takenOf = (take: Take): TakenAt => {
    if (take.kind !== "taken") throw new Error("There was room.");
    return take.takenAt;
  };

  test("in Redis comes back there, also when it had to wait until Redis was back", async () => {
    const redis = await openRedis();
    const [node, other] = [await openNode(redis.url), await openNode(redis.url)];
    const takenAt = takenOf(await node.limiter.take([rate(100, 30), slot("a")]));
    const givenAtMs = takenOf(await node.limiter.take([rate(100, 40), slot("b")]));
    redis.freeze();
    await node.limiter.take([rate(100, 0, "anything")]);
    expect(isAlone(node)).toBe(true);
    await node.limiter.correct(rate(100, 30), 10, takenAt);
    await node.limiter.freeSlot("s", "a");
    await node.limiter.giveBack([rate(100, 40), slot("b")], givenAtMs);
    redis.thaw();
    await isBack(node);
    await isBack(other);
    expect((await other.limiter.look(rate(100))).remaining).toBe(90);
    expect((await other.limiter.look(slot("x"))).remaining).toBe(2);
  });

  test("in Redis comes back there once, also when nobody heard whether it did", async () => {
    const redis = await openRedis();
    const [node, other] = [await openNode(redis.url), await openNode(redis.url)];
    const takenAt = takenOf(await node.limiter.take([rate(100, 70)]));
    redis.freeze();
    await node.limiter.correct(rate(100, 70), 50, takenAt);
    await wentAlone(node);
    redis.thaw();
    await isBack(node);
    await isBack(other);
    expect((await other.limiter.look(rate(100))).remaining).toBe(50);
  });

  test("in Redis comes back there once, also when it had waited for Redis and was not answered then", async () => {
    const redis = await openRedis();
    const wire = await openWire(redis.port);
    const node = await openNode(wire.url);
    const takenAt = takenOf(await node.limiter.take([rate(100, 50)]));
    wire.cut();
    await wentAlone(node);
    await node.limiter.correct(rate(100, 50), 20, takenAt);
    wire.mendAndLoseOneAnswer("return");
    await isBack(node);
    expect(wire.lostAnswers()).toBe(1);
    expect((await node.limiter.look(rate(100))).remaining).toBe(80);
  });

  test("here comes back here, also when Redis is back", async () => {
    const redis = await openRedis();
    const node = await openNode(redis.url);
    await redis.kill();
    await wentAlone(node);
    const takenAt = takenOf(await node.limiter.take([rate(100, 60), slot("a", 1)]));
    await node.limiter.correct(rate(100, 60), 50, takenAt);
    expect((await node.limiter.look(rate(100))).remaining).toBe(50);
    await redis.start();
    await isBack(node);
    await node.limiter.take([rate(100, 5)]);
    await node.limiter.giveBack([rate(100, 50), slot("a", 1)], takenAt);
    expect((await node.limiter.look(rate(100))).remaining).toBe(95);
    await redis.kill();
    await wentAlone(node);
    expect((await node.limiter.look(rate(100))).remaining).toBe(100);
    expect((await node.limiter.take([slot("b", 1)])).kind).toBe("taken");
  });

  test("without an answer takes no place for longer than its call", async () => {
    const redis = await openRedis();
    const node = await openNode(redis.url);
    redis.freeze();
    // Redis hears of this one when it wakes up; by then the call is limited here.
    expect((await node.limiter.take([slot("a")])).kind).toBe("taken");
    redis.thaw();
    await isBack(node);
    expect((await node.limiter.look(slot("x"))).remaining).toBe(2);
    await node.limiter.freeSlot("s", "a");
  });
});

describe("a slot", () => {
  const take = async ({ limiter }: Node, holder: string, limit = 2): Promise<Take["kind"]> =>
    (await limiter.take([slot(holder, limit)])).kind;
  const countFree = async ({ limiter }: Node, limit = 2): Promise<number> =>
    (await limiter.look(slot("x", limit))).remaining;

  test("that was freed is free, also when Redis comes back with what it knew before", async () => {
    const redis = await openRedis();
    const [node, other] = [await openNode(redis.url), await openNode(redis.url)];
    for (const holder of ["a", "b", "c"]) expect(await take(node, holder, 3)).toBe("taken");
    await redis.send("SAVE");
    for (const holder of ["a", "b"]) await node.limiter.freeSlot("s", holder);
    expect(await countFree(node, 3)).toBe(2);
    await redis.kill();
    await wentAlone(node);
    await redis.start();
    await isBack(node);
    await isBack(other);
    expect(await countFree(node, 3)).toBe(2);
    expect(await countFree(other, 3)).toBe(2);
    expect(await take(other, "d", 3)).toBe("taken");
    expect(await take(node, "e", 3)).toBe("taken");
    // The one whose call still runs is nobody else's.
    expect(await take(other, "f", 3)).toBe("refused");
    expect(await take(node, "f", 3)).toBe("refused");
    for (const holder of ["c", "e"]) await node.limiter.freeSlot("s", holder);
    expect(await countFree(node, 3)).toBe(2);
  });

  test("that was freed while Redis was away is free when it is back", async () => {
    const redis = await openRedis();
    const wire = await openWire(redis.port);
    const [node, other] = [await openNode(wire.url), await openNode(redis.url)];
    for (const holder of ["a", "b"]) expect(await take(node, holder)).toBe("taken");
    wire.cut();
    await wentAlone(node);
    await node.limiter.freeSlot("s", "a");
    // Nobody can know yet.
    expect(await take(other, "c")).toBe("refused");
    wire.mend();
    await isBack(node);
    expect(await countFree(node)).toBe(1);
    expect(await countFree(other)).toBe(1);
  });

  test("that is in use counts before, while and after its node was cut off, however many there are", async () => {
    const redis = await openRedis();
    const wire = await openWire(redis.port);
    const [node, other] = [await openNode(wire.url), await openNode(redis.url)];
    const limit = 450;
    for (let holder = 0; holder < limit; holder++) expect(await take(node, `${holder}`, limit)).toBe("taken");
    let isOver = false;
    const asking = (async () => {
      const kinds = new Set<Take["kind"]>();
      for (let holder = 0; !isOver; holder++) kinds.add(await take(other, `other ${holder}`, limit));
      return [...kinds];
    })();
    for (let time = 0; time < 2; time++) {
      wire.cut();
      await wentAlone(node);
      // Some of them are brought over in vain the first time: nobody hears that they were.
      if (time === 0) wire.mendAndLoseOneAnswer("rename");
      else wire.mend();
      await isBack(node);
    }
    isOver = true;
    expect(await asking).toEqual(["refused"]);
    expect(wire.lostAnswers()).toBe(1);
    expect(await countFree(other, limit)).toBe(0);
    expect(await redis.send("ZCARD", "tollgate:slot:s")).toBe(limit);
    for (let holder = 0; holder < limit; holder++) await node.limiter.freeSlot("s", `${holder}`);
    expect(await countFree(node, limit)).toBe(limit);
  });

  test("that is in use counts again when its node was cut off for so long that others took it for gone", async () => {
    const redis = await openRedis();
    const wire = await openWire(redis.port);
    const node = await openNode(wire.url);
    const [name] = (await redis.send("ZRANGE", "tollgate:nodes", "0", "-1")) as string[];
    const other = await openNode(redis.url);
    for (const holder of ["a", "b"]) expect(await take(node, holder)).toBe("taken");
    wire.cut();
    await wentAlone(node);
    await redis.send("ZADD", "tollgate:nodes", String(Date.now() - 21_000), name ?? "");
    for (const holder of ["c", "d"]) expect(await take(other, holder)).toBe("taken");
    wire.mend();
    await isBack(node);
    for (const holder of ["c", "d"]) await other.limiter.freeSlot("s", holder);
    expect(await take(other, "e")).toBe("refused");
    await node.limiter.freeSlot("s", "a");
    expect(await countFree(node)).toBe(1);
    expect(await take(other, "e")).toBe("taken");
    expect(await take(node, "f")).toBe("refused");
  });

  test("that is in use counts again in a Redis that has forgotten everything", async () => {
    const redis = await openRedis();
    const [node, other] = [await openNode(redis.url), await openNode(redis.url)];
    expect(await take(node, "a")).toBe("taken");
    await redis.kill();
    await wentAlone(node);
    await redis.start();
    await isBack(node);
    await isBack(other);
    expect(await countFree(other)).toBe(1);
    const leftMs = (await node.limiter.look(slot("x", 2))).resetsInMs;
    expect(leftMs).toBeLessThan(3_600_000);
    expect(leftMs).toBeGreaterThan(3_500_000);
    await node.limiter.freeSlot("s", "a");
    expect(await countFree(node)).toBe(2);
  });

  test("that is freed at the very moment it is brought over is free", async () => {
    const redis = await openRedis();
    const wire = await openWire(redis.port);
    const node = await openNode(wire.url, 5_000);
    expect(await take(node, "a")).toBe("taken");
    wire.cut();
    await wentAlone(node);
    wire.holdUp("rename");
    wire.mend();
    await until(wire.hasHeldUp);
    await node.limiter.freeSlot("s", "a");
    wire.deliver();
    await isBack(node);
    expect(await countFree(node)).toBe(2);
    expect(await redis.send("EXISTS", "tollgate:slot:s")).toBe(0);
  });

  test("of a take that Redis hears when its node has long another connection is free", async () => {
    const redis = await openRedis();
    const wire = await openWire(redis.port);
    const [node, other] = [await openNode(wire.url), await openNode(redis.url)];
    wire.holdUp("take");
    expect(await take(node, "a", 1)).toBe("taken");
    expect(isAlone(node)).toBe(true);
    await isBack(node);
    await node.limiter.freeSlot("s", "a");
    expect(await countFree(node, 1)).toBe(1);
    wire.deliver();
    await until(async () => (await redis.send("EXISTS", "tollgate:slot:s")) === 1);
    expect(await countFree(node, 1)).toBe(1);
    expect(await take(other, "b", 1)).toBe("taken");
    expect(await take(node, "c", 1)).toBe("refused");
  });
});

describe("a Redis that is gone", () => {
  test("is noticed at once, and used again when it is back", async () => {
    const redis = await openRedis();
    const node = await openNode(redis.url);
    expect(await countTaken(node, rate(60), 60)).toBe(60);
    await redis.kill();
    await wentAlone(node);
    expect(node.limiter.take([rate(60)])).not.toBeInstanceOf(Promise);
    expect(await countTaken(node, rate(60), 100)).toBe(59);
    await redis.start();
    await isBack(node);
    expect(await countTaken(node, rate(60), 100)).toBe(60);
    expect(node.said).toHaveLength(2);
  });

  test("and was never there: the node starts all the same, limits, and says so", async () => {
    const redis = await openRedis();
    await redis.kill();
    const { value: node, tookMs } = await timed(() => openNode(redis.url));
    expect(tookMs).toBeLessThan(2_000);
    expect(node.said.join("")).toContain("limits by itself");
    expect(await countTaken(node, rate(60), 100)).toBe(60);
    await redis.start();
    await isBack(node);
    expect(await countTaken(node, rate(60), 100)).toBe(60);
  });

  test("and was never there leaves a node its share of those that were seen elsewhere, and it says so", async () => {
    const redis = await openRedis();
    await redis.kill();
    const node = await openNode(redis.url);
    node.limiter.seeNodes(3);
    expect(await countTaken(node, rate(60), 60)).toBe(20);
    node.limiter.seeNodes(3);
    expect(node.said.filter((line) => line.includes('"nodes":3'))).toHaveLength(1);
    await redis.start();
    await isBack(node);
    expect(await countTaken(node, rate(60), 100)).toBe(60);
    node.limiter.seeNodes(2);
    expect(node.said.join("")).not.toContain('"nodes":2');
  });

  test("leaves a node its share of as many as Redis knew, should fewer be seen elsewhere", async () => {
    const redis = await openRedis();
    await openNode(redis.url);
    const last = await openNode(redis.url);
    last.limiter.seeNodes(1);
    await redis.kill();
    await wentAlone(last);
    expect(await countTaken(last, rate(60), 60)).toBe(30);
  });

  test("in mid-call fails nobody", async () => {
    const redis = await openRedis();
    const node = await openNode(redis.url);
    for (let round = 0; round < 3; round++) {
      const takes = Array.from({ length: 100 }, async () => node.limiter.take([rate(1_000_000)]));
      const killed = redis.kill();
      for (const take of await Promise.all(takes)) expect(take.kind).toBe("taken");
      await killed;
      await wentAlone(node);
      await redis.start();
      await isBack(node);
    }
  });
});

describe("a Redis that objects", () => {
  test("by having forgotten everything gives at most one more allowance, and no error", async () => {
    const redis = await openRedis();
    const node = await openNode(redis.url);
    const take = await node.limiter.take([rate(60), slot("a")]);
    expect(await countTaken(node, rate(60), 70)).toBe(59);
    await redis.send("FLUSHALL");
    await redis.send("SCRIPT", "FLUSH");
    expect(await countTaken(node, rate(60), 70)).toBe(60);
    if (take.kind === "taken")
      await node.limiter.giveBack([rate(60, 10), slot("a")], asTakenAt(take.takenAt - 5_000));
    expect(await countTaken(node, rate(60), 70)).toBe(0);
    expect(node.said).toEqual([]);
  });

  test("because it is full or read-only is as good as silent", async () => {
    const redis = await openRedis();
    const node = await openNode(redis.url);
    await redis.send("CONFIG", "SET", "maxmemory", "1");
    expect(await countTaken(node, rate(60), 70)).toBe(60);
    expect(node.said.join("")).toMatch(/Redis refuses us; this node limits by itself.*OOM/);
    await redis.send("CONFIG", "SET", "maxmemory", "0");
    await isBack(node);
    await redis.send("REPLICAOF", "127.0.0.1", "1");
    expect((await node.limiter.take([rate(1_000)])).kind).toBe("taken");
    expect(node.said.join("")).toMatch(/Redis refuses us; this node limits by itself.*READONLY/);
    await redis.send("REPLICAOF", "NO", "ONE");
    await isBack(node);
    expect(node.said.join("")).not.toContain("does not answer");
  });

  test("because it is full is said once, however often the node looks whether it still is", async () => {
    const redis = await openRedis();
    const node = await openNode(redis.url);
    const said = (words: string): number => node.said.filter((line) => line.includes(words)).length;
    await redis.send("CONFIG", "SET", "maxmemory", "1");
    const endsMs = performance.now() + 3_500;
    while (performance.now() < endsMs) {
      await node.limiter.take([rate(1_000)]);
      await Bun.sleep(50);
    }
    expect([said("refuses us"), said("counted in Redis again")]).toEqual([1, 0]);
    expect(isAlone(node)).toBe(true);
    await redis.send("CONFIG", "SET", "maxmemory", "0");
    await isBack(node);
    expect([said("refuses us"), said("counted in Redis again")]).toEqual([1, 1]);
  });

  test("to our scripts is not called silent, and what it objects to next is said once", async () => {
    const redis = await openRedis();
    await redis.send("ACL", "SETUSER", "limited", "on", ">limited", "~*", "+@all", "-@scripting");
    const node = await openNode(redis.url.replace("://", "://limited:limited@"));
    expect(node.said).toHaveLength(1);
    expect(node.said.join("")).toMatch(/Redis refuses us; this node limits by itself.*NOPERM/);
    expect(await countTaken(node, rate(60), 70)).toBe(60);
    await redis.send("REPLICAOF", "127.0.0.1", "1");
    await redis.send("ACL", "SETUSER", "limited", "+@scripting");
    const refusals = (): number =>
      node.said.filter((line) => /back, but refuses us.*READONLY/.test(line)).length;
    await until(() => refusals() > 0);
    await Bun.sleep(1_500);
    expect(refusals()).toBe(1);
    await redis.send("REPLICAOF", "NO", "ONE");
    await isBack(node);
    expect(node.said).toHaveLength(3);
  });

  test("to our password is an error at the start that does not say it", async () => {
    const redis = await openRedis("a-very-long-password");
    await (await openNode(redis.url)).limiter.take([rate(1)]);
    for (const credentials of ["", ":not-the-password@", "somebody:not-the-password@"]) {
      const url = `redis://${credentials}127.0.0.1:${redis.port}`;
      const problem = await openNode(url).then(
        () => "it opened",
        (error: unknown) => String(error),
      );
      expect(problem).toMatch(
        /TOLLGATE_LIMITS: the Redis at 127\.0\.0\.1:\d+ refuses us: (WRONGPASS|NOAUTH)/,
      );
      expect(problem).not.toContain("not-the-password");
    }
  });

  test("to our password since yesterday is said once, and the node goes on", async () => {
    const redis = await openRedis();
    const node = await openNode(redis.url);
    await redis.send("CLIENT", "KILL", "TYPE", "normal");
    await wentAlone(node);
    await redis.send("CONFIG", "SET", "requirepass", "another");
    const refusals = (): number => node.said.filter((line) => line.includes("refuses our password")).length;
    await until(() => refusals() > 0);
    await Bun.sleep(1_500);
    expect(refusals()).toBe(1);
    expect(await countTaken(node, rate(60), 100)).toBe(60);
  });
});

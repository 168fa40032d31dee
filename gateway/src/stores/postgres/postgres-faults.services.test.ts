// What the Postgres ledger promises when connections break, the server goes away, stops answering or kills sessions,
// and when processes die or are taken for dead. Every test ends with an audit of the books.

import { SQL } from "bun";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openCable, type Cable } from "../../../../test/services/cable.ts";
import { startPrivatePostgres } from "../../../../test/services/postgres.ts";
import {
  createRandom,
  openNode,
  waitUntil,
  withNodes,
  type TestNodes,
} from "../../../../test/services/postgres-nodes.ts";
import { InDoubt, StoreBusy, StoreFull } from "../../ledger/store-errors.ts";
import {
  middayMs,
  releaseOf,
  settlementOf,
  type Caller,
  type TestBooks,
} from "../../ledger/shared-conformance.ts";
import { openDatabase, type Query } from "./database.ts";
import { createRuns } from "./runs.ts";

let server: Awaited<ReturnType<typeof startPrivatePostgres>>;
let databases = 0;

beforeAll(async () => {
  server = await startPrivatePostgres();
});
afterAll(() => server.close());

/** An empty database of the server that may be harmed. */
async function newDatabase(): Promise<string> {
  const name = `faults_${++databases}`;
  await inDatabase(server.url, (sql) => sql.unsafe(`CREATE DATABASE ${name}`));
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return url.href;
}

async function inDatabase<Found>(url: string, ask: (sql: SQL) => Promise<Found>): Promise<Found> {
  const sql = new SQL({ url, max: 1, bigint: true });
  try {
    return await ask(sql);
  } finally {
    await sql.close();
  }
}

const countRows = (url: string, from: string): Promise<number> =>
  inDatabase(url, async (sql) => {
    const rows: unknown[] = await sql.unsafe(`SELECT 1 FROM ${from}`);
    return rows.length;
  });

const countEndedRuns = (url: string): Promise<number> => countRows(url, "run WHERE ended_at_ms IS NOT NULL");

/** As whoever takes its process for dead does. */
const endNewestRun = (url: string): Promise<unknown> =>
  inDatabase(url, (sql) => sql`UPDATE run SET ended_at_ms = 1 WHERE id = (SELECT max(id) FROM run)`);

/** What was answered, or why it was not. */
const settled = (asked: Promise<unknown>): Promise<unknown> => asked.catch((error: unknown) => error);

/** The store did not say whether anything was done. */
const isNotTold = (told: unknown): boolean => told instanceof StoreBusy || told instanceof InDoubt;

/** Asks again as long as the store says that it cannot tell. */
async function insist<Told>(ask: () => Promise<Told>): Promise<Told> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isNotTold(error)) throw error;
      await Bun.sleep(20);
    }
  }
}

/** What a caller has been told of the calls it made. */
interface Told {
  /** Micros that settlements said were charged, by call. */
  readonly charged: Map<string, bigint>;
  readonly givenUp: string[];
}

/** One call as the gateway makes it: given up when nobody says that it is held, and ended until somebody says that it is. */
async function makeCall(at: TestBooks, caller: Caller, told: Told, units: number): Promise<void> {
  const callId = at.newId("call");
  const { ledger } = at.store();
  const held = await at.hold(caller, { callId }).catch((error: unknown) => {
    if (!isNotTold(error)) throw error;
    return undefined;
  });
  if (!held) {
    told.givenUp.push(callId);
    const { state } = await insist(() => ledger.release(releaseOf(callId, { outcome: "unknown" })));
    expect(state).toBe("released");
    return;
  }
  expect(held).toEqual({ kind: "held" });
  ledger.markDispatched(callId, middayMs);
  await Bun.sleep(units % 20);
  const { state, chargedMicros } = await insist(() => ledger.settle(settlementOf(callId, { units })));
  // Anything else would mean that another process took the call from a caller that lives.
  expect({ callId, state, chargedMicros }).toEqual({
    callId,
    state: "settled",
    chargedMicros: BigInt(units),
  });
  told.charged.set(callId, chargedMicros);
}

/** Many callers at all nodes, for as long as `harm` takes; then what they were told is what the books say. */
async function keepPromisesWhile(
  { url, nodes, node }: TestNodes,
  { callers: callersInAll }: { readonly callers: number },
  harm: (told: Told) => Promise<void>,
): Promise<Told> {
  const caller = await node(0).openCaller({ creditMicros: 100_000_000n });
  const told: Told = { charged: new Map(), givenUp: [] };
  const random = createRandom(7);
  let isOver = false;
  const making = Promise.all(
    Array.from({ length: callersInAll }, async (_, n) => {
      while (!isOver) await makeCall(node(n), caller, told, 1 + random(100));
    }),
  );
  try {
    await Promise.race([harm(told), making]);
  } finally {
    isOver = true;
  }
  await making;

  const micros = [...told.charged.values()].reduce((sum, each) => sum + each, 0n);
  expect(await node(0).balance(caller)).toEqual({ posted: 100_000_000n - micros, held: 0n });
  const booked: unknown = await inDatabase(url, (sql) =>
    sql`SELECT id, charged_micros FROM call WHERE state = 'settled' ORDER BY id`.values(),
  );
  expect(booked).toEqual([...told.charged].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  expect(nodes.length > 0 && (await countEndedRuns(url))).toBe(0);
  return told;
}

describe("a server that goes away and comes back", () => {
  test("loses nothing that was told, leaves nothing held, and makes no living node dead", async () => {
    const url = await newDatabase();
    await withNodes({ url, count: 2, deadAfterMs: 1_500 }, async (nodes) => {
      const { charged } = await keepPromisesWhile(nodes, { callers: 200 }, async () => {
        // The last time for longer than it takes to be dead.
        for (const awayMs of [0, 300, 700, 2_600]) {
          await Bun.sleep(500);
          await server.stopHard();
          await Bun.sleep(awayMs);
          await server.start();
        }
        await Bun.sleep(1_000);
      });
      expect(charged.size).toBeGreaterThan(500);
    });
  });
});

describe("a server whose commits wait for nothing by default", () => {
  test("loses nothing that was told when it crashes", async () => {
    const hasty = await startPrivatePostgres();
    try {
      await inDatabase(hasty.url, async (sql) => {
        await sql.unsafe("ALTER DATABASE postgres SET synchronous_commit = off");
        // So long nothing is written that nobody waits for.
        await sql.unsafe("ALTER SYSTEM SET wal_writer_delay = '10s'");
        await sql.unsafe("SELECT pg_reload_conf()");
      });
      await withNodes({ url: hasty.url, count: 1 }, async ({ node }) => {
        const caller = await node(0).openCaller();
        const callId = await node(0).held(caller);
        const { chargedMicros } = await node(0).settle(callId, { units: 40 });
        await hasty.stopHard();
        await hasty.start();
        const receipt = await insist(() => node(0).receipt(caller, callId));
        expect(receipt).toMatchObject({ state: "settled", chargedMicros });
      });
    } finally {
      await hasty.close();
    }
  });

  test("waits for the disk, and one that waits for replicas goes on doing so", async () => {
    for (const [asked, kept] of [
      ["off", "on"],
      ["local", "local"],
      ["remote_apply", "remote_apply"],
    ] as const) {
      const url = await newDatabase();
      const { pathname } = new URL(url);
      await inDatabase(url, (sql) =>
        sql.unsafe(`ALTER DATABASE ${pathname.slice(1)} SET synchronous_commit = ${asked}`),
      );
      const db = openDatabase({ url, monotonicMs: () => performance.now() });
      try {
        const look = async (query: Query): Promise<unknown> => {
          const [shown] = await query<{ setting: string }>(
            "SELECT current_setting('synchronous_commit') AS setting",
          );
          return shown?.setting;
        };
        expect([asked, await db.write(look)]).toEqual([asked, kept]);
        const decided = db.decide(async (query) => ({ result: await look(query), writes: [] }));
        expect([asked, await decided]).toEqual([asked, kept]);
      } finally {
        await db.close();
      }
    }
  });
});

test("sessions that are killed at random lose nothing that was told, and leave nothing held", async () => {
  const url = await newDatabase();
  await withNodes({ url, count: 2, deadAfterMs: 1_500 }, async (nodes) => {
    const { charged } = await keepPromisesWhile(nodes, { callers: 60 }, () =>
      inDatabase(server.url, async (sql) => {
        for (let kills = 0; kills < 60; kills++) {
          await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE application_name = 'tollgate' ORDER BY random() LIMIT 3`;
          await Bun.sleep(50);
        }
      }),
    );
    expect(charged.size).toBeGreaterThan(200);
  });
});

describe("a server that stops answering", () => {
  test("keeps whoever wants to hold no longer than two seconds, and what they gave up is not held after", async () => {
    const url = await newDatabase();
    await withNodes({ url, count: 2 }, async ({ nodes, node }) => {
      const caller = await node(0).openCaller();
      const running = await Promise.all([node(0).held(caller), node(1).held(caller)]);
      server.freeze();
      try {
        const beganMs = performance.now();
        const givenUp = Array.from({ length: 40 }, (_, n) => node(n).newId("call"));
        const failures = await Promise.all(
          givenUp.map((callId, n) => settled(node(n).hold(caller, { callId }))),
        );
        const waitedMs = performance.now() - beganMs;
        expect(failures.map(isNotTold)).toEqual(failures.map(() => true));
        expect(waitedMs).toBeGreaterThan(1_500);
        expect(waitedMs).toBeLessThan(3_500);

        const ends = Promise.all([
          ...givenUp.map((callId, n) =>
            node(n)
              .store()
              .ledger.release(releaseOf(callId, { outcome: "unknown" })),
          ),
          ...running.map((callId, n) => node(n).settle(callId, { units: 10 })),
        ]);
        await Bun.sleep(1_500);
        server.thaw();
        const told = await ends;
        for (const { state, first } of told.slice(givenUp.length))
          expect({ state, first }).toEqual({ state: "settled", first: true });
      } finally {
        server.thaw();
      }
      expect(await node(0).balance(caller)).toEqual({ posted: 999_980n, held: 0n });
      // Nothing comes late, either.
      await Bun.sleep(500);
      expect(await node(1).balance(caller)).toEqual({ posted: 999_980n, held: 0n });
      for (const books of nodes) await books.held(caller);
    });
  });
});

describe("a commit that breaks off", () => {
  test("and was the hold of a node that was taken for dead meanwhile lets nothing be sent", () =>
    withCable(async ({ cable, far, near, caller, url }) => {
      const callId = far.newId("call");
      cable.spoilCommit(callId, "unanswered", "cut");
      const holding = settled(far.hold(caller, { callId }));
      await waitUntil(async () => (await countRows(url, "call")) === 1, 1_000);
      await endNewestRun(url);
      await waitUntil(async () => (await near.receipt(caller, callId)).state === "released", 1_000);
      cable.mend();
      expect(String(await holding)).toContain("run that has ended");
      expect((await near.balance(caller)).held).toBe(0n);
    }, 1_500));

  test("and was that of a vendor's word about a new task is written again", () =>
    withCable(async ({ cable, far, near, caller }) => {
      for (const fate of ["lost", "unanswered"] as const) {
        const id = far.newId("task");
        await far.held(caller, {
          task: { id, expected: { units: 10 }, deadlineAtMs: middayMs + dayMs, openMax: 100 },
        });
        cable.spoilCommit(id, fate);
        await beginTask(far, id);
        expect(await stateOf(near, caller, id)).toBe("PENDING");
      }
    }));

  test("and cannot be repeated is told as doubtful, and not tried twice", () =>
    withCable(async ({ cable, far, near }) => {
      const account = { id: "acc_doubtful", name: "test", tier: "free", creditMicros: 5n } as const;
      cable.spoilCommit(account.id, "unanswered");
      const opening = far
        .store()
        .accounts.create({ ...account, planMultiplierPpm: 1_000_000n, nowMs: middayMs });
      expect(await settled(opening)).toBeInstanceOf(InDoubt);
      expect(await near.store().accounts.find(account.id)).toMatchObject({ postedMicros: 5n });
    }));

  test.each(["lost", "unanswered"] as const)("and is %s is asked about again, and done once", (fate) =>
    withCable(async ({ cable, far, near, caller }) => {
      const callId = far.newId("call");
      cable.spoilCommit(callId, fate);
      await far.held(caller, { callId });
      expect(await near.balance(caller)).toEqual({ posted: 1_000_000n, held: 100n });
      cable.spoilCommit(callId, fate);
      expect(await far.settle(callId, { units: 40 })).toMatchObject({
        state: "settled",
        chargedMicros: 40n,
      });
      expect(await near.balance(caller)).toEqual({ posted: 999_960n, held: 0n });
    }),
  );

  test("and arrives when its caller has given up leaves nothing held behind their release", () =>
    withCable(async ({ cable, far, near, caller }) => {
      const callId = far.newId("call");
      cable.spoilCommit(callId, "kept");
      expect(await settled(far.hold(caller, { callId }))).toBeInstanceOf(InDoubt);
      cable.cut();
      cable.mend();
      const releasing = far.release(callId, { outcome: "unknown" });
      await Bun.sleep(300);
      expect(await near.balance(caller)).toEqual({ posted: 1_000_000n, held: 0n });
      cable.deliver();
      expect(await releasing).toMatchObject({ first: true, state: "released" });
      expect(await near.balance(caller)).toEqual({ posted: 1_000_000n, held: 0n });
    }));
});

test("an end that is asked for while a note cannot be written is not forgotten with it", () =>
  withCable(async ({ cable, far, near, caller }) => {
    const callId = await far.held(caller);
    cable.spoilCommit(callId, "kept");
    far.store().ledger.noteProgress(callId, { units: 5 });
    // Nothing but the note is under way by then, and nothing comes after the end.
    await Bun.sleep(400);
    const settling = far.settle(callId, { units: 10 });
    await Bun.sleep(50);
    cable.cut();
    cable.deliver();
    cable.mend();
    const told = await Promise.race([settling, Bun.sleep(3_000)]);
    expect(told).toMatchObject({ first: true, chargedMicros: 10n });
    expect(await near.balance(caller)).toEqual({ posted: 999_990n, held: 0n });
  }));

test("a process that stood still is not told that it holds what others may have given back meanwhile", async () => {
  const url = await newDatabase();
  let [aheadMs, standsStillMs] = [0, 0];
  const clock = { wallMs: () => Date.now(), monotonicMs: () => performance.now() + aheadMs };
  await withNodes({ url, count: 1 }, async ({ node }) => {
    const caller = await node(0).openCaller();
    const still = await openNode({
      url,
      name: "still_",
      clock,
      onCommit: () => void (aheadMs += standsStillMs),
    });
    try {
      await still.held(caller);
      standsStillMs = 60_000;
      const callId = still.newId("call");
      expect(await settled(still.hold(caller, { callId }))).toBeInstanceOf(InDoubt);
      expect(await still.release(callId, { outcome: "unknown" })).toMatchObject({ first: true });
      expect((await node(0).balance(caller)).held).toBe(100n);
    } finally {
      await still.store().close();
    }
  });
});

test("a server that takes no writes any more is left, until there is one that does", async () => {
  const url = await newDatabase();
  const setReadOnly = (value: "on" | "off") =>
    inDatabase(server.url, (sql) =>
      sql.unsafe(
        `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = ${value}`,
      ),
    );
  await withNodes({ url, count: 1 }, async ({ node }) => {
    const caller = await node(0).openCaller();
    const running = await node(0).held(caller);
    // As after a fail-over: what was connected is not any more, and the address leads to one that only listens.
    await setReadOnly("on");
    await inDatabase(
      server.url,
      (sql) =>
        sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${new URL(url).pathname.slice(1)}`,
    );
    const settling = node(0).settle(running, { units: 1 });
    expect(await settled(node(0).hold(caller))).toBeInstanceOf(StoreBusy);
    expect(await settled(node(0).store().ping())).toBeInstanceOf(StoreBusy);
    await setReadOnly("off");
    // Nobody breaks these connections; they are known to be of no use.
    expect(await settling).toMatchObject({ first: true });
    await node(0).held(caller);
    await node(0).store().ping();
  });
});

test("an account that somebody locks for long again and again loses nothing that was told, and leaves nothing held", async () => {
  const url = await newDatabase();
  await withNodes({ url, count: 2 }, async (nodes) => {
    const { charged, givenUp } = await keepPromisesWhile(nodes, { callers: 60 }, () =>
      inDatabase(url, async (sql) => {
        for (const lockedMs of [2_600, 2_800, 2_600]) {
          await sql.begin(async (transaction) => {
            await transaction`SELECT id FROM account FOR UPDATE`;
            await Bun.sleep(lockedMs);
          });
          await Bun.sleep(150);
        }
      }),
    );
    expect(charged.size).toBeGreaterThan(100);
    expect(givenUp.length).toBeGreaterThan(10);
  });
});

test("an account that a stopped node has locked keeps nobody waiting but its own callers", () =>
  withCable(async ({ cable, far, near, caller }) => {
    const others = await Promise.all([near.openCaller(), near.openCaller()]);
    const running = await near.held(caller);
    const callId = far.newId("call");
    cable.spoilCommit(callId, "kept");
    const stopped = settled(far.hold(caller, { callId }));
    await Bun.sleep(100);

    const beganMs = performance.now();
    const [kept, ...passed] = await Promise.all([
      settled(near.hold(caller)),
      ...others.map((other) => near.hold(other)),
    ]);
    expect(passed).toEqual([{ kind: "held" }, { kind: "held" }]);
    const isEnded = near.settle(running, { units: 10 });
    for (const other of others) {
      const askedMs = performance.now();
      await near.held(other);
      expect(performance.now() - askedMs).toBeLessThan(500);
    }
    expect(isNotTold(kept)).toBe(true);
    expect(performance.now() - beganMs).toBeLessThan(3_500);
    cable.deliver();
    expect(await isEnded).toMatchObject({ first: true, chargedMicros: 10n });
    expect(isNotTold(await stopped)).toBe(true);
  }));

describe("a node that dies", () => {
  const deadAfterMs = 1_500;

  test("leaves nothing that others do not end, and nothing of theirs is touched", () =>
    withCable(async ({ cable, far, near, caller, url }) => {
      const budgeted = await near.openKey(caller, { budget: { limitMicros: 5_000n, window: "day" } });
      const [held, stream] = [await far.held(budgeted), await far.held(budgeted)];
      far.store().ledger.noteProgress(stream, { units: 30 });
      const left = await beginTasks(far, caller);
      const [ours, ourStream] = [await near.held(caller), await near.held(caller)];
      near.store().ledger.noteProgress(ourStream, { units: 30 });
      const kept = await beginTasks(near, caller);
      await waitUntil(async () => (await countRows(url, "call WHERE progress IS NOT NULL")) === 2, 2_000);

      cable.cut();
      const cutMs = performance.now();
      const isEnded = async (): Promise<boolean> => (await near.receipt(caller, held)).state === "released";
      await Bun.sleep(deadAfterMs - 500);
      expect(await isEnded()).toBe(false);
      await waitUntil(isEnded, 3_000);
      expect(performance.now() - cutMs).toBeLessThan(deadAfterMs + 1_500);

      await waitUntil(async () => (await stateOf(near, caller, left.creating)) === "LOST", 1_000);
      expect(await near.receipt(caller, held)).toMatchObject({ outcome: "unknown", chargedMicros: 0n });
      expect(await near.receipt(caller, stream)).toMatchObject({
        state: "settled",
        outcome: "unknown",
        usageSource: "estimated",
        chargedMicros: 30n,
      });
      // What its vendor has goes on, and whoever comes next may ask about it at once.
      expect(await stateOf(near, caller, left.running)).toBe("PENDING");
      expect(await claim(near, left.running)).toBe(true);

      for (const callId of [ours, ourStream]) expect((await near.receipt(caller, callId)).state).toBe("held");
      expect(await stateOf(near, caller, kept.creating)).toBe("CREATING");
      expect(await claim(near, kept.running)).toBe(false);
      expect(await near.settle(ours, { units: 10 })).toMatchObject({ first: true, chargedMicros: 10n });
      expect(await countEndedRuns(url)).toBe(1);

      cable.mend();
      // It was only away. What it ends now has ended, and from now on it holds again.
      expect(await far.settle(held, { units: 10 })).toMatchObject({ first: false, state: "released" });
      expect(await far.settle(await far.held(caller), { units: 5 })).toMatchObject({
        first: true,
        chargedMicros: 5n,
      });
    }, deadAfterMs));

  test("after it found another one dead leaves that one's tasks to whoever is left", () =>
    withCable(async ({ far, near, caller, url }) => {
      const left = await beginTasks(far, caller);
      await inDatabase(
        url,
        (sql) => sql`UPDATE run SET ended_at_ms = 1 WHERE id = (SELECT max(id) FROM run)`,
      );
      await waitUntil(async () => (await stateOf(near, caller, left.creating)) === "LOST", 2_000);
      expect(await claim(near, left.running)).toBe(true);
    }, deadAfterMs));

  test("in the eyes of another ends a task that it never sent, also when that one took it for lost", () =>
    withCable(async ({ far, near, caller, url }) => {
      const task = {
        id: far.newId("task"),
        expected: { units: 10 },
        deadlineAtMs: middayMs + dayMs,
        openMax: 1,
      };
      const callId = await far.held(caller, { task });
      await endNewestRun(url);
      await waitUntil(async () => (await stateOf(near, caller, task.id)) === "LOST", 2_000);
      const ended = await far.store().ledger.release({ ...releaseOf(callId), abandonsTask: true });
      expect(ended).toMatchObject({ first: true, state: "released" });
      expect(await stateOf(near, caller, task.id)).toBe("REFUSED");
    }, deadAfterMs));

  test("in the eyes of another, and lives, goes on as somebody new, and its calls end once", () =>
    withCable(async ({ far, near, caller, url }) => {
      const running = await Promise.all(Array.from({ length: 20 }, () => far.held(caller)));
      await inDatabase(
        url,
        (sql) => sql`UPDATE run SET ended_at_ms = 1 WHERE id = (SELECT max(id) FROM run)`,
      );
      const [ends, held] = await Promise.all([
        Promise.all(running.map((callId) => far.settle(callId, { units: 10 }))),
        far.held(caller),
      ]);
      const charged = ends.filter(({ first }) => first).length;
      for (const { first, state, chargedMicros } of ends)
        expect({ state, chargedMicros }).toEqual(
          first ? { state: "settled", chargedMicros: 10n } : { state: "released", chargedMicros: 0n },
        );
      // What it holds from then on stays its own, for longer than the others are patient.
      await Bun.sleep(2 * deadAfterMs);
      expect((await near.receipt(caller, held)).state).toBe("held");
      expect(await near.balance(caller)).toEqual({ posted: 1_000_000n - 10n * BigInt(charged), held: 100n });
      expect(await countEndedRuns(url)).toBe(1);
    }, deadAfterMs));

  test("is not who waits for the account of one that did", async () => {
    const url = await newDatabase();
    await withNodes({ url, count: 1, deadAfterMs }, async ({ node }) => {
      const caller = await node(0).openCaller();
      await node(0).held(caller);
      const [ours, monotonicMs] = [await node(0).openCaller(), () => performance.now()];
      const db = openDatabase({ url, monotonicMs });
      const watcher = createRuns({ db, wallMs: () => 1, monotonicMs, deadAfterMs });
      try {
        await inDatabase(url, (sql) =>
          sql.begin(async (transaction) => {
            await transaction`SELECT id FROM account WHERE id = ${caller.accountId} FOR UPDATE`;
            await endNewestRun(url);
            const running = await node(0).held(ours);
            for (let looks = 0; looks < 20; looks++) {
              expect(await watcher.beat()).toBe(false);
              await Bun.sleep(deadAfterMs / 7.5);
            }
            expect((await node(0).receipt(ours, running)).state).toBe("held");
          }),
        );
        await waitUntil(async () => (await node(0).balance(caller)).held === 0n, 2_000);
      } finally {
        await db.close();
      }
    });
  });

  test("in the eyes of another is somebody new also when it has nothing to do", () =>
    withCable(async ({ far, caller, url }) => {
      await inDatabase(
        url,
        (sql) => sql`UPDATE run SET ended_at_ms = 1 WHERE id = (SELECT max(id) FROM run)`,
      );
      await waitUntil(async () => (await countRows(url, "run")) === 3, 2_000);
      const tasks = await beginTasks(far, caller);
      await Bun.sleep(500);
      expect(await stateOf(far, caller, tasks.creating)).toBe("CREATING");
    }, deadAfterMs));
});

test("a quiet node whose connections were all forgotten on the way is not taken for dead while new ones pass", () => {
  const deadAfterMs = 4_000;
  return withCable(async ({ cable, far, near, caller, url }) => {
    // As many connections as it may have.
    await Promise.all(Array.from({ length: 20 }, () => far.balance(caller)));
    const running = await far.held(caller);
    cable.forget();
    await Bun.sleep(2 * deadAfterMs);
    expect((await near.receipt(caller, running)).state).toBe("held");
    expect(await countEndedRuns(url)).toBe(0);
    // It need not find out for each of them by waiting.
    cable.cut();
    cable.mend();
    expect(await insist(() => far.settle(running, { units: 10 }))).toMatchObject({ chargedMicros: 10n });
  }, deadAfterMs);
}, 30_000);

test("a full disk refuses holds as such, writes nothing of them, and takes ends again when there is room", async () => {
  const url = await newDatabase();
  await withNodes({ url, count: 1 }, async ({ node }) => {
    const caller = await node(0).openCaller();
    const running = await node(0).held(caller);
    await inDatabase(url, async (sql) => {
      await sql.unsafe(`
        CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`);
      await sql.unsafe("CREATE TRIGGER no_room BEFORE INSERT OR UPDATE ON call EXECUTE FUNCTION no_room()");
    });
    const refused = await Promise.all(Array.from({ length: 5 }, () => settled(node(0).hold(caller))));
    for (const error of refused) expect(error).toBeInstanceOf(StoreFull);
    expect(await settled(node(0).settle(running, { units: 1 }))).toBeInstanceOf(StoreFull);
    expect(await node(0).balance(caller)).toEqual({ posted: 1_000_000n, held: 100n });
    await inDatabase(url, (sql) => sql.unsafe("DROP TRIGGER no_room ON call"));
    expect(await node(0).settle(running, { units: 1 })).toMatchObject({ first: true, chargedMicros: 1n });
  });
});

/** A node at the end of a cable, and one that nothing happens to. */
async function withCable(
  run: (parts: {
    readonly cable: Cable;
    readonly far: TestBooks;
    readonly near: TestBooks;
    readonly caller: Caller;
    readonly url: string;
  }) => Promise<void>,
  deadAfterMs?: number,
): Promise<void> {
  const url = await newDatabase();
  const cable = await openCable(url);
  const options = { url, count: 1, ...(deadAfterMs === undefined ? {} : { deadAfterMs }) };
  try {
    await withNodes(options, async ({ node }) => {
      const far = await openNode({ url: cable.url, name: "far_", deadAfterMs });
      try {
        await run({ cable, far, near: node(0), caller: await node(0).openCaller(), url });
      } finally {
        cable.mend();
        await far.store().close();
      }
    });
  } finally {
    await cable.close();
  }
}

const dayMs = 24 * 60 * 60_000;
const leaseMs = 30_000;

/** A task that is being created, and one that its vendor has and that the node has claimed. */
async function beginTasks(at: TestBooks, caller: Caller): Promise<{ creating: string; running: string }> {
  const [creating, running] = [at.newId("task"), at.newId("task")];
  for (const id of [creating, running])
    await at.held(caller, {
      task: { id, expected: { units: 10 }, deadlineAtMs: middayMs + dayMs, openMax: 100 },
    });
  await beginTask(at, running);
  expect(await claim(at, running)).toBe(true);
  return { creating, running };
}

const beginTask = (at: TestBooks, taskId: string): Promise<void> =>
  at.store().tasks.begin({
    taskId,
    upstream: "vendor",
    upstreamTaskId: `v-${taskId}`,
    state: "PENDING",
    attempts: [],
    askedAtMs: middayMs,
    nextPollAtMs: middayMs,
  });

const claim = async (at: TestBooks, taskId: string): Promise<boolean> =>
  (await at.store().tasks.claim({ taskId, nowMs: middayMs, leaseMs, notAskedSinceMs: middayMs })) !==
  undefined;

const stateOf = async (at: TestBooks, { accountId }: Caller, taskId: string): Promise<string | undefined> =>
  (await at.store().tasks.find(accountId, taskId))?.state;

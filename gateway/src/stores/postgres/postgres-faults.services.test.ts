// What the Postgres ledger promises when the server goes away, stops answering, kills sessions or is full. Every test ends with
// an audit of the books.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startPrivatePostgres } from "../../../../test/services/postgres.ts";
import {
  createRandom,
  openNode,
  waitUntil,
  withNodes,
  type TestNodes,
} from "../../../../test/services/postgres-nodes.ts";
import { InDoubt, StoreBusy, StoreFull, StoreRefuses } from "../../ledger/store-errors.ts";
import {
  middayMs,
  releaseOf,
  settlementOf,
  type Caller,
  type TestBooks,
} from "../../ledger/conformance/shared-conformance.ts";
import { applicationOf } from "../../ledger/conformance/test-application.ts";
import { attemptOf } from "../../links/test-link-attempt.ts";
import { openDatabase } from "./server/database.ts";
import { countEndedRuns, countRows, inDatabase, insist, isNotTold, settled } from "./test-faults.ts";
import type { Query } from "./server/query.ts";

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

/** What a caller has been told of the calls it made. */
interface ToldCalls {
  /** Micros that settlements said were charged, by call. */
  readonly charged: Map<string, bigint>;
  readonly givenUp: string[];
}

/** One call as the gateway makes it: given up when nobody says that it is held, and ended until somebody says that it is. */
async function makeCall(at: TestBooks, caller: Caller, told: ToldCalls, units: number): Promise<void> {
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
  harm: (told: ToldCalls) => Promise<void>,
): Promise<ToldCalls> {
  const caller = await node(0).openCaller({ creditMicros: 100_000_000n });
  const told: ToldCalls = { charged: new Map(), givenUp: [] };
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

  test("keeps whoever reads no longer than two seconds, however many do, and reading goes on after", async () => {
    const url = await newDatabase();
    await withNodes({ url, count: 1 }, async ({ node }) => {
      const caller = await node(0).openCaller();
      const store = node(0).store();
      const kinds = [
        () => store.keys.findCredential(new Uint8Array(32), middayMs),
        () => node(0).wouldHold(caller),
        store.ping,
      ];
      const asks = Array.from({ length: 20 }, () => kinds).flat();
      await Promise.all(asks.map((ask): Promise<unknown> => ask()));
      for (const { told, tookMs } of await askFrozen(asks)) {
        expect(told).toBeInstanceOf(StoreBusy);
        expect(tookMs).toBeLessThan(3_500);
      }
      await insist(() => Promise.all(asks.map((ask): Promise<unknown> => ask())));
    });
  });

  test("keeps whoever writes no longer than two seconds, whatever they write, and what was refused is not written", async () => {
    const url = await newDatabase();
    await withNodes({ url, count: 1 }, async ({ node }) => {
      const caller = await node(0).openCaller();
      const { quotas, links, keptAnswers, tasks } = node(0).store();
      let ids = 0;
      const kinds = [
        () => quotas.file(applicationOf(caller, `application_${++ids}`)),
        () => links.begin(attemptOf(caller, `state_${++ids}`)),
        () =>
          keptAnswers.keep(
            {
              accountId: caller.accountId,
              upstream: "vendor",
              idHashes: [new TextEncoder().encode(`answer_${++ids}`)],
              untilMs: middayMs + 1_000,
            },
            middayMs,
          ),
        () => tasks.hurry(`task_${++ids}`, middayMs),
      ];
      const asks = Array.from({ length: 8 }, () => kinds).flat();
      await Promise.all(kinds.map((ask): Promise<unknown> => ask()));
      const countWritten = async (): Promise<number> => {
        const counts = ["quota_application", "link_attempt", "kept_answer"].map((table) =>
          countRows(url, table),
        );
        return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
      };
      const before = await countWritten();
      for (const { told, tookMs } of await askFrozen(asks)) {
        // No commit was on its way when the server stopped.
        expect(told).toBeInstanceOf(StoreBusy);
        expect(tookMs).toBeLessThan(3_500);
      }
      // Nothing comes late, either.
      await Bun.sleep(500);
      expect(await countWritten()).toBe(before);
      for (const ask of kinds) await insist<unknown>(ask);
      expect(await countWritten()).toBe(before + 3);
    });
  });

  test("keeps a node that stops no longer than a few seconds, and others end what it could not", async () => {
    const url = await newDatabase();
    await withNodes({ url, count: 1, deadAfterMs: 1_500 }, async ({ node }) => {
      const caller = await node(0).openCaller();
      const stopping = await openNode({ url, name: "stopping_", deadAfterMs: 1_500 });
      const running = await stopping.held(caller);
      let isClosed = false;
      const endAgainAndAgain = async (): Promise<void> => {
        for (; !isClosed; await Bun.sleep(100)) stopping.settle(running, { units: 10 }).catch(() => {});
      };
      server.freeze();
      try {
        const ending = endAgainAndAgain();
        const beganMs = performance.now();
        await stopping.store().close();
        const closedAfterMs = performance.now() - beganMs;
        isClosed = true;
        await ending;
        expect(closedAfterMs).toBeLessThan(6_000);
      } finally {
        isClosed = true;
        server.thaw();
      }
      await waitUntil(async () => (await node(0).balance(caller)).held === 0n, 10_000);
    });
  });
});

test("a list may take longer to read, and a command to write, than a caller waits for anything else", async () => {
  const db = openDatabase({ url: server.url, monotonicMs: () => performance.now() });
  try {
    const slow = "SELECT pg_sleep(2.5)";
    const [list, one, command, written] = await Promise.all([
      settled(db.readPatiently(slow)),
      settled(db.read(slow)),
      settled(db.writePatiently((query) => query(slow))),
      settled(db.write((query) => query(slow))),
    ]);
    expect([list, command]).toEqual([[expect.anything()], [expect.anything()]]);
    for (const told of [one, written]) expect(told).toBeInstanceOf(StoreBusy);
  } finally {
    await db.close();
  }
});

/** Asks a server that has stopped, one after the other, and says what each was told, and after how long. */
async function askFrozen(
  asks: readonly (() => Promise<unknown>)[],
): Promise<readonly { readonly told: unknown; readonly tookMs: number }[]> {
  const timed = async (asked: () => Promise<unknown>, afterMs: number) => {
    await Bun.sleep(afterMs);
    const beganMs = performance.now();
    const told = await settled(asked());
    return { told, tookMs: performance.now() - beganMs };
  };
  server.freeze();
  try {
    // The first find connections that are frozen, all others none that is free, or none that comes about.
    return await Promise.all(asks.map((ask, n) => timed(ask, n * 40)));
  } finally {
    server.thaw();
  }
}

test("a read whose time was over before it had a connection is given up without a word to the operator's terminal", async () => {
  const warnings: string[] = [];
  const note = ({ name }: Error): void => void warnings.push(name);
  process.on("warning", note);
  let nowMs = 0;
  const db = openDatabase({ url: server.url, monotonicMs: () => (nowMs += 3_000) });
  try {
    expect(await settled(db.read("SELECT 1"))).toBeInstanceOf(StoreBusy);
    await Bun.sleep(10);
    expect(warnings).toEqual([]);
  } finally {
    process.off("warning", note);
    await db.close();
  }
});

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

/** The same database for somebody who owns it, and is let in and may do no more than the server says. */
async function newOwner(url: string, name: string): Promise<string> {
  await inDatabase(url, async (sql) => {
    await sql.unsafe(`CREATE ROLE ${name} LOGIN`);
    await sql.unsafe(`ALTER DATABASE ${new URL(url).pathname.slice(1)} OWNER TO ${name}`);
  });
  const owned = new URL(url);
  owned.username = name;
  return owned.href;
}

test("a server that lets a node in no more refuses at once what is read and held, until it does again", async () => {
  const url = await newDatabase();
  await withNodes({ url: await newOwner(url, "banned"), count: 1 }, async ({ node }) => {
    const caller = await node(0).openCaller();
    await inDatabase(url, async (sql) => {
      await sql.unsafe("ALTER ROLE banned NOLOGIN");
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'banned'`;
    });
    const beganMs = performance.now();
    const asked = [node(0).balance(caller), node(0).hold(caller), node(0).store().ping()];
    for (const told of await Promise.all(asked.map(settled))) expect(told).toBeInstanceOf(StoreRefuses);
    expect(performance.now() - beganMs).toBeLessThan(1_500);
    await inDatabase(url, (sql) => sql.unsafe("ALTER ROLE banned LOGIN"));
    await node(0).held(caller);
    await node(0).store().ping();
  });
});

test("a server that takes no signs of life is not ready, though it answers every question", async () => {
  const url = await newDatabase();
  await withNodes({ url: await newOwner(url, "poor"), count: 1, deadAfterMs: 1_500 }, async ({ node }) => {
    const isReady = async () => (await settled(node(0).store().ping())) === undefined;
    expect(await isReady()).toBe(true);
    await inDatabase(url, (sql) => sql.unsafe("REVOKE UPDATE ON run FROM poor"));
    await waitUntil(async () => !(await isReady()), 2_000);
    expect(await settled(node(0).store().ping())).toBeInstanceOf(StoreRefuses);
    await inDatabase(url, (sql) => sql.unsafe("GRANT UPDATE ON run TO poor"));
    await waitUntil(isReady, 2_000);
  });
});

describe("a server that has no connection left", () => {
  test("keeps no node from selling, and from showing that it lives, by the connections that it has", async () => {
    const url = await newDatabase();
    const crowded = await newOwner(url, "crowded");
    await withNodes({ url: crowded, count: 1, deadAfterMs: 1_500 }, async ({ node }) => {
      const caller = await node(0).openCaller();
      await inDatabase(url, async (sql) => {
        // As many as the node has for whatever comes; they are there first when the server is back.
        await sql.unsafe("ALTER ROLE crowded CONNECTION LIMIT 4");
        await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'crowded'`;
      });
      expect(await insist(() => node(0).balance(caller))).toMatchObject({ held: 0n });
      const callId = await node(0).held(caller);
      expect(await node(0).settle(callId, { units: 1 })).toMatchObject({ first: true });
      const beats = () =>
        inDatabase(url, async (sql) => {
          const [row] = await sql<{ beats: bigint }[]>`SELECT sum(beats)::bigint AS beats FROM run`;
          return row?.beats ?? 0n;
        });
      const before = await beats();
      await Bun.sleep(1_000);
      expect(await beats()).toBeGreaterThan(before);
    });
  });

  test("is the reason that is told to whoever waited in vain", async () => {
    const url = await newDatabase();
    await withNodes({ url: await newOwner(url, "shut_out"), count: 1 }, async ({ node }) => {
      const caller = await node(0).openCaller();
      await inDatabase(url, async (sql) => {
        await sql.unsafe("ALTER ROLE shut_out CONNECTION LIMIT 0");
        await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'shut_out'`;
      });
      for (const told of await Promise.all([node(0).hold(caller), node(0).balance(caller)].map(settled))) {
        expect(told).toBeInstanceOf(StoreBusy);
        expect(told).toHaveProperty("cause.message", 'too many connections for role "shut_out"');
      }
      await inDatabase(url, (sql) => sql.unsafe("ALTER ROLE shut_out CONNECTION LIMIT -1"));
    });
  });

  test("gets those back that a quiet node does not use", async () => {
    const url = await newDatabase();
    await withNodes({ url, count: 1, deadAfterMs: 60_000 }, async ({ node }) => {
      const caller = await node(0).openCaller();
      await node(0).held(caller);
      const connections = () =>
        countRows(server.url, `pg_stat_activity WHERE datname = '${new URL(url).pathname.slice(1)}'`);
      expect(await connections()).toBeGreaterThan(2);
      await waitUntil(async () => (await connections()) <= 1, 10_000);
      await node(0).held(caller);
    });
  });
});

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
    expect(await settled(node(0).store().ping())).toBeInstanceOf(StoreFull);
    expect(await node(0).balance(caller)).toEqual({ posted: 1_000_000n, held: 100n });
    await inDatabase(url, (sql) => sql.unsafe("DROP TRIGGER no_room ON call"));
    expect(await node(0).settle(running, { units: 1 })).toMatchObject({ first: true, chargedMicros: 1n });
    await node(0).store().ping();
  });
});

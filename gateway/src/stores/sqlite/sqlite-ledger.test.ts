import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { claimsConformance } from "../../ledger/conformance/claims-conformance.ts";
import { entriesConformance } from "../../ledger/conformance/entries-conformance.ts";
import { receiptsConformance } from "../../ledger/conformance/receipts-conformance.ts";
import { modelConformance } from "../../ledger/conformance/model-conformance.ts";
import type { Settlement } from "../../ledger/ledger.ts";
import {
  failureOf,
  middayMs,
  releaseOf,
  settlementOf,
  withBooks,
  type OpenStore,
} from "../../ledger/conformance/shared-conformance.ts";
import { oneKeyConformance } from "../../store/one-key-conformance.ts";
import { storeConformance } from "../../store/store-conformance.ts";
import { usageConformance } from "../../usage/usage-conformance.ts";
import { openSqliteStore, type SqliteStoreOptions } from "./sqlite-store.ts";
import { writeNewFile } from "./file/test-new-file.ts";

let newestPath = "";

const openStore: OpenStore = () => openWith({});
async function openWith(options: Partial<SqliteStoreOptions>): ReturnType<OpenStore> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-ledger-"));
  const path = join(folder, "tollgate.db");
  newestPath = path;
  writeNewFile(path);
  let store = openSqliteStore({ path, ...options });
  return {
    store,
    reopen: async () => {
      await store.close();
      return (store = openSqliteStore({ path, ...options }));
    },
    close: async () => {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

storeConformance("SQLite", openStore);

describe("SQLite, posting after 3 lines", () => modelConformance(() => openWith({ journalLinesMax: 3 }), 60));
describe("SQLite, with another process that posts whatever is written", () =>
  modelConformance(openWithRival, 60));

describe("SQLite, idempotency keys of which two are in memory", () =>
  claimsConformance(() => openWith({ claimsInMemoryMax: 2, journalLinesMax: 3 }), 80));
describe("SQLite, idempotency keys of all kinds, posting after 1 line", () =>
  oneKeyConformance(() => openWith({ journalLinesMax: 1, claimsInMemoryMax: 2 })));
describe("SQLite, idempotency keys beside another process that posts", () =>
  claimsConformance(openWithRival, 80));

// Few histories are long enough to be posted while they run; these are, all the time.
describe.each([1, 3])("SQLite, posting after %d lines", (journalLinesMax) => {
  usageConformance(() => openWith({ journalLinesMax }));
  receiptsConformance(() => openWith({ journalLinesMax }));
  entriesConformance(() => openWith({ journalLinesMax }));
});

describe("SQLite, looking at three calls for a page", () =>
  receiptsConformance(() => openWith({ journalLinesMax: 3, lookedThroughMax: 3 })));

test("SQLite: a page of calls that hardly any fit looks at so many and says where to go on", () =>
  withBooks(
    () => openWith({ journalLinesMax: 1, lookedThroughMax: 10 }),
    async (books) => {
      const caller = await books.openCaller();
      for (let made = 0; made < 45; made++) {
        await books.settle(await books.held(caller, { atMs: middayMs + made }), { units: 1 });
      }
      const none = { operationId: "nobody.asked", status: undefined, keyId: undefined, limit: 50 };
      let before: string | undefined;
      let pages = 0;
      do {
        const page = await books.store().calls.list(caller.accountId, { ...none, before });
        expect(page.calls).toEqual([]);
        before = page.nextBefore;
        pages++;
      } while (before !== undefined);
      // The newest may wait to be listed, and are looked at beside the others.
      expect(pages).toBeWithin(3, 6);
    },
  ));

/** A store beside which another one reads the books before each call ends, and so posts what the first has written. */
async function openWithRival(): ReturnType<OpenStore> {
  const opened = await openStore();
  const rival = openSqliteStore({ path: newestPath });
  const { ledger } = opened.store;
  const store = {
    ...opened.store,
    ledger: {
      ...ledger,
      settle: async (settlement: Settlement) => {
        await rival.accounts.list();
        return ledger.settle(settlement);
      },
    },
  };
  return { ...opened, store, close: () => rival.close().then(opened.close) };
}

test("SQLite: usage and lists are whole before and after posting", () =>
  withBooks(
    () => openWith({ journalLinesMax: 5 }),
    async (books) => {
      const caller = await books.openCaller({ creditMicros: 100_000n });
      const callIds: string[] = [];
      const today = (middayMs - (middayMs % 86_400_000)) / 1000;
      for (let ended = 1; ended <= 12; ended++) {
        const callId = await books.held(caller);
        callIds.unshift(callId);
        await books.settle(callId, { units: 60 });
        const { calls, usage, auditor } = books.store();
        const filter = { before: undefined, operationId: undefined, status: undefined, keyId: undefined };
        const listed = await calls.list(caller.accountId, { ...filter, limit: 50 });
        const daySums = await usage.sums({ accountId: caller.accountId, keyId: undefined }, [
          { width: "day", fromSeconds: today, toSeconds: today + 86_400 },
        ]);
        expect(listed.calls.map(({ id }) => id)).toEqual(callIds.toSorted().toReversed());
        expect(daySums.reduce((sum, { requests }) => sum + requests, 0)).toBe(ended);
        expect((await auditor.audit()).findings).toEqual([]);
      }
    },
  ));

describe("SQLite: what adds up to few rows is posted for more lines at once", () => {
  const waitingLines = (): number => {
    const db = new Database(newestPath, { readonly: true });
    const count = "SELECT coalesce(sum(json_array_length(lines)), 0) AS n FROM journal";
    const waiting = db.query<{ n: number }, []>(count).get()?.n ?? 0;
    db.close();
    return waiting;
  };

  test.each([
    { ended: "in one second", apartMs: 0, waiting: 2_200 },
    { ended: "each in a second of its own", apartMs: 1_000, waiting: 100 },
  ])("calls that ended $ended", ({ apartMs, waiting }) =>
    withBooks(openStore, async (books) => {
      const caller = await books.openCaller({ creditMicros: 1_000_000n });
      expect(waitingLines()).toBe(0);
      // A hundred share a commit.
      for (let hundred = 0; hundred < 11; hundred++) {
        const calls = Array.from({ length: 100 }, (_, at) => hundred * 100 + at);
        const callIds = await Promise.all(calls.map(() => books.held(caller, { amountMicros: 1n })));
        await Promise.all(
          calls.map((call, at) =>
            books.settle(callIds[at] ?? "", { units: 0 }, { atMs: middayMs + call * apartMs }),
          ),
        );
      }
      expect(waitingLines()).toBe(waiting);
    }),
  );

  test("but not calls that stay open, each of which is a row", () =>
    withBooks(openStore, async (books) => {
      const caller = await books.openCaller({ creditMicros: 1_000_000n });
      for (let hundred = 0; hundred < 22; hundred++)
        await Promise.all(Array.from({ length: 100 }, () => books.held(caller, { amountMicros: 1n })));
      expect(waitingLines()).toBeLessThan(2_200);
    }));
});

describe("SQLite, of whose idempotency keys four have a place in memory", () => {
  const claimOf = (key: string) => ({
    keyHash: new TextEncoder().encode(`hash of ${key}`),
    fingerprint: new TextEncoder().encode("request"),
  });
  /** What finds no place in memory stands in a table of its own. */
  const placesOf = (): unknown[] => {
    const db = new Database(newestPath, { readonly: true });
    const counts = ["claim", "idempotency"].map((table) =>
      db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get(),
    );
    db.close();
    return counts.map((row) => row?.n);
  };

  test("those that were freed keep none", () =>
    withBooks(
      () => openWith({ claimsInMemoryMax: 4, journalLinesMax: 1 }),
      async (books) => {
        const caller = await books.openCaller();
        for (let time = 1; time <= 6; time++) {
          const callId = await books.held(caller, { idempotency: claimOf(`freed ${time}`) });
          const freed = { accountId: caller.accountId, keyHash: claimOf(`freed ${time}`).keyHash };
          await books.store().ledger.release({ ...releaseOf(callId), freed });
        }
        for (let time = 1; time <= 4; time++)
          await books.held(caller, { idempotency: claimOf(`kept ${time}`) });
        expect(placesOf()).toEqual([4, 0]);
      },
    ));

  test("those whose transaction was rolled back have one, not two", () =>
    withBooks(
      () => openWith({ claimsInMemoryMax: 4 }),
      async (books) => {
        const caller = await books.openCaller();
        for (let time = 1; time <= 4; time++) {
          const callId = await books.held(caller, { idempotency: claimOf(`kept ${time}`) });
          const [settled, failure] = await Promise.all([
            books.settle(callId, { units: 1 }),
            failureOf(books.hold(caller, { amountMicros: -1n })),
          ]);
          expect([settled.first, failure]).toEqual([true, "Error: A hold cannot be negative."]);
        }
        expect(placesOf()).toEqual([4, 0]);
      },
    ));
});

test("SQLite: a run on holds that do not add up is refused, and nothing is held in it", () =>
  withBooks(openStore, async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    await books.reopen();
    const db = new Database(newestPath);
    const setHeld = (micros: number) => db.run(`UPDATE account SET held_micros = ${micros}`);
    setHeld(7);
    const sentence = `Account ${caller.accountId}: held 7, open calls hold 0. Run "tollgate audit"`;
    expect(await failureOf(books.store().ledger.beginRun(1))).toContain(sentence);
    expect(await failureOf(books.hold(caller))).toContain("before the run has begun");
    setHeld(0);
    db.close();
    await books.store().ledger.beginRun(2);
    expect(await books.hold(caller)).toEqual({ kind: "held" });
  }));

test("SQLite: a call that somebody else has ended is not ended again from memory", () =>
  withBooks(openStore, async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const callId = await books.held(caller);
    const other = openSqliteStore({ path: newestPath });
    expect(await other.ledger.beginRun(middayMs)).toMatchObject({ releasedCalls: 1 });
    await other.close();
    // With another hold on the account no constraint of its row would notice that the first one ends twice.
    await books.held(caller);
    expect(await books.settle(callId, { units: 60 })).toMatchObject({ first: false, state: "released" });
    expect((await books.store().auditor.audit()).findings).toEqual([]);
  }));

test("SQLite: what a process that died had written down is posted by the next one, to the last fraction", () =>
  withBooks(openStore, async (books) => {
    const budget = { limitMicros: 5_000n, window: "day" } as const;
    const caller = await books.openCaller({ creditMicros: 1_000n, budget });
    const claim = { keyHash: Uint8Array.of(1, 2), fingerprint: Uint8Array.of(3) };
    const freed = { keyHash: Uint8Array.of(4), fingerprint: Uint8Array.of(5) };
    const [ended, keyed, open, failed] = [
      await books.held(caller),
      await books.held(caller, { idempotency: claim }),
      await books.held(caller),
      await books.held(caller, { idempotency: freed }),
    ];
    const { ledger } = books.store();
    // A third of a micro for each: what is carried on is written in the journal alone.
    for (const callId of [ended, keyed])
      await ledger.settle({ ...settlementOf(callId, { units: 60 }), valuePico: 60_333_333n, used: {} });
    await ledger.release({
      ...releaseOf(failed),
      freed: { accountId: caller.accountId, keyHash: freed.keyHash },
    });
    ledger.noteProgress(open, { units: 7 });
    await books.held(caller, { amountMicros: 1n });

    const next = openSqliteStore({ path: newestPath });
    expect(await next.accounts.find(caller.accountId)).toMatchObject({
      postedMicros: 880n,
      heldMicros: 101n,
    });
    expect(await next.keys.budgetUse(caller.keyId, "day", middayMs)).toEqual({
      spentMicros: 120n,
      heldMicros: 101n,
    });
    expect(await next.ledger.findEarlier(caller.accountId, claim, middayMs)).toMatchObject({ callId: keyed });
    expect(await next.ledger.findEarlier(caller.accountId, freed, middayMs)).toBeUndefined();
    expect(await next.ledger.beginRun(middayMs)).toMatchObject({ releasedCalls: 1, settledCalls: 1 });
    expect(await next.calls.find(caller.accountId, open)).toMatchObject({
      state: "settled",
      chargedMicros: 7n,
    });
    await next.close();
    const db = new Database(newestPath, { readonly: true });
    const carried = "SELECT charge_carry_atto AS atto, value_carry_pico AS pico FROM account";
    expect(db.query(carried).get()).toEqual({ atto: 666_666_000_000, pico: 666_666 });
    // These calls were given a value that their usage does not explain; the audit at the end must not see that.
    db.close();
    const tidy = new Database(newestPath);
    tidy.run("DROP TRIGGER ended_call_is_never_changed");
    tidy.run("UPDATE account SET charge_carry_atto = 0, value_carry_pico = 0");
    tidy.run(`UPDATE call SET used = '{"units":60}' WHERE id IN ('${ended}', '${keyed}')`);
    tidy.close();
  }));

test("SQLite: a transaction that fails leaves nothing of itself in memory", () =>
  withBooks(openStore, async (books) => {
    const caller = await books.openCaller({ creditMicros: 250n });
    const before = await books.held(caller);
    const [held, , again] = await Promise.allSettled([
      books.hold(caller, { callId: "call_x" }),
      books.store().ledger.settle({ ...settlementOf(before, { units: 1 }), valuePico: -1n }),
      books.hold(caller, { callId: "call_y" }),
    ]);
    expect(held).toMatchObject({ value: { kind: "held" } });
    expect(again).toMatchObject({ value: { kind: "insufficient_balance", availableMicros: 50n } });
    await books.settle("call_x", { units: 60 });
    await books.settle(before, { units: 40 });
    expect(await books.balance(caller)).toEqual({ posted: 150n, held: 0n });
    const next = openSqliteStore({ path: newestPath });
    expect((await next.auditor.audit()).findings).toEqual([]);
    expect(await next.accounts.find(caller.accountId)).toMatchObject({ postedMicros: 150n, heldMicros: 0n });
    await next.close();
  }));

test("SQLite: when a call was sent is known although the transaction that ended it had to be repeated", () =>
  withBooks(openStore, async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const [brief, long, broken] = [
      await books.held(caller),
      await books.held(caller),
      await books.held(caller),
    ];
    const { ledger } = books.store();
    const endBesideFailure = async (callId: string): Promise<void> => {
      const [ended, failure] = await Promise.all([
        books.settle(callId, { units: 7 }),
        failureOf(ledger.settle({ ...settlementOf(broken, { units: 1 }), valuePico: -1n })),
      ]);
      expect(ended.first).toBe(true);
      expect(failure).toContain("cannot be worth");
    };
    ledger.markDispatched(brief, middayMs + 5);
    await endBesideFailure(brief);
    ledger.markDispatched(long, middayMs + 3);
    // By then its mark rides with whatever is written next, and that fails.
    await Bun.sleep(150);
    await endBesideFailure(long);
    await books.settle(broken, { units: 7 });
    const db = new Database(newestPath, { readonly: true });
    const sentAt = (callId: string): unknown =>
      db.query("SELECT dispatched_at_ms AS at FROM call WHERE id = ?1").get(callId);
    expect([sentAt(brief), sentAt(long)]).toEqual([{ at: middayMs + 5 }, { at: middayMs + 3 }]);
    expect(sentAt(broken)).toEqual({ at: null });
    db.close();
  }));

test("SQLite: a question is asked at once, however many earlier ones were used", () =>
  withBooks(openStore, async (books) => {
    const caller = await books.openCaller();
    const { accountId, keyId } = caller;
    const callId = await books.held(caller);
    await books.reopen();
    const db = new Database(newestPath);
    db.run(`
      WITH RECURSIVE earlier (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM earlier WHERE n < 100000)
      INSERT INTO approval (id, account_id, key_id, asker, created_at_ms, expires_at_ms)
      SELECT 'earlier_' || n, '${accountId}', '${keyId}', 'x', ${middayMs}, ${middayMs} FROM earlier`);
    db.run(`
      INSERT INTO approval_item (approval_id, position, operation_id, digest, cap_micros, expected_micros, summary, call_id)
      SELECT id, 0, 'sold', x'00', 1, 1, '', '${callId}' FROM approval`);
    db.close();
    const createdAtMs = middayMs + 2 * 86_400_000;
    const times: number[] = [];
    for (let n = 0; n < 5; n++) {
      const startedMs = performance.now();
      const question = { id: `approval_${n}`, accountId, keyId, grantId: undefined, asker: "x", items: [] };
      await books.store().approvals.open({ ...question, createdAtMs, expiresAtMs: createdAtMs + 1 });
      times.push(performance.now() - startedMs);
    }
    expect(Math.min(...times)).toBeLessThan(20);
  }));

test("SQLite: a line that the books would not take is never written", () =>
  withBooks(openStore, async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const stranger = { ...caller, keyId: "key_nobody" };
    expect(await failureOf(books.hold(stranger))).toContain("no key key_nobody");
    expect(await failureOf(books.hold(caller, { atMs: 1.5 }))).toContain("not a whole amount");
    const callId = await books.held(caller);
    const { ledger } = books.store();
    for (const broken of [
      { used: { units: 0.5 } },
      { used: { units: -1 } },
      { used: { units: Number.NaN } },
      { settledAtMs: 0.5 },
      { valuePico: 10n ** 22n },
    ])
      expect(await failureOf(ledger.settle({ ...settlementOf(callId, { units: 1 }), ...broken }))).toContain(
        "valuePico" in broken ? "cannot be worth" : "not a whole amount",
      );
    expect(await books.settle(callId, { units: 60 })).toMatchObject({ first: true, chargedMicros: 60n });
  }));

test("SQLite: what another process does to an account binds the next hold", () =>
  withBooks(openStore, async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    await books.held(caller);
    const other = openSqliteStore({ path: newestPath });
    const correction = { transferId: "fix", accountId: caller.accountId, reason: "test", nowMs: middayMs };
    await other.accounts.adjust({ ...correction, amountMicros: -850n });
    const refused = { kind: "insufficient_balance", availableMicros: 50n } as const;
    expect(await books.hold(caller, { amountMicros: 51n })).toEqual(refused);
    await other.accounts.update(caller.accountId, { suspended: true });
    expect(await books.hold(caller, { amountMicros: 50n })).toEqual({ kind: "account_suspended" });
    await other.close();
  }));

test("SQLite: every charge is two entries that sum to zero, and balances are their sums", () =>
  withBooks(openStore, async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const [plain, above] = [await books.held(caller), await books.held(caller)];
    await books.settle(plain, { units: 60 });
    await books.settle(above, { units: 130 });
    await books.reopen();
    const db = new Database(newestPath, { readonly: true });
    const entries = db
      .query(
        "SELECT kind, party, amount_micros FROM entry WHERE transfer_id = ?1 ORDER BY kind, amount_micros",
      )
      .all(above);
    expect(entries).toEqual([
      { kind: "charge", party: caller.accountId, amount_micros: -100 },
      { kind: "charge", party: "house:revenue", amount_micros: 100 },
      { kind: "write_off", party: "house:write_offs", amount_micros: -30 },
      { kind: "write_off", party: "house:revenue", amount_micros: 30 },
    ]);
    expect(db.query("SELECT sum(amount_micros) AS total FROM entry").get()).toEqual({ total: 0 });
    const own = db
      .query("SELECT sum(amount_micros) AS total FROM entry WHERE party = ?1")
      .get(caller.accountId);
    expect(own).toEqual({ total: 840 });
    db.close();
  }));

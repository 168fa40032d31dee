import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTerminal } from "../../doors/cli/test-terminal.ts";
import type { Budget } from "../../keys/keys.ts";
import type { AuditReport } from "../../ledger/audit.ts";
import type { Store } from "../../ledger/store.ts";
import type { Quantities } from "../../operation/quantities.ts";
import { createTerms, valuePico, type Terms } from "../../operation/terms.ts";
import { failureOf } from "../../ledger/shared-conformance.ts";
import { openSqliteStore } from "./sqlite-store.ts";

let folder: string;
let sound: string;
let copies = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-audit-"));
  sound = join(folder, "sound.db");
  await keepBooks(sound);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rerank = createTerms("rerank.create", "ranker", { input_tokens: 50_000n });
const chat = createTerms("chat.completions.create", "talker", {
  input_tokens: 2_500_000n,
  cache_read_tokens: 250_000n,
  cache_write_1h_tokens: 5_000_001n,
  output_tokens: 10_000_000n,
});
const snapshot = createTerms("financial.metrics.snapshot", undefined, { call: 48_000_000_000n });

const minute = 60_000;
const day = 86_400_000;
const startMs = Date.UTC(2026, 2, 14, 23, 58, 30);

/** Books with everything in them: grants, payments, corrections, every ending of a call, and one that has none yet. */
async function keepBooks(path: string): Promise<void> {
  const store = openSqliteStore({ path });
  const plain = { tier: "free", planMultiplierPpm: 1_000_000n, creditMicros: 0n, nowMs: startMs } as const;
  await store.accounts.create({ ...plain, id: "acc_a", name: "A", creditMicros: 2_000_000n });
  await store.accounts.create({ ...plain, id: "acc_b", name: "B", planMultiplierPpm: 850_000n });
  await store.accounts.create({ ...plain, id: "acc_empty", name: "Empty" });
  await store.accounts.topUp({
    transferId: "pay_1",
    accountId: "acc_a",
    amountMicros: 10_000_000n,
    nowMs: startMs,
  });
  await store.accounts.topUp({
    transferId: "pay_2",
    accountId: "acc_a",
    amountMicros: 500_000_000n,
    nowMs: startMs,
  });
  await store.accounts.topUp({
    transferId: "pay_3",
    accountId: "acc_b",
    amountMicros: 3_000_000n,
    nowMs: startMs,
  });
  for (const [transferId, amountMicros] of [
    ["fix_1", -1_500_000n],
    ["fix_2", 250_000n],
  ] as const) {
    await store.accounts.adjust({
      transferId,
      accountId: "acc_a",
      amountMicros,
      reason: "test",
      nowMs: startMs,
    });
  }

  const daily: Budget = { limitMicros: 1_000_000n, window: "day" };
  for (const [id, accountId, budget] of [
    ["key_a", "acc_a", undefined],
    ["key_day", "acc_a", daily],
    ["key_b", "acc_b", undefined],
  ] as const) {
    const secretHash = new TextEncoder().encode(id);
    const key = {
      id,
      accountId,
      name: id,
      scope: "key",
      budget,
      expiresAtMs: undefined,
      last4: "0000",
    } as const;
    await store.keys.issue({ ...key, secretHash, nowMs: startMs });
  }

  await store.ledger.recordPrices([
    { operationId: "rerank.create", model: "ranker", terms: rerank },
    { operationId: "chat.completions.create", model: "talker", terms: chat },
    { operationId: "financial.metrics.snapshot", model: undefined, terms: snapshot },
  ]);
  await store.ledger.beginRun(startMs);
  const { hold, settle, release } = callsOn(store);

  // One token costs 0.05 micro: thirty of them leave a carry behind, on both accounts.
  await Promise.all(
    Array.from({ length: 30 }, async (_, n) => {
      await hold(`rank_a${n}`, "key_a", rerank, 10n);
      await hold(`rank_b${n}`, "key_b", rerank, 10n);
      store.ledger.markDispatched(`rank_a${n}`, startMs);
      await settle(`rank_a${n}`, rerank, { input_tokens: 1 + n }, startMs + n * 5_000);
      await settle(`rank_b${n}`, rerank, { input_tokens: 1 }, startMs + n * 5_000);
    }),
  );
  await hold("chat_1", "key_a", chat, 90_000n);
  await settle(
    "chat_1",
    chat,
    { input_tokens: 1_001, cache_read_tokens: 77, output_tokens: 333 },
    startMs + minute,
  );
  await hold("chat_2", "key_a", chat, 90_000n);
  await settle("chat_2", chat, { cache_write_1h_tokens: 13, output_tokens: 400 }, startMs + minute + 1);
  await hold("snap_1", "key_day", snapshot, 48_000n);
  await settle("snap_1", snapshot, { call: 1 }, startMs + 10);
  await hold("snap_2", "key_day", snapshot, 48_000n, startMs + day);
  await settle("snap_2", snapshot, { call: 1 }, startMs + day);
  await hold("above", "key_b", chat, 1_000n);
  await settle("above", chat, { output_tokens: 250 }, startMs + 2 * minute);
  await hold("refused", "key_a", snapshot, 48_000n);
  await release("refused", startMs + 3 * minute);
  await hold("refused_day", "key_day", snapshot, 48_000n);
  await release("refused_day", startMs + 3 * minute);
  await hold("lost", "key_b", snapshot, 48_000n);
  await store.close();

  // A second run: the call the first one left open is given back, and two are under way when we look.
  const again = openSqliteStore({ path });
  await again.ledger.beginRun(startMs + day);
  await callsOn(again).hold("open", "key_a", snapshot, 48_000n, startMs + day);
  await callsOn(again).hold("open_day", "key_day", snapshot, 48_000n, startMs + day);
  again.ledger.markDispatched("open_day", startMs + day);
  await again.close();
}

function callsOn(store: Store) {
  const accountOf = (keyId: string): string => (keyId === "key_b" ? "acc_b" : "acc_a");
  const evidence = { usageSource: "provider", httpStatus: 200, attempts: [] } as const;
  return {
    hold: async (callId: string, keyId: string, terms: Terms, amountMicros: bigint, atMs = startMs) => {
      const [operationId, model] =
        terms === rerank
          ? (["rerank.create", "ranker"] as const)
          : terms === chat
            ? (["chat.completions.create", "talker"] as const)
            : (["financial.metrics.snapshot", undefined] as const);
      const held = await store.ledger.hold({
        callId,
        accountId: accountOf(keyId),
        keyId,
        operationId,
        model,
        amountMicros,
        terms,
        multiplierPpm: keyId === "key_b" ? 850_000n : 1_000_000n,
        createdAtMs: atMs,
        budget: (await store.keys.find(keyId))?.budget,
        idempotency: undefined,
      });
      expect(held).toEqual({ kind: "held" });
    },
    settle: (callId: string, terms: Terms, used: Quantities, settledAtMs: number) =>
      store.ledger.settle({
        ...evidence,
        callId,
        outcome: "succeeded",
        used,
        valuePico: valuePico(used, terms),
        settledAtMs,
      }),
    release: (callId: string, settledAtMs: number) =>
      store.ledger.release({ callId, outcome: "failed", httpStatus: 500, attempts: [], settledAtMs }),
  };
}

/** A copy of the sound books, changed behind the program's back as somebody with the file could. */
function tamperedWith(statements: readonly string[]): string {
  const copy = join(folder, `copy-${copies++}.db`);
  copyFileSync(sound, copy);
  const db = new Database(copy, { readwrite: true });
  db.run("PRAGMA foreign_keys = OFF");
  db.run("PRAGMA ignore_check_constraints = ON");
  for (const trigger of [
    "payment_is_never_changed",
    "payment_is_never_removed",
    "ended_call_is_never_changed",
    "call_is_never_removed",
  ])
    db.run(`DROP TRIGGER ${trigger}`);
  for (const statement of statements) {
    if (db.run(statement).changes === 0) throw new Error(`Changed nothing: ${statement}`);
  }
  db.close();
  return copy;
}

async function auditOf(path: string): Promise<AuditReport> {
  const store = openSqliteStore({ path });
  try {
    return await store.auditor.audit();
  } finally {
    await store.close();
  }
}

const terminalOn = (path: string) => createTerminal({ openStore: async () => openSqliteStore({ path }) });

describe("audit of sound books", () => {
  test("finds nothing, and says what it looked at", async () => {
    expect(await auditOf(sound)).toMatchObject({ accounts: 3, calls: 70, findings: [], truncated: false });
    expect(await terminalOn(sound).run("audit")).toMatchObject({ exitCode: 0, errors: [] });
  });

  test("the books contain what the corruptions below corrupt", () => {
    const db = new Database(sound, { readonly: true });
    const count = (sql: string): unknown =>
      db.query<{ n: number }, []>(`SELECT count(*) AS n ${sql}`).get()?.n;
    expect(count("FROM entry WHERE kind = 'write_off'")).toBe(2);
    expect(count("FROM call WHERE state = 'released'")).toBe(3);
    expect(count("FROM call WHERE settled_at_ms IS NULL")).toBe(2);
    expect(count("FROM account WHERE charge_carry_atto > 0 AND value_carry_pico > 0")).toBe(2);
    expect(count("FROM budget")).toBe(2);
    db.close();
  });

  test("a copy is as sound as its original: tampering that changes nothing is not reported", async () => {
    expect((await auditOf(tamperedWith([]))).findings).toEqual([]);
  });

  test("the books of a program cannot be tampered with in passing: payments and ended calls refuse to change", () => {
    const copy = join(folder, "guarded.db");
    copyFileSync(sound, copy);
    const db = new Database(copy, { readwrite: true });
    expect(() => db.run("UPDATE payment SET amount_micros = 1")).toThrow("append-only");
    expect(() => db.run("DELETE FROM payment")).toThrow("append-only");
    expect(() => db.run("UPDATE call SET charged_micros = 1 WHERE id = 'chat_1'")).toThrow("never changed");
    expect(() => db.run("DELETE FROM call WHERE id = 'chat_1'")).toThrow("never removed");
    db.close();
  });
});

interface Corruption {
  readonly name: string;
  readonly sql: readonly string[];
  /** Whom a finding must name. */
  readonly subject: string;
}

const entry = (transfer: string, kind: string, party: string, amount: number): string =>
  `INSERT INTO payment VALUES ('${transfer}', '${kind}', '${party}', ${amount}, NULL, ${startMs})`;

function task(
  callId: string,
  wanted: { state: string; endedAtMs?: number; accountId?: string; keyId?: string; vendorId?: null },
): string {
  const { state, endedAtMs = "NULL", accountId = "acc_a", keyId = "key_a", vendorId = "v-1" } = wanted;
  const vendor = vendorId === null ? "NULL, NULL" : `'vendor', '${vendorId}'`;
  return `
    INSERT INTO task (call_id, id, account_id, key_id, state, upstream, upstream_task_id, expected, created_at_ms,
                      asked_at_ms, next_poll_at_ms, deadline_at_ms, ended_at_ms, forget_at_ms)
    VALUES ('${callId}', 'task_${callId}', '${accountId}', '${keyId}', '${state}', ${vendor}, '{}', 0, 0, 0, 0,
            ${endedAtMs}, ${endedAtMs})`;
}

const minuteOf = (ms: number): number => Math.floor(ms / minute) * 60;
const hourOf = (ms: number): number => Math.floor(ms / 3_600_000) * 3_600;
const dayOf = (ms: number): number => Math.floor(ms / day) * 86_400;

const corruptions: readonly Corruption[] = [
  {
    name: "one side of an entry edited",
    sql: [
      "UPDATE payment SET amount_micros = amount_micros + 1 WHERE transfer_id = 'pay_1' AND party = 'acc_a'",
    ],
    subject: "pay_1",
  },
  {
    name: "both sides of an entry edited",
    sql: ["UPDATE payment SET amount_micros = amount_micros * 2 WHERE transfer_id = 'pay_3'"],
    subject: "acc_b",
  },
  {
    name: "one side deleted",
    sql: ["DELETE FROM payment WHERE transfer_id = 'fix_2' AND party = 'acc_a'"],
    subject: "fix_2",
  },
  {
    name: "a whole transfer deleted",
    sql: ["DELETE FROM payment WHERE transfer_id = 'fix_1'"],
    subject: "acc_a",
  },
  {
    name: "a charge forgotten, and the balance raised to match",
    sql: [
      "UPDATE account SET posted_micros = posted_micros + 48000 WHERE id = 'acc_a'",
      "UPDATE call SET charged_micros = 0 WHERE id = 'snap_1'",
    ],
    subject: "snap_1",
  },
  {
    name: "a stray pair added",
    sql: [entry("stray", "adjustment", "acc_b", 5), entry("stray", "adjustment", "house:adjustments", -5)],
    subject: "acc_b",
  },
  {
    name: "a stray pair among house accounts added",
    sql: [entry("stray", "adjustment", "house:cash", -5), entry("stray", "adjustment", "house:revenue", 5)],
    subject: "stray",
  },
  {
    name: "a charge for no call booked, and taken from the balance",
    sql: [
      entry("no-such-call", "charge", "acc_b", -5),
      entry("no-such-call", "charge", "house:revenue", 5),
      "UPDATE account SET posted_micros = posted_micros - 5 WHERE id = 'acc_b'",
    ],
    subject: "no-such-call",
  },
  {
    name: "a call charged a second time, to another account's entries",
    sql: [entry("chat_1", "charge", "acc_b", -5), entry("chat_1", "charge", "house:cash", 5)],
    subject: "acc_b",
  },
  {
    name: "a call charged a second time, to another account and its balance",
    sql: [
      entry("chat_1", "charge", "acc_b", -5),
      entry("chat_1", "charge", "house:cash", 5),
      "UPDATE account SET posted_micros = posted_micros - 5 WHERE id = 'acc_b'",
    ],
    subject: "chat_1",
  },
  {
    name: "an open call charged early",
    sql: [
      entry("open", "charge", "acc_a", -48000),
      entry("open", "charge", "house:revenue", 48000),
      "UPDATE account SET posted_micros = posted_micros - 48000 WHERE id = 'acc_a'",
    ],
    subject: "open",
  },
  {
    name: "a payment booked to a house account nobody knows",
    sql: ["UPDATE payment SET party = 'house:pocket' WHERE transfer_id = 'pay_3' AND party = 'house:cash'"],
    subject: "pay_3",
  },
  {
    name: "a payment booked against the wrong house account",
    sql: ["UPDATE payment SET party = 'house:grants' WHERE transfer_id = 'pay_1' AND party = 'house:cash'"],
    subject: "pay_1",
  },
  {
    name: "an adjustment renamed a charge",
    sql: ["UPDATE payment SET kind = 'charge' WHERE transfer_id = 'fix_2'"],
    subject: "fix_2",
  },
  {
    name: "a payment renamed a grant",
    sql: ["UPDATE payment SET kind = 'grant' WHERE transfer_id = 'pay_1'"],
    subject: "acc_a",
  },
  {
    name: "a payment moved to another account, with its balance",
    sql: [
      "UPDATE payment SET party = 'acc_empty' WHERE transfer_id = 'pay_1' AND party = 'acc_a'",
      "UPDATE account SET posted_micros = posted_micros - 10000000 WHERE id = 'acc_a'",
      "UPDATE account SET posted_micros = 10000000 WHERE id = 'acc_empty'",
    ],
    subject: "acc_empty",
  },
  {
    name: "an entry of a party nobody knows",
    sql: [
      entry("ghostly", "adjustment", "acc_ghost", 5),
      entry("ghostly", "adjustment", "house:adjustments", -5),
    ],
    subject: "ghostly",
  },
  { name: "an account deleted", sql: ["DELETE FROM account WHERE id = 'acc_b'"], subject: "pay_3" },
  {
    name: "a balance raised",
    sql: ["UPDATE account SET posted_micros = posted_micros + 1 WHERE id = 'acc_a'"],
    subject: "acc_a",
  },
  {
    name: "a balance lowered",
    sql: ["UPDATE account SET posted_micros = posted_micros - 1 WHERE id = 'acc_b'"],
    subject: "acc_b",
  },
  {
    name: "money given to an account that never had any",
    sql: ["UPDATE account SET posted_micros = 1 WHERE id = 'acc_empty'"],
    subject: "acc_empty",
  },
  {
    name: "held raised",
    sql: ["UPDATE account SET held_micros = held_micros + 1 WHERE id = 'acc_a'"],
    subject: "acc_a",
  },
  {
    name: "held forgotten",
    sql: ["UPDATE account SET held_micros = 0 WHERE id = 'acc_a'"],
    subject: "acc_a",
  },
  {
    name: "held made negative",
    sql: ["UPDATE account SET held_micros = -1 WHERE id = 'acc_empty'"],
    subject: "acc_empty",
  },
  {
    name: "what was paid in raised",
    sql: ["UPDATE account SET topped_up_micros = topped_up_micros + 1 WHERE id = 'acc_b'"],
    subject: "acc_b",
  },
  {
    name: "the carried part of a charge edited by the smallest amount",
    sql: ["UPDATE account SET charge_carry_atto = charge_carry_atto + 1 WHERE id = 'acc_b'"],
    subject: "acc_b",
  },
  {
    name: "the carried part of a charge forgotten",
    sql: ["UPDATE account SET charge_carry_atto = 0 WHERE id = 'acc_a'"],
    subject: "acc_a",
  },
  {
    name: "the carried part of a usage value edited",
    sql: ["UPDATE account SET value_carry_pico = value_carry_pico - 1 WHERE id = 'acc_a'"],
    subject: "acc_a",
  },
  {
    name: "a call's charge edited",
    sql: ["UPDATE call SET charged_micros = charged_micros + 1 WHERE id = 'chat_1'"],
    subject: "acc_a",
  },
  {
    name: "a call's charge forgotten",
    sql: ["UPDATE call SET charged_micros = 0 WHERE id = 'snap_2'"],
    subject: "snap_2",
  },
  {
    name: "a call's charge raised in every place that keeps it",
    sql: [
      "UPDATE call SET charged_micros = charged_micros + 7 WHERE id = 'chat_1'",
      "UPDATE account SET posted_micros = posted_micros - 7 WHERE id = 'acc_a'",
      `UPDATE usage_bucket SET charged_micros = charged_micros + 7
       WHERE key_id = 'key_a' AND start_seconds IN (${minuteOf(startMs + minute)}, ${hourOf(startMs + minute)}, ${dayOf(startMs + minute)})`,
    ],
    subject: "acc_a",
  },
  {
    name: "a charge moved from one call to another in every place that keeps it",
    sql: [
      "UPDATE call SET charged_micros = charged_micros + 7 WHERE id = 'chat_1'",
      "UPDATE call SET charged_micros = charged_micros - 7 WHERE id = 'chat_2'",
    ],
    subject: "chat_1",
  },
  {
    name: "a usage value moved from one call to another of the same minute",
    sql: [
      "UPDATE call SET value_micros = value_micros + 7 WHERE id = 'chat_1'",
      "UPDATE call SET value_micros = value_micros - 7 WHERE id = 'chat_2'",
    ],
    subject: "chat_1",
  },
  {
    name: "more charged than held",
    sql: ["UPDATE call SET held_micros = charged_micros - 1 WHERE id = 'chat_1'"],
    subject: "chat_1",
  },
  {
    name: "a negative charge",
    sql: ["UPDATE call SET charged_micros = -5 WHERE id = 'refused'"],
    subject: "refused",
  },
  {
    name: "a write-off edited",
    sql: ["UPDATE call SET written_off_micros = written_off_micros - 1 WHERE id = 'above'"],
    subject: "acc_b",
  },
  {
    name: "a settled call opened again",
    sql: ["UPDATE call SET state = 'dispatched', settled_at_ms = NULL, outcome = NULL WHERE id = 'chat_1'"],
    subject: "chat_1",
  },
  {
    name: "only the state of a settled call flipped back",
    sql: ["UPDATE call SET state = 'held' WHERE id = 'chat_2'"],
    subject: "chat_2",
  },
  {
    name: "an open call ended without giving back its hold",
    sql: [
      `UPDATE call SET state = 'released', outcome = 'failed', settled_at_ms = ${startMs} WHERE id = 'open'`,
    ],
    subject: "acc_a",
  },
  {
    name: "a call's outcome forgotten",
    sql: ["UPDATE call SET outcome = NULL WHERE id = 'snap_1'"],
    subject: "snap_1",
  },
  {
    name: "a success called a failure",
    sql: ["UPDATE call SET outcome = 'failed' WHERE id = 'snap_1'"],
    subject: "key_day",
  },
  {
    name: "a released call charged",
    sql: ["UPDATE call SET charged_micros = 5 WHERE id = 'refused'"],
    subject: "refused",
  },
  {
    name: "a released call charged with its balance",
    sql: [
      "UPDATE call SET charged_micros = 5 WHERE id = 'refused'",
      "UPDATE account SET posted_micros = posted_micros - 5 WHERE id = 'acc_a'",
    ],
    subject: "refused",
  },
  { name: "an open call deleted", sql: ["DELETE FROM call WHERE id = 'open'"], subject: "acc_a" },
  { name: "a settled call deleted", sql: ["DELETE FROM call WHERE id = 'chat_1'"], subject: "chat_1" },
  {
    name: "an open call's hold lowered",
    sql: ["UPDATE call SET held_micros = 1 WHERE id = 'open'"],
    subject: "acc_a",
  },
  {
    name: "a call moved to another key",
    sql: ["UPDATE call SET key_id = 'key_day' WHERE id = 'chat_1'"],
    subject: "key_a",
  },
  {
    name: "a call moved to another account",
    sql: ["UPDATE call SET account_id = 'acc_b' WHERE id = 'chat_1'"],
    subject: "chat_1",
  },
  {
    name: "a call moved to another minute",
    sql: [`UPDATE call SET settled_at_ms = settled_at_ms + ${minute} WHERE id = 'chat_1'`],
    subject: "key_a",
  },
  {
    name: "a plan multiplier edited afterwards",
    sql: ["UPDATE call SET multiplier_ppm = 1000000 WHERE id = 'rank_b3'"],
    subject: "acc_b",
  },
  {
    name: "used tokens edited",
    sql: [`UPDATE call SET used = '{"input_tokens":2}' WHERE id = 'rank_b0'`],
    subject: "acc_b",
  },
  {
    name: "used units that are no tokens edited",
    sql: [`UPDATE call SET used = '{"call":2}' WHERE id = 'snap_1'`],
    subject: "acc_a",
  },
  {
    name: "used tokens exchanged for others of the same price",
    sql: [
      `UPDATE call SET used = '{"cache_write_1h_tokens":0,"cache_write_tokens":13,"output_tokens":400}' WHERE id = 'chat_2'`,
    ],
    subject: "acc_a",
  },
  {
    name: "used quantities that are not JSON",
    sql: ["UPDATE call SET used = '{oops' WHERE id = 'chat_1'"],
    subject: "chat_1",
  },
  {
    name: "used quantities that are no whole numbers",
    sql: [`UPDATE call SET used = '{"input_tokens":1.5}' WHERE id = 'chat_1'`],
    subject: "chat_1",
  },
  {
    name: "used quantities that are negative",
    sql: [`UPDATE call SET used = '{"call":-1}' WHERE id = 'snap_1'`],
    subject: "snap_1",
  },
  {
    name: "a price edited",
    sql: [`UPDATE price SET unit_prices = '{"call":"1"}' WHERE version = '${snapshot.version}'`],
    subject: snapshot.version,
  },
  {
    name: "a price that is not JSON",
    sql: [`UPDATE price SET unit_prices = 'free' WHERE version = '${chat.version}'`],
    subject: chat.version,
  },
  {
    name: "a price that is no number",
    sql: [`UPDATE price SET unit_prices = '{"call":"0.5"}' WHERE version = '${snapshot.version}'`],
    subject: snapshot.version,
  },
  {
    name: "a price given to another operation",
    sql: [`UPDATE price SET operation_id = 'x' WHERE version = '${rerank.version}'`],
    subject: rerank.version,
  },
  {
    name: "a price deleted",
    sql: [`DELETE FROM price WHERE version = '${rerank.version}'`],
    subject: "call",
  },
  {
    name: "a call put under another price",
    sql: [`UPDATE call SET price_version = '${rerank.version}' WHERE id = 'chat_1'`],
    subject: "acc_a",
  },
  ...(
    [
      ["minute", 60, minuteOf(startMs + minute)],
      ["hour", 3_600, hourOf(startMs + minute)],
      ["day", 86_400, dayOf(startMs + minute)],
    ] as const
  ).flatMap(([word, width, start]): Corruption[] => {
    const bucket = `key_id = 'key_a' AND width_seconds = ${width} AND start_seconds = ${start}`;
    return [
      ...[
        "requests",
        "failed_requests",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "value_micros",
        "charged_micros",
      ].map((figure) => ({
        name: `${figure} of a ${word}'s usage off by one`,
        sql: [`UPDATE usage_bucket SET ${figure} = ${figure} + 1 WHERE ${bucket}`],
        subject: "key_a",
      })),
      {
        name: `a ${word}'s usage missing`,
        sql: [`DELETE FROM usage_bucket WHERE ${bucket}`],
        subject: "key_a",
      },
      {
        name: `a ${word}'s usage nobody had`,
        sql: [`INSERT INTO usage_bucket VALUES ('acc_b', ${width}, 0, 'key_b', 1, 0, 0, 0, 0, 0, 0, 0)`],
        subject: "key_b",
      },
    ];
  }),
  {
    name: "a call ended in the journal and not in its row",
    sql: [`INSERT INTO journal (lines) VALUES ('[["end","open","0","0"]]')`],
    subject: "journal",
  },
  {
    name: "a journal that cannot be read",
    sql: ["INSERT INTO journal (lines) VALUES ('[[')"],
    subject: "journal",
  },
  {
    name: "a call held in the journal for an account that cannot pay it",
    sql: [
      `INSERT INTO journal (lines) VALUES ('[["held","poor","acc_empty","key_a","rerank.create","ranker","5","${rerank.version}","1000000",null,null,"1",0]]')`,
    ],
    subject: "journal",
  },
  {
    name: "a call missing from its account's list",
    sql: [
      "INSERT INTO account_call SELECT account_id, call_id FROM listed_call WHERE call_id <> 'chat_1'",
      "DELETE FROM unlisted",
    ],
    subject: "chat_1",
  },
  {
    name: "a call missing from what waits to be listed",
    sql: [`UPDATE unlisted SET lists = replace(replace(lists, '"chat_1",', ''), ',"chat_1"', '')`],
    subject: "chat_1",
  },
  {
    name: "a call in the list of another account",
    sql: ["INSERT INTO account_call VALUES ('acc_b', 'chat_1')"],
    subject: "chat_1",
  },
  {
    name: "what a budget has spent edited",
    sql: ["UPDATE budget SET spent_micros = spent_micros - 1 WHERE spent_micros > 0"],
    subject: "key_day",
  },
  {
    name: "what a budget holds edited",
    sql: ["UPDATE budget SET held_micros = held_micros + 1"],
    subject: "key_day",
  },
  { name: "a budget deleted", sql: ["DELETE FROM budget"], subject: "key_day" },
  {
    name: "a budget for calls that had none",
    sql: [`INSERT INTO budget VALUES ('key_a', ${startMs}, 5, 0)`],
    subject: "key_a",
  },
  {
    name: "a call taken out of its budget",
    sql: ["UPDATE call SET budget_window_start_ms = NULL WHERE id = 'snap_2'"],
    subject: "key_day",
  },
  {
    name: "a task left open though its call has ended",
    sql: [task("snap_1", { state: "PENDING" })],
    subject: "task_snap_1",
  },
  {
    name: "a task ended though its call is open",
    sql: [task("open", { state: "FAILED", endedAtMs: startMs })],
    subject: "task_open",
  },
  {
    name: "an end without an end's state",
    sql: [task("snap_1", { state: "RUNNING", endedAtMs: startMs })],
    subject: "task_snap_1",
  },
  {
    name: "a task given to another account",
    sql: [task("open", { state: "PENDING", accountId: "acc_b" })],
    subject: "task_open",
  },
  {
    name: "a charge for a task that failed",
    sql: [task("snap_1", { state: "FAILED", endedAtMs: startMs })],
    subject: "task_snap_1",
  },
  {
    name: "a task without its vendor's id",
    sql: [task("open", { state: "PENDING", vendorId: null })],
    subject: "task_open",
  },
  {
    name: "two tasks with one id of the vendor's",
    sql: [task("open", { state: "PENDING" }), task("open_day", { state: "PENDING", keyId: "key_day" })],
    subject: "vendor v-1",
  },
];

describe("audit notices", () => {
  test.each(corruptions)("$name", async ({ sql, subject }) => {
    const copy = tamperedWith(sql);
    const report = await auditOf(copy);
    expect(report.findings.map((finding) => finding.subject)).toContain(subject);
    for (const { rule, detail } of report.findings) expect(rule !== "" && detail !== "").toBe(true);

    const shown = await terminalOn(copy).run("audit");
    expect(shown).toMatchObject({ exitCode: 1, errors: [] });
    expect(shown.out.some((line) => line.startsWith(`${subject}: `))).toBe(true);
    expect(shown.out.at(-1)).toBe("The books do not balance.");

    const json = await terminalOn(copy).run("audit", "--json");
    expect(json.exitCode).toBe(1);
    expect(JSON.parse(json.out[0] ?? "")).toMatchObject({ balanced: false, findings: report.findings });
  });
});

test("whoever knows the installation's secret is let in to audit a journal that cannot be posted", async () => {
  const copy = tamperedWith([]);
  const claiming = openSqliteStore({ path: copy });
  expect(await claiming.claimSecret("ours")).toBe(true);
  await claiming.close();
  const db = new Database(copy);
  db.run(`INSERT INTO journal (lines) VALUES ('[["end","nobody","0","0"]]')`);
  db.close();
  const store = openSqliteStore({ path: copy });
  expect(await store.claimSecret("ours")).toBe(true);
  expect(await store.claimSecret("another's")).toBe(false);
  const { findings } = await store.auditor.audit();
  const detail = "The journal names a call nobody that the books do not have.";
  expect(findings).toEqual([{ rule: "the journal can be posted", subject: "journal", detail }]);
  expect(await failureOf(store.ledger.beginRun(startMs))).toContain("The journal contradicts the books");
  await store.close();
});

test("a report with very many findings is cut, and says so", async () => {
  const many = Array.from({ length: 300 }, (_, n) => entry(`stray-${n}`, "adjustment", "acc_ghost", 1));
  const copy = tamperedWith(many);
  const report = await auditOf(copy);
  expect(report.findings).toHaveLength(200);
  expect(report.truncated).toBe(true);
  expect((await terminalOn(copy).run("audit")).out).toContain("There are more findings than these.");
});

test("an audit sees one moment of the books while another connection writes", async () => {
  const busy = join(folder, "busy.db");
  copyFileSync(sound, busy);
  const server = openSqliteStore({ path: busy });
  await server.ledger.beginRun(startMs + day);
  const auditing = openSqliteStore({ path: busy });
  const { hold, settle } = callsOn(server);
  for (let n = 0; n < 20; n++) {
    const writing = Array.from({ length: 20 }, async (_, m) => {
      await hold(`busy_${n}_${m}`, "key_a", rerank, 10n);
      await settle(`busy_${n}_${m}`, rerank, { input_tokens: n * m }, startMs + day + n * 1_000);
    });
    expect((await auditing.auditor.audit()).findings).toEqual([]);
    await Promise.all(writing);
  }
  expect((await auditing.auditor.audit()).findings).toEqual([]);
  await auditing.close();
  await server.close();
});

test("an audit beside a server keeps it from writing for a moment only, however long the audit takes", async () => {
  const large = join(folder, "large.db");
  copyFileSync(sound, large);
  const db = new Database(large);
  // Corrections that cancel each other out take long to read and change no balance.
  db.run(`
    WITH RECURSIVE fix (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM fix WHERE n < 300000)
    INSERT INTO payment
    SELECT 'many_' || n, 'adjustment', party, sign * (n % 2 * 2 - 1), NULL, ${startMs}
    FROM fix, (SELECT 'acc_a' AS party, 1 AS sign UNION ALL SELECT 'house:adjustments', -1)`);
  db.close();
  const server = openSqliteStore({ path: large });
  await server.ledger.beginRun(startMs + day);
  const { hold } = callsOn(server);
  await hold("running", "key_a", rerank, 10n);
  const program = `import { openSqliteStore } from ${JSON.stringify(join(import.meta.dir, "sqlite-store.ts"))};
    const store = openSqliteStore({ path: process.argv[1], patienceMs: 20_000 });
    const startedMs = performance.now();
    const { findings } = await store.auditor.audit();
    console.log(JSON.stringify({ findings, tookMs: performance.now() - startedMs }));
    await store.close();`;
  const child = Bun.spawn([process.execPath, "-e", program, large], { stdout: "pipe", stderr: "inherit" });
  let ended = false;
  child.exited.then(() => (ended = true)).catch(() => {});
  let slowestMs = 0;
  for (let n = 0; !ended; n++) {
    const startedMs = performance.now();
    await hold(`beside_${n}`, "key_a", rerank, 10n);
    slowestMs = Math.max(slowestMs, performance.now() - startedMs);
    await Bun.sleep(5);
  }
  const { findings, tookMs } = JSON.parse(await new Response(child.stdout).text()) as {
    readonly findings: readonly object[];
    readonly tookMs: number;
  };
  expect(findings).toEqual([]);
  expect(slowestMs).toBeLessThan(tookMs / 2);
  await server.close();
});

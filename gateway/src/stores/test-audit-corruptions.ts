// For tests of the audit: what somebody at the store could do to the audited books, and whom a finding must name.

import { chatTerms, day, minute, rerank, snapshotTerms, startMs } from "./test-audited-books.ts";
import { bucketFigures } from "./usage-buckets.ts";

export interface Corruption {
  readonly name: string;
  readonly sql: readonly string[];
  /** Whom a finding must name. */
  readonly subject: string;
}

export const entry = (transfer: string, kind: string, party: string, amount: number): string =>
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

export const corruptions: readonly Corruption[] = [
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
  { name: "a settled call deleted", sql: ["DELETE FROM call WHERE id = 'chat_1'"], subject: "acc_a" },
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
    name: "used quantities that are nothing at all",
    sql: ["UPDATE call SET used = 'null' WHERE id = 'chat_1'"],
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
    sql: [`UPDATE price SET unit_prices = '{"call":"1"}' WHERE version = '${snapshotTerms.version}'`],
    subject: snapshotTerms.version,
  },
  {
    name: "a price that is not JSON",
    sql: [`UPDATE price SET unit_prices = 'free' WHERE version = '${chatTerms.version}'`],
    subject: chatTerms.version,
  },
  {
    name: "a price that is no number",
    sql: [`UPDATE price SET unit_prices = '{"call":"0.5"}' WHERE version = '${snapshotTerms.version}'`],
    subject: snapshotTerms.version,
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
      ...bucketFigures.map((figure) => ({
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
    sql: [`INSERT INTO budget VALUES ('key_a', ${startMs}, 5, 0, 0)`],
    subject: "key_a",
  },
  {
    name: "what was spent before a budget made up",
    sql: ["UPDATE budget SET spent_before_micros = 1, spent_micros = spent_micros + 1"],
    subject: "key_day",
  },
  {
    name: "what was spent before a budget left out of it",
    sql: ["UPDATE key SET counts_days = true WHERE id = 'key_a'"],
    subject: "key_a",
  },
  {
    name: "an open call left out of its key's budget",
    sql: ["UPDATE key SET counts_days = true WHERE id = 'key_a'"],
    subject: "open",
  },
  {
    name: "a grant's day for calls that had none",
    sql: [`INSERT INTO grant_day VALUES ('grant_1', ${dayOf(startMs) * 1_000}, 5, 0)`],
    subject: "grant_1",
  },
  {
    name: "a call put under a grant",
    sql: ["UPDATE call SET grant_id = 'grant_1' WHERE id = 'snap_1'"],
    subject: "grant_1",
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

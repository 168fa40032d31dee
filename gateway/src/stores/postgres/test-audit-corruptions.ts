import { corruptions as everywhere, type Corruption } from "../test-audit-corruptions.ts";
import { day, minute, startMs } from "../test-audited-books.ts";

const startDayMs = startMs - (startMs % day);

export const corruptions: readonly Corruption[] = [
  ...everywhere,
  {
    name: "a call taken out of its budget",
    sql: ["UPDATE call SET budget_day_start_ms = NULL WHERE id = 'snap_2'"],
    subject: "key_day",
  },
  {
    name: "what a call spent moved to another day of its budget",
    sql: [
      `UPDATE call SET budget_day_start_ms = ${startDayMs + day} WHERE id = 'snap_1'`,
      `UPDATE budget SET spent_micros = spent_micros - 48000 WHERE day_start_ms = ${startDayMs}`,
      `UPDATE budget SET spent_micros = spent_micros + 48000 WHERE day_start_ms = ${startDayMs + day}`,
    ],
    subject: "snap_1",
  },
  {
    name: "an open call given to a run nobody knows",
    sql: ["UPDATE call SET run_id = 99 WHERE id = 'open'"],
    subject: "open",
  },
  { name: "runs deleted", sql: ["DELETE FROM run"], subject: "call" },
  {
    name: "an idempotency key that names a call of another account",
    sql: [String.raw`INSERT INTO claim VALUES ('acc_b', '\x01', '\x02', 'chat_1', 0)`],
    subject: "chat_1",
  },
  {
    name: "an idempotency key that names no call",
    sql: [String.raw`INSERT INTO claim VALUES ('acc_b', '\x01', '\x02', 'no-such-call', 0)`],
    subject: "claim",
  },
  {
    name: "a grant's day of no grant",
    sql: ["INSERT INTO grant_day VALUES ('grant_1', 0, 0, 0)"],
    subject: "grant_day",
  },
  {
    name: "a micro of a charge carried instead, in every place that keeps it",
    sql: [
      "UPDATE call SET charged_micros = charged_micros - 1 WHERE id = 'rank_a29'",
      `UPDATE account SET posted_micros = posted_micros + 1, charge_carry_atto = charge_carry_atto + 1000000000000
       WHERE id = 'acc_a'`,
      `UPDATE usage_bucket SET charged_micros = charged_micros - 1
       WHERE key_id = 'key_a' AND start_seconds = ${Math.floor((startMs + 29 * 5_000) / 1_000)} / width_seconds * width_seconds`,
    ],
    subject: "acc_a",
  },
  {
    name: "a tier that is not for sale",
    sql: ["UPDATE account SET tier = 'king' WHERE id = 'acc_a'"],
    subject: "acc_a",
  },
  {
    name: "a call in a state that no call has",
    sql: ["UPDATE call SET state = 'paid' WHERE id = 'refused'"],
    subject: "refused",
  },
  {
    name: "a charge emptied",
    sql: [
      "ALTER TABLE call ALTER charged_micros DROP NOT NULL",
      "UPDATE call SET charged_micros = NULL WHERE id = 'chat_1'",
    ],
    subject: "chat_1",
  },
  {
    name: "a balance emptied",
    sql: [
      "ALTER TABLE account ALTER posted_micros DROP NOT NULL",
      "UPDATE account SET posted_micros = NULL WHERE id = 'acc_empty'",
    ],
    subject: "acc_empty",
  },
  {
    name: "an account twice",
    sql: [
      "ALTER TABLE account DROP CONSTRAINT account_pkey CASCADE",
      "INSERT INTO account SELECT * FROM account WHERE id = 'acc_empty'",
    ],
    subject: "account",
  },
  {
    name: "every minute's usage twice",
    sql: [
      "ALTER TABLE usage_bucket DROP CONSTRAINT usage_bucket_pkey",
      `INSERT INTO usage_bucket SELECT * FROM usage_bucket WHERE width_seconds = ${minute / 1_000}`,
    ],
    subject: "usage_bucket",
  },
];

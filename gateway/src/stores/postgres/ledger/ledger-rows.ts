// What a batch of the ledger writes: whole tables as JSON, so that a batch of any size is a handful of statements.

import type { IdempotencyClaim } from "../../../ledger/ledger.ts";
import type { NewTask, TaskEnd } from "../../../ledger/task-record.ts";
import type { Quantities } from "../../../prices/quantities.ts";
import type { CallEnd, HeldCall } from "../../held-call.ts";
import type { AccountSums, BoundSums, Sums } from "../../sums.ts";
import { bucketFigures, bucketWidthsSeconds, type Bucket } from "../../usage-buckets.ts";
import type { Write } from "../server/transaction.ts";
import { hexOf, jsonOf } from "../server/json-rows.ts";

export interface Changes {
  readonly sums: Sums;
  readonly held: HeldCall[];
  readonly ended: { readonly callId: string; readonly end: CallEnd }[];
  readonly claimed: { readonly call: HeldCall; readonly claim: IdempotencyClaim }[];
  readonly freed: { readonly call: HeldCall; readonly keyHash: Uint8Array }[];
  readonly tasksOpened: { readonly task: NewTask; readonly call: HeldCall }[];
  readonly tasksEnded: (TaskEnd & { readonly endedAtMs: number })[];
  readonly approvalsFreed: { readonly id: string; readonly callId: string }[];
  readonly approvalsUsed: { readonly id: string; readonly position: number; readonly callId: string }[];
  readonly dispatched: ReadonlyMap<string, number>;
  readonly progress: ReadonlyMap<string, Quantities>;
}

/** In an order in which rows come before those that refer to them. */
export function writesOf(changes: Changes): Write[] {
  const writes: Write[] = [];
  /** All of these rows, or the transaction fails. */
  const write = (rows: readonly object[], statement: string): void => {
    if (rows.length > 0) writes.push({ statement, values: [jsonOf(rows), rows.length] });
  };
  /** As many of these rows as still apply: fewer are no failure. */
  const note = (rows: readonly object[], statement: string): void => {
    if (rows.length > 0) writes.push({ statement, values: [jsonOf(rows)] });
  };
  const { sums } = changes;
  const budgetDays = [...sums.keys].flatMap(([keyId, { windows }]) => windows.map(boundRow(keyId)));
  const grantDays = [...sums.grantDays].flatMap(([grantId, days]) => days.map(boundRow(grantId)));
  write(changes.held.map(heldRow), insertHeld);
  note(
    [...changes.progress].map(([id, used]) => ({ id, progress: JSON.stringify(used) })),
    noteProgress,
  );
  note(
    [...changes.dispatched].map(([id, at_ms]) => ({ id, at_ms })),
    markDispatched,
  );
  write(changes.ended.map(endRow), endCalls);
  write([...sums.accounts].map(accountRow), moveAccounts);
  note(budgetDays, openBudgets);
  write(budgetDays, moveBudgets);
  note(grantDays, openGrantDays);
  write(grantDays, moveGrantDays);
  note(
    [...sums.keys.values()].flatMap(({ seconds }) => seconds.map(secondRow)),
    addToBuckets,
  );
  note(
    changes.freed.map(({ call, keyHash }) => claimedBy(call, keyHash)),
    freeClaims,
  );
  write(
    changes.claimed.map(({ call, claim }) => ({
      ...claimedBy(call, claim.keyHash),
      fingerprint: hexOf(claim.fingerprint),
      created_at_ms: call.createdAtMs,
    })),
    takeClaims,
  );
  write(changes.tasksOpened.map(openedTaskRow), openTasks);
  write(changes.tasksEnded.map(endedTaskRow), endTasks);
  note(
    changes.approvalsFreed.map(({ id, callId }) => ({ id, call_id: callId })),
    freeApprovals,
  );
  write(
    changes.approvalsUsed.map(({ id, position, callId }) => ({ id, position, call_id: callId })),
    useApprovals,
  );
  return writes;
}

/** The commit is sent before anybody could look at the answer, so the server itself counts what was written. */
const whole = (statement: string): string => `
  WITH written AS (${statement} RETURNING 1) SELECT check_written(count(*), $2) FROM written`;

/**
 * A condition on rows that are found by their names. Written so that no planner finds rows by it: one that takes a table for
 * small would walk over all rows that fulfil it, and go on doing so when the table has grown.
 */
const stillSo = (condition: string): string => `(${condition} OR given.id IS NULL)`;

const heldRow = (call: HeldCall) => ({
  id: call.callId,
  account_id: call.accountId,
  key_id: call.keyId,
  operation_id: call.operationId,
  model: call.model,
  held_micros: `${call.heldMicros}`,
  price_version: call.priceVersion,
  multiplier_ppm: `${call.multiplierPpm}`,
  budget_day_start_ms: call.budgetDayMs,
  grant_id: call.grantId,
  run_id: `${call.runId}`,
  created_at_ms: call.createdAtMs,
});

const insertHeld = whole(`
  INSERT INTO call (id, account_id, key_id, operation_id, model, state, held_micros, price_version, multiplier_ppm,
                    budget_day_start_ms, grant_id, run_id, created_at_ms)
  SELECT id, account_id, key_id, operation_id, model, 'held', held_micros, price_version, multiplier_ppm,
         budget_day_start_ms, grant_id, run_id, created_at_ms
  FROM json_to_recordset($1::text::json) AS given (
    id text, account_id text, key_id text, operation_id text, model text, held_micros bigint, price_version text,
    multiplier_ppm bigint, budget_day_start_ms bigint, grant_id text, run_id bigint, created_at_ms bigint)`);

const noteProgress = `
  UPDATE call SET progress = given.progress FROM json_to_recordset($1::text::json) AS given (id text, progress text)
  WHERE call.id = given.id AND ${stillSo("settled_at_ms IS NULL")}`;

const markDispatched = `
  UPDATE call SET state = 'dispatched', dispatched_at_ms = at_ms
  FROM json_to_recordset($1::text::json) AS given (id text, at_ms bigint)
  WHERE call.id = given.id AND ${stillSo("state = 'held'")}`;

const endRow = ({ callId, end }: Changes["ended"][number]) => ({
  id: callId,
  state: end.state,
  outcome: end.outcome,
  value_micros: `${end.valueMicros}`,
  charged_micros: `${end.chargedMicros}`,
  written_off_micros: `${end.writtenOffMicros}`,
  used: JSON.stringify(end.used),
  usage_source: end.usageSource,
  http_status: end.httpStatus,
  attempts: JSON.stringify(end.attempts),
  dispatched_at_ms: end.dispatchedAtMs,
  settled_at_ms: end.settledAtMs,
});

const endCalls = whole(`
  UPDATE call SET state = given.state, outcome = given.outcome, value_micros = given.value_micros,
                  charged_micros = given.charged_micros, written_off_micros = given.written_off_micros,
                  used = given.used, usage_source = given.usage_source, http_status = given.http_status,
                  attempts = given.attempts, dispatched_at_ms = coalesce(call.dispatched_at_ms, given.dispatched_at_ms),
                  settled_at_ms = given.settled_at_ms
  FROM json_to_recordset($1::text::json) AS given (
    id text, state text, outcome text, value_micros bigint, charged_micros bigint, written_off_micros bigint, used text,
    usage_source text, http_status bigint, attempts text, dispatched_at_ms bigint, settled_at_ms bigint)
  WHERE call.id = given.id AND ${stillSo("call.settled_at_ms IS NULL")}`);

const accountRow = ([id, { postedMicros, heldMicros, carry }]: readonly [string, AccountSums]) => ({
  id,
  posted_micros: `${postedMicros}`,
  held_micros: `${heldMicros}`,
  charge_carry_atto: carry ? `${carry.chargeAtto}` : null,
  value_carry_pico: carry ? `${carry.valuePico}` : null,
});

const moveAccounts = whole(`
  UPDATE account SET posted_micros = account.posted_micros + given.posted_micros,
                     held_micros = account.held_micros + given.held_micros,
                     charge_carry_atto = coalesce(given.charge_carry_atto, account.charge_carry_atto),
                     value_carry_pico = coalesce(given.value_carry_pico, account.value_carry_pico)
  FROM json_to_recordset($1::text::json) AS given (
    id text, posted_micros bigint, held_micros bigint, charge_carry_atto bigint, value_carry_pico bigint)
  WHERE account.id = given.id`);

const boundRow =
  (of: string) =>
  ({ startMs, spentMicros, heldMicros }: BoundSums) => ({
    of,
    day_start_ms: startMs,
    spent_micros: `${spentMicros}`,
    held_micros: `${heldMicros}`,
  });

const bounds = `json_to_recordset($1::text::json) AS given (
    "of" text, day_start_ms bigint, spent_micros bigint, held_micros bigint)`;

// The first calls of a day open its row. An insert that brought the sums along would be refused when one is negative.
const openBounds = (table: "budget" | "grant_day", of: "key_id" | "grant_id"): string => `
  INSERT INTO ${table} (${of}, day_start_ms, spent_micros, held_micros)
  SELECT "of", day_start_ms, 0, 0 FROM ${bounds} ON CONFLICT DO NOTHING`;
const moveBounds = (table: "budget" | "grant_day", of: "key_id" | "grant_id"): string =>
  whole(`
  UPDATE ${table} SET spent_micros = ${table}.spent_micros + given.spent_micros,
                      held_micros = ${table}.held_micros + given.held_micros
  FROM ${bounds} WHERE ${table}.${of} = given."of" AND ${table}.day_start_ms = given.day_start_ms`);
const openBudgets = openBounds("budget", "key_id");
const moveBudgets = moveBounds("budget", "key_id");
const openGrantDays = openBounds("grant_day", "grant_id");
const moveGrantDays = moveBounds("grant_day", "grant_id");

const secondRow = ({ startSeconds, accountId, keyId, sums }: Bucket) => ({
  account_id: accountId,
  key_id: keyId,
  second: startSeconds,
  requests: sums.requests,
  failed_requests: sums.failedRequests,
  input_tokens: sums.inputTokens,
  output_tokens: sums.outputTokens,
  cache_read_tokens: sums.cacheReadTokens,
  cache_write_tokens: sums.cacheWriteTokens,
  value_micros: `${sums.valueMicros}`,
  charged_micros: `${sums.chargedMicros}`,
});

/** Only seconds are sent, and the server sums the wider buckets: sending those too would make the text four times as long. */
const addToBuckets = `
  INSERT INTO usage_bucket (account_id, width_seconds, start_seconds, key_id, ${bucketFigures.join(", ")})
  SELECT account_id, width, second - second % width, key_id, ${bucketFigures.map((figure) => `sum(${figure})::bigint`).join(", ")}
  FROM json_to_recordset($1::text::json) AS given (
    account_id text, key_id text, second bigint, ${bucketFigures.map((figure) => `${figure} bigint`).join(", ")}),
    unnest('{${bucketWidthsSeconds.join(", ")}}'::bigint[]) AS width
  GROUP BY 1, 2, 3, 4
  ON CONFLICT (account_id, width_seconds, start_seconds, key_id) DO UPDATE SET
    ${bucketFigures.map((figure) => `${figure} = usage_bucket.${figure} + excluded.${figure}`).join(", ")}`;

const claimedBy = (call: HeldCall, keyHash: Uint8Array) => ({
  account_id: call.accountId,
  key_hash: hexOf(keyHash),
  call_id: call.callId,
});

const freeClaims = `
  DELETE FROM claim USING json_to_recordset($1::text::json) AS given (account_id text, key_hash text, call_id text)
  WHERE claim.account_id = given.account_id AND claim.key_hash = decode(given.key_hash, 'hex')
    AND claim.call_id = given.call_id`;

/** The row of a key whose time is over may still be there. Whoever brings the key again takes it over. */
const takeClaims = whole(`
  INSERT INTO claim (account_id, key_hash, fingerprint, call_id, created_at_ms)
  SELECT account_id, decode(key_hash, 'hex'), decode(fingerprint, 'hex'), call_id, created_at_ms
  FROM json_to_recordset($1::text::json) AS given (
    account_id text, key_hash text, fingerprint text, call_id text, created_at_ms bigint)
  ON CONFLICT (account_id, key_hash) DO UPDATE SET
    fingerprint = excluded.fingerprint, call_id = excluded.call_id, created_at_ms = excluded.created_at_ms`);

const openedTaskRow = ({ task, call }: Changes["tasksOpened"][number]) => ({
  call_id: call.callId,
  id: task.id,
  account_id: call.accountId,
  key_id: call.keyId,
  expected: JSON.stringify(task.expected),
  created_at_ms: call.createdAtMs,
  deadline_at_ms: task.deadlineAtMs,
});

const openTasks = whole(`
  INSERT INTO task (call_id, id, account_id, key_id, state, expected, created_at_ms, asked_at_ms, next_poll_at_ms,
                    deadline_at_ms)
  SELECT call_id, id, account_id, key_id, 'CREATING', expected, created_at_ms, created_at_ms, created_at_ms,
         deadline_at_ms
  FROM json_to_recordset($1::text::json) AS given (
    call_id text, id text, account_id text, key_id text, expected text, created_at_ms bigint, deadline_at_ms bigint)`);

const endedTaskRow = ({ taskId, state, report, endedAtMs, forgetAtMs }: Changes["tasksEnded"][number]) => ({
  id: taskId,
  state,
  report: report ? JSON.stringify(report) : null,
  ended_at_ms: endedAtMs,
  forget_at_ms: forgetAtMs,
});

const endTasks = whole(`
  UPDATE task SET state = given.state, report = coalesce(given.report, task.report), ended_at_ms = given.ended_at_ms,
                  forget_at_ms = given.forget_at_ms, lease_until_ms = 0
  FROM json_to_recordset($1::text::json) AS given (
    id text, state text, report text, ended_at_ms bigint, forget_at_ms bigint)
  WHERE task.id = given.id AND ${stillSo("task.ended_at_ms IS NULL")}`);

const freeApprovals = `
  UPDATE approval_item SET call_id = NULL
  FROM json_to_recordset($1::text::json) AS given (id text, call_id text)
  WHERE approval_id = given.id AND approval_item.call_id = given.call_id`;

const useApprovals = whole(`
  UPDATE approval_item SET call_id = given.call_id
  FROM json_to_recordset($1::text::json) AS given (id text, position bigint, call_id text)
  WHERE approval_id = given.id AND approval_item.position = given.position
    AND ${stillSo("approval_item.call_id IS NULL")}`);

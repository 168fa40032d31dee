import type { Attempt } from "../ledger/call-record.ts";
import type { PlacedTask, Task, TaskState } from "../ledger/task-record.ts";
import type { Quantities } from "../prices/quantities.ts";
import { unitPricesOf } from "./call-record-rows.ts";

/** Longer than the longest pause between two questions: whatever can be asked about was asked about by then. */
export const unaskedGraceMs = 60 * 60_000;

/** A task with its call's operation and prices, as both databases give it. */
export interface TaskRow {
  id: string;
  call_id: string;
  account_id: string;
  key_id: string;
  operation_id: string;
  state: Task["state"];
  upstream: string | null;
  upstream_task_id: string | null;
  expected: string;
  price_version: string;
  unit_prices: string;
  attempts: string;
  report: string | null;
  created_at_ms: bigint;
  asked_at_ms: bigint;
  next_poll_at_ms: bigint;
  deadline_at_ms: bigint;
  fence: bigint;
  errors: bigint;
  missing: bigint;
  ended_at_ms: bigint | null;
  forget_at_ms: bigint | null;
}

/** Our own programs wrote these rows; their JSON has the shapes named here. */
export const readTask = (row: TaskRow): Task => ({
  id: row.id,
  callId: row.call_id,
  accountId: row.account_id,
  keyId: row.key_id,
  operationId: row.operation_id,
  state: row.state,
  at:
    row.upstream === null || row.upstream_task_id === null
      ? undefined
      : { upstream: row.upstream, taskId: row.upstream_task_id },
  expected: JSON.parse(row.expected) as Quantities,
  terms: { version: row.price_version, unitPricesPico: unitPricesOf(row.unit_prices) },
  attempts: JSON.parse(row.attempts) as Attempt[],
  report: row.report === null ? undefined : (JSON.parse(row.report) as TaskState),
  createdAtMs: Number(row.created_at_ms),
  askedAtMs: Number(row.asked_at_ms),
  nextPollAtMs: Number(row.next_poll_at_ms),
  deadlineAtMs: Number(row.deadline_at_ms),
  fence: Number(row.fence),
  errors: Number(row.errors),
  missing: Number(row.missing),
  endedAtMs: row.ended_at_ms === null ? undefined : Number(row.ended_at_ms),
  forgetAtMs: row.forget_at_ms === null ? undefined : Number(row.forget_at_ms),
});

/** The row of a task that was just claimed, which nobody does before a vendor has it. */
export function readClaimed(row: TaskRow): PlacedTask {
  const task = readTask(row);
  const { at } = task;
  if (!at) throw new Error(`The task ${task.id} was claimed, but no vendor has it.`);
  return { ...task, at };
}

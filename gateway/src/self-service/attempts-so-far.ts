import type { Attempt, CallRecord } from "../ledger/call-record.ts";
import type { TaskBook } from "../tasks/task-book.ts";

/** What was tried so far for a call that runs; undefined when nobody here knows. */
export type AttemptsOf = (callId: string) => readonly Attempt[] | undefined;

/**
 * Attempts are written with the end of a call. Of one that runs, the process that runs it may know them; of one that
 * began a task, which may run for long, the task does.
 */
export async function withAttemptsSoFar(
  call: CallRecord,
  tasks: TaskBook,
  attemptsOf: AttemptsOf = () => undefined,
): Promise<CallRecord> {
  if (call.settledAtMs !== undefined) return call;
  const attempts = attemptsOf(call.id) ?? (await tasks.findByCall(call.id))?.attempts;
  return attempts ? { ...call, attempts } : call;
}

import { refuseEarlier } from "../../ledger/refuse-earlier.ts";
import { isSuccess, leavesInDoubt, neverSent } from "../../operation/exchanged.ts";
import { readBegunWork } from "../../tasks/read-task-report.ts";
import type { BegunTask } from "../../tasks/task-book.ts";
import { pollAfterMs } from "../../tasks/task-rules.ts";
import { jsonAnswer, type Answer } from "../call.ts";
import { findEarlier } from "../find-earlier.ts";
import type { AttemptedWhole } from "./forward.ts";
import type { Gate } from "../gate.ts";
import type { PricedCall } from "../priced-call.ts";
import { readBooks } from "../read-books.ts";
import { refuseUnbooked } from "../refusals/refuse-unbooked.ts";
import { nothing } from "../metering/metered.ts";
import { settle } from "./settle.ts";
import { refuseForUpstream } from "../refusals/refuse-for-upstream.ts";
import { writeLater } from "../later/write-later.ts";

/**
 * Books what the vendor said about a new task, then answers. Its id is written down and the hold stays; a clear no
 * gives the hold back. Where nobody knows whether the vendor has the task it is lost: never created a second time,
 * and held until its deadline, because it may still be made and billed.
 */
export async function beginTask(
  priced: PricedCall,
  taskId: string,
  attempted: AttemptedWhole,
  gate: Gate,
): Promise<Answer> {
  const { call } = priced;
  const { exchanged, upstream, attempts } = attempted;
  const begun = isSuccess(exchanged) ? readBegunWork(exchanged.answer.json) : undefined;
  if (begun) {
    const nowMs = gate.clock.wallMs();
    const isOurs = await begin(priced, gate, {
      taskId,
      upstream: upstream.name,
      ...begun,
      attempts,
      askedAtMs: nowMs,
      nextPollAtMs: nowMs + pollAfterMs(0, gate.random()),
    });
    if (isOurs) return created(taskId, begun.state, call.id);
  } else if (saysNo(exchanged)) {
    return settle(priced, attempted, nothing, gate);
  }
  gate.log.error("nobody knows whether a task was created; its hold stays until the deadline", {
    task_id: taskId,
    request_id: call.id,
    upstream: upstream.name,
    ...(begun ? { because: "its vendor gave the id of another task" } : {}),
  });
  await gate.tasks.lose(taskId, attempts).catch((error: unknown) => {
    gate.storeNews.failed("a lost task could not be written", error, { request_id: call.id });
    loseLater(taskId, gate, attempts);
  });
  if (exchanged.kind === "answered") {
    return refuseForUpstream({ kind: "no_answer", reason: "malformed", sent: true }, upstream, gate.clock);
  }
  return refuseForUpstream(exchanged, upstream, gate.clock);
}

/** True when the vendor certainly has no such task: it refused, or never heard of it. */
function saysNo(exchanged: AttemptedWhole["exchanged"]): boolean {
  if (exchanged.kind === "no_answer") return neverSent(exchanged) || exchanged.reason === "redirect";
  if (exchanged.kind === "answered" && leavesInDoubt(exchanged.status)) return false;
  return !isSuccess(exchanged);
}

/** False when the id is another task's, which is nothing to this caller. */
async function begin(priced: PricedCall, gate: Gate, begun: BegunTask): Promise<boolean> {
  try {
    return await gate.tasks.begin(begun);
  } catch (error) {
    // The vendor has it. Its id is worth every try, and a stop waits for it: without it the work is done and nobody is
    // charged. Whoever finds it in the log can still ask the vendor.
    const { taskId, upstream, upstreamTaskId, attempts } = begun;
    const about = { task_id: taskId, upstream, upstream_task_id: upstreamTaskId };
    gate.log.error("a new task's id could not be written yet", about);
    const done = gate.begin();
    writeLater(
      { what: "a new task's id", about: { task_id: taskId } },
      async () => {
        if (!(await gate.tasks.begin(begun))) await gate.tasks.lose(taskId, attempts);
        done();
      },
      gate,
    );
    const message =
      "The task was created but could not be written down yet; ask again with the same Idempotency-Key.";
    return refuseUnbooked(error, priced.call, { message, retryable: false }, gate);
  }
}

/** Says that a task is lost, as soon as the store can be written. The next start says the same of what it finds. */
export function loseLater(taskId: string, gate: Gate, attempts: AttemptedWhole["attempts"] = []): void {
  const late = { what: "a lost task", about: { task_id: taskId } };
  writeLater(late, () => gate.tasks.lose(taskId, attempts), gate);
}

/**
 * A creation that is repeated under its idempotency key is answered with the task that there is, also when its result is
 * gone by now. Of a lost one, which nobody can be asked about, only that is told, also when its deadline has passed.
 */
export async function findEarlierTask(priced: PricedCall, gate: Gate): Promise<Answer | undefined> {
  const { call } = priced;
  const earlier = await findEarlier(priced, gate);
  if (!earlier?.sameRequest) return undefined;
  const task = await readBooks(gate.tasks.findByCall(earlier.callId), call, gate);
  // What is still being created, or was refused, is no task yet; admission says how it stands.
  if (!task || task.state === "CREATING" || task.state === "REFUSED") return undefined;
  if (!task.at) return refuseEarlier({ ...earlier, outcome: "unknown" });
  call.known.servedBySandbox = gate.desk.isServedBySandbox(task);
  // An answer to a creation says whether the task has begun, and no more: its end is told to whoever asks about it.
  return created(task.id, task.state === "PENDING" ? "PENDING" : "RUNNING", task.callId);
}

const created = (taskId: string, status: "PENDING" | "RUNNING", requestId: string): Answer =>
  jsonAnswer(200, { output: { task_id: taskId, task_status: status }, request_id: requestId });

import { toldOfLimit } from "../../limits/hit-limit.ts";
import type { TaskOperation } from "../../operation/operation.ts";
import { wholeOf } from "../../operation/exchanged.ts";
import { refuse } from "../../platform/refusals.ts";
import { asksPerSecond } from "../../tasks/poll-floor.ts";
import { taskResource } from "../../tasks/task-resource.ts";
import { jsonAnswer, type Answer, type Call } from "../call.ts";
import type { Gate } from "../gate.ts";
import { returnCounted } from "../limits/return-counted.ts";
import { readBooks } from "../read-books.ts";
import { answerOfUpstream } from "../answer-of-upstream.ts";
import type { Task } from "../../ledger/task-record.ts";
import type { ValidCall } from "../valid-call.ts";

/** Ours are UUIDs and vendors' are words like them; anything else was never the name of a task, and nobody looks for it. */
const taskName = /^[\w-]{1,128}$/;

/** Answers about a task of the caller's own account, free of charge. Another's task looks like none at all. */
export async function answerAboutTask(
  { call, operation, input, caller: { accountId } }: ValidCall<TaskOperation>,
  gate: Gate,
): Promise<Answer> {
  const taskId = input.params["task_id"] ?? "";
  const resource = (task: Task | undefined): Answer => {
    call.known.servedBySandbox = task !== undefined && gate.desk.isServedBySandbox(task);
    return jsonAnswer(200, taskResource(task, { taskId, requestId: call.id, nowMs: gate.clock.wallMs() }));
  };

  if (!taskName.test(taskId)) return resource(undefined);
  await checkPace(call, operation, { accountId, taskId }, gate);
  if (operation.aboutTask === "state") {
    return resource(await readBooks(gate.desk.look(accountId, taskId), call, gate));
  }
  const result = await readBooks(gate.desk.cancel(accountId, taskId), call, gate);
  if (result.kind === "looked") return resource(result.task);
  const { upstream } = result;
  const exchanged = wholeOf(result.exchanged);
  call.known.upstream = upstream.name;
  call.known.servedBySandbox = upstream.sandbox;
  if (exchanged.kind === "rate_limited") await returnCounted(call, gate);
  return answerOfUpstream(exchanged, upstream, gate);
}

async function checkPace(
  call: Call,
  { aboutTask }: TaskOperation,
  { accountId, taskId }: { readonly accountId: string; readonly taskId: string },
  gate: Gate,
): Promise<void> {
  const waitMs = gate.pollFloor.waitMs(accountId, taskId, aboutTask);
  if (waitMs === undefined) return;
  await returnCounted(call, gate);
  const { name, what } = paces[aboutTask];
  refuse(
    "rate_limit_exceeded",
    `A task may be ${what} ${asksPerSecond} times a second.`,
    toldOfLimit({ name, limit: asksPerSecond, retryInMs: waitMs }, gate.clock.wallMs()),
  );
}

const paces = {
  state: { name: "polls_per_second", what: "asked about" },
  cancel: { name: "cancels_per_second", what: "asked to end" },
} as const;

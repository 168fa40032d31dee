// The life of a call, in one straight line. Start reading here. Every door walks it, and each step either
// hands on what the next one needs or refuses; there is no way around a step.

import { isAboutTask, isSold } from "../operation/operation.ts";
import { CallRefused } from "../platform/refusals.ts";
import { answerAboutTask } from "./about-task.ts";
import { actForLink } from "./act-for-link.ts";
import { admit, type Admission } from "./admit.ts";
import { answerFree } from "./answer-free.ts";
import { answerFromBooks } from "./answer-from-books.ts";
import { authenticate } from "./authenticate.ts";
import { beginTask, findEarlierTask, loseLater } from "./begin-task.ts";
import type { Answer, Call } from "./call.ts";
import { endLater } from "./end-later.ts";
import { countOperation, countRequest } from "./count-request.ts";
import { findOperation } from "./find-operation.ts";
import { forward } from "./forward.ts";
import type { Gate } from "./gate.ts";
import { meter } from "./meter.ts";
import { bookedOf, type PaidCall } from "./paid-call.ts";
import { prepare, type Route } from "./prepare.ts";
import { priceCall } from "./price-call.ts";
import { quote } from "./quote.ts";
import { settle } from "./settle.ts";
import { checkMayChange } from "./spend-policy.ts";
import { streamAnswer } from "./stream-answer.ts";
import { validate } from "./validate.ts";
import { readWishes } from "./wishes.ts";

export async function runCall(call: Call, gate: Gate): Promise<Answer> {
  const caller = await authenticate(call, gate); //                              401
  await countRequest(call, caller, gate); //                                     429
  const { offered, params } = findOperation(call); //                            404
  const { operation } = offered;
  await countOperation(call, operation, caller, gate); //                        429
  const input = await validate(call, operation, params); //                      400
  const wishes = readWishes(call, operation, input); //                          400
  checkMayChange(operation, caller); //                                          403
  if (isAboutTask(operation)) return answerAboutTask(call, operation, input, caller, gate);
  if (!isSold(operation)) return answerFromBooks(call, operation, input, caller, wishes, gate);
  if (operation.price.kind === "free") return answerFree(call, operation, offered, input, caller, gate);

  const priced = priceCall(operation, offered, input, caller, gate); //          404 · 503
  call.known.atMostMicros = priced.atMostMicros;
  const acting = operation.link && (await actForLink(operation.link, priced, caller, wishes, gate));
  const taskId = operation.task && gate.newTaskId();
  const paid = { call, operation, input, caller, wishes, priced, acting, taskId };
  const route = prepare(paid, gate); //                                          400
  if (wishes.quote) return quote(operation, priced, gate);

  const earlierTask = taskId === undefined ? undefined : await findEarlierTask(paid, gate);
  if (earlierTask) return earlierTask;

  const admission = await admit(paid, route, gate); //                           409 · 429 · 503 · 402 · 403
  call.known.held = true;
  try {
    const answer = await deliver(paid, admission, route, gate); //               429 · 502 · 503
    // A stream goes on after this; it gives back what it took when it has ended.
    if (answer.ended) answer.ended.then(admission.end, admission.end).catch(() => {});
    else await admission.end();
    return answer;
  } catch (error) {
    // Whatever happens while money is held, the slot comes back.
    await admission.end();
    if (!(error instanceof CallRefused)) endAfterBug(paid, gate);
    throw error;
  }
}

async function deliver(paid: PaidCall, admission: Admission, route: Route, gate: Gate): Promise<Answer> {
  const attempted = await forward(paid, admission.turn, route, gate);
  if (paid.taskId !== undefined) return beginTask(paid, paid.taskId, attempted, gate);
  if (attempted.exchanged.kind === "streaming") {
    return streamAnswer(bookedOf(paid), attempted, admission, gate);
  }
  const metered = meter(paid, attempted, gate);
  admission.used(metered.used);
  return settle(paid, attempted, metered, gate);
}

/** A bug of ours ends the hold: nothing was delivered. Only a task may be made all the same, so its hold waits for the deadline. */
function endAfterBug({ call, taskId }: PaidCall, gate: Gate): void {
  if (taskId === undefined) endLater(call.id, gate);
  else loseLater(taskId, gate);
}

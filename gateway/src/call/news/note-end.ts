// What is counted and logged when a call has been answered or refused, whatever the door it came through.

import { describeError } from "../../platform/log.ts";
import { CallRefused } from "../../platform/refusals.ts";
import type { Answer, Call } from "../call.ts";
import type { Gate } from "../gate.ts";
import { logCall } from "./log-call.ts";

type EndedCall = Pick<Call, "id" | "known" | "receivedAtMs">;
type Parts = Pick<Gate, "clock" | "log" | "metrics">;

export function noteAnswered(call: EndedCall, { status }: Pick<Answer, "status">, parts: Parts): void {
  countCall(call, status, parts);
  logCall("call", call, status, parts);
}

/** The call is undefined where not even a call could be made of the request. */
export function noteRefused(
  call: EndedCall | undefined,
  { code, status }: Pick<CallRefused, "code" | "status">,
  parts: Parts,
): void {
  parts.metrics.count("tollgate_refusals_total", { code });
  countCall(call, status, parts);
  if (call) logCall("call", call, status, parts, code);
}

/** What ended a call, as its caller is told it. Whatever was not refused on purpose is a bug: the log has it, the caller an id. */
export function refusalOf(
  error: unknown,
  call: Pick<Call, "id" | "path"> | undefined,
  { log }: Pick<Gate, "log">,
): CallRefused {
  if (error instanceof CallRefused) return error;
  log.error("a call failed unexpectedly", {
    request_id: call?.id,
    path: call?.path,
    ...describeError(error),
  });
  return new CallRefused("internal", "internal error");
}

/** Counts a call, refused or not, and how long it took until its answer began. */
function countCall(call: EndedCall | undefined, status: number, { metrics, clock }: Parts): void {
  const operation = call?.known.offered?.operation.id ?? "none";
  metrics.count("tollgate_calls_total", { operation, status: String(status) });
  metrics.observe("tollgate_call_seconds", { operation }, call ? clock.wallMs() - call.receivedAtMs : 0);
}

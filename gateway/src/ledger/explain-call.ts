import { multiplierFromPpm } from "../platform/money.ts";
import { callerLeft, callerStalled, gatewayStopped, type CallRecord } from "./call-record.ts";

/** Why held, value and charge differ, in a sentence or more. */
export function explainCall(call: CallRecord): string {
  switch (call.state) {
    case "held":
    case "dispatched":
      return `${call.heldMicros} micro-USD are held until the call ends; nothing is charged yet.`;
    case "unknown":
      return `It is not known how the call ended; ${call.heldMicros} micro-USD stay held until that is resolved.`;
    case "released":
      return whyReleased(call);
    case "settled":
      return [...howItEnded(call), ...whatItCost(call)].join(" ");
  }
}

function whyReleased({ outcome, httpStatus, attempts }: CallRecord): string {
  const last = attempts.at(-1)?.outcome;
  if (outcome === "unknown" && httpStatus !== undefined) {
    return "The upstream answered, but the end of the call could not be booked, so the caller was not given the answer. Nothing was charged and the hold was released.";
  }
  if (outcome === "unknown" && last === gatewayStopped) {
    return "The gateway stopped before an answer had come, so it is not known whether the upstream did the work. Nothing was charged and the hold was released.";
  }
  // Only a task is released after an answer without a status of its end: it was created, or nobody could read whether.
  if (outcome === "unknown" && last === "answered") {
    return "The provider took the task, or answered in a way that cannot be read, and never said how it ended. Nothing was charged and the hold was released.";
  }
  if (outcome === "unknown") {
    return "No answer came back, so it is not known whether the upstream did the work. Nothing was charged and the hold was released.";
  }
  if (last === gatewayStopped) {
    return "The gateway stopped before anything of the answer had come, so nothing was charged and the hold was released.";
  }
  if (last === callerLeft) {
    return "The caller left before anything of the answer had come, so nothing was charged and the hold was released.";
  }
  return "The call did not succeed, so nothing was charged and the hold was released.";
}

/** Empty for a call that came to its end. */
function howItEnded({ outcome, used, attempts }: CallRecord): string[] {
  const last = attempts.at(-1)?.outcome;
  if (outcome === "unknown" || last === gatewayStopped) {
    return ["The gateway stopped while this call was streaming; what it had delivered by then is paid for."];
  }
  // Only answers that are counted in tokens are streamed, and beside a stream only a task can fail when some of it was made.
  if (outcome === "failed" && used["output_tokens"] === undefined) {
    return ["The task was cancelled; what had been made of it by then is paid for."];
  }
  if (outcome === "failed") {
    const how =
      last === callerStalled
        ? "The answer ended too early after the caller had stopped reading for a while"
        : "The provider's answer broke off or ended with an error";
    return [`${how}; what had passed of it by then is paid for.`];
  }
  if (last === callerLeft) {
    return ["The caller left before the end of the answer; what was used of it is paid for all the same."];
  }
  return [];
}

function whatItCost(call: CallRecord): string[] {
  const reasons = [
    `Held ${call.heldMicros} micro-USD as the most it could cost; metered ${call.valueMicros} at list price; charged ${call.chargedMicros}.`,
  ];
  if (call.multiplierPpm !== 1_000_000n) {
    reasons.push(`The plan multiplies list prices by ${multiplierFromPpm(call.multiplierPpm)}.`);
  }
  // Of a stream that broke off it may have told what it read, or what it had written at some point.
  if (call.usageSource === "estimated") {
    reasons.push("The provider did not report all that was used; the rest was estimated.");
  }
  if (call.writtenOffMicros > 0n) {
    reasons.push(`${call.writtenOffMicros} micro-USD above the hold were written off, not charged.`);
  }
  reasons.push("Fractions of a micro-USD are carried to the account's next call.");
  return reasons;
}

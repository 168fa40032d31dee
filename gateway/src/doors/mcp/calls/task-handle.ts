import type { Offer } from "../../../offer/offer.ts";
import type { Operation } from "../../../operation/operation.ts";
import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import { beginsTask, pollOperationId } from "../tools/operation-facts.ts";
import type { TaskHandle } from "../tools/tool-shapes.ts";

const pollAfterSeconds = 3;
const states: ReadonlySet<string> = new Set([
  "PENDING",
  "RUNNING",
  "SUCCEEDED",
  "FAILED",
  "CANCELED",
  "UNKNOWN",
]);

/** The task an operation started, and how to ask for it; undefined for operations that answer with their work. */
export function taskHandleOf(operation: Operation, offer: Offer, result: JsonObject): TaskHandle | undefined {
  const output = result["output"];
  const poll = beginsTask(operation) ? pollOperationId(offer) : undefined;
  if (poll === undefined || !isJsonObject(output) || typeof output["task_id"] !== "string") return undefined;
  const status = output["task_status"];
  return {
    task_id: output["task_id"],
    task_status: typeof status === "string" && states.has(status) ? status : "UNKNOWN",
    poll_operation_id: poll,
    poll_after_seconds: pollAfterSeconds,
  };
}

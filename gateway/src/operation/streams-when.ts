import { emptyInput } from "./call-input.ts";
import { isSold, type Operation } from "./operation.ts";

/**
 * What decides whether an answer comes piece by piece: `always` it does, `flag` when the body says `stream: true`,
 * `sometimes` by words of its own.
 */
export type StreamsWhen = "always" | "flag" | "sometimes";

/** Undefined for an operation that never streams. */
export function streamsWhen(operation: Operation): StreamsWhen | undefined {
  if (!isSold(operation) || !operation.streams) return undefined;
  const { streams } = operation;
  try {
    if (streams({ ...emptyInput, body: {} })) return "always";
    return streams({ ...emptyInput, body: { stream: true } }) ? "flag" : "sometimes";
  } catch {
    // It looks at more of its input than there is here.
    return "sometimes";
  }
}

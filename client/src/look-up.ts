import { membersOf, readAnswer } from "./read-answer.ts";
import type { Found } from "./retry-rules.ts";
import { open, type OutgoingCall, type Transport } from "./transport.ts";

/** The receipt of a call, as much of it as decides what to do. */
export interface Outcome {
  readonly found: Found;
  readonly requestId: string | undefined;
}

/**
 * What the books say about a call, by its idempotency key or, where it has none, by its request id. Undefined when
 * nobody could be asked: no id is known, the books did not answer, or the caller stopped waiting.
 */
export async function lookUp(
  by: Pick<OutgoingCall, "idempotencyKey" | "signal"> & { readonly requestId: string | undefined },
  transport: Transport,
): Promise<Outcome | undefined> {
  const path =
    by.idempotencyKey === undefined
      ? by.requestId && `/v1/requests/${encodeURIComponent(by.requestId)}`
      : `/v1/requests?idempotency_key=${encodeURIComponent(by.idempotencyKey)}`;
  if (path === undefined || path === "") return undefined;
  const signal = AbortSignal.any([by.signal, AbortSignal.timeout(waitMs)]);
  const question = { method: "GET", path, headers: {}, billed: false, idempotencyKey: undefined } as const;
  try {
    const response = await open({ ...question, signal }, transport);
    const { status, body } = await readAnswer(response, transport.headerWord, transport.clock.nowMs());
    if (by.idempotencyKey === undefined) {
      if (status === 404) return { found: { kind: "not_found" }, requestId: by.requestId };
      return status === 200 ? outcomeOf(body) : undefined;
    }
    if (status !== 200) return undefined;
    const { data } = membersOf(body);
    if (!Array.isArray(data)) return undefined;
    return data.length === 0 ? { found: { kind: "not_found" }, requestId: undefined } : outcomeOf(data[0]);
  } catch {
    return undefined;
  }
}

/** The books answer at once or not at all; a look is soon repeated. */
const waitMs = 30_000;

function outcomeOf(receipt: unknown): Outcome | undefined {
  const { request_id: requestId, status, outcome, charged_micros_usd: charged } = membersOf(receipt);
  if (typeof requestId !== "string" || typeof charged !== "number") return undefined;
  if (status === "settled" || status === "released") {
    const known = outcome === "succeeded" || outcome === "failed" ? outcome : "unknown";
    return { found: { kind: "ended", chargedMicrosUsd: charged, outcome: known }, requestId };
  }
  return { found: { kind: "running" }, requestId };
}

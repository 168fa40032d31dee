import type { TollgateError } from "./errors.ts";
import { errorOf, type Failure, type SentCall } from "./failure.ts";
import { lookUp } from "./look-up.ts";
import { createPatience } from "./patience.ts";
import { readHead, type Answer } from "./read-answer.ts";
import { readStreamError } from "./stream-error.ts";
import { readEvents, type StreamEnd, type StreamEvent } from "./stream.ts";
import type { Transport } from "./transport.ts";

/** A stream on its way. Iterate over it once; `end()` tells what it cost when it is through. */
export interface EventStream extends AsyncIterable<StreamEvent> {
  readonly requestId: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly attempts: number;
  /**
   * What the stream cost in the end. Call it after the iteration. Where that was left early, the books say what was used
   * until then; where it failed, this fails with the same error.
   */
  readonly end: () => Promise<StreamEnd>;
}

/** Hands on the events of a stream that has begun. A stream is never begun twice: what passed has been paid for. */
export function relayStream(response: Response, sent: SentCall, transport: Transport): EventStream {
  const { requestId } = readHead(response, transport.headerWord, transport.clock.nowMs());
  const failure: Failure = { ...sent, requestId };
  let ended: StreamEnd | TollgateError | "not_yet" = "not_yet";
  let saidError: unknown;

  const endWith = (costMicrosUsd: number | undefined): StreamEnd | TollgateError =>
    saidError === undefined ? { costMicrosUsd } : brokenOff(failure, saidError, costMicrosUsd);

  async function* events(): AsyncGenerator<StreamEvent> {
    try {
      if (!response.body) throw new Error("The stream has no body.");
      const reading = readEvents(response.body, transport.attemptTimeoutMs);
      const closing = yield* lookedAt(reading, (event) => {
        saidError ??= readStreamError(event);
      });
      ended = endWith(closing.costMicrosUsd ?? (await chargedInTheEnd(failure, transport)));
    } catch (cause) {
      ended = await cutOff({ ...failure, cause }, transport);
    }
    if (!("costMicrosUsd" in ended)) throw ended;
  }
  const iterator = events();

  const end = async (): Promise<StreamEnd> => {
    if (ended === "not_yet") {
      await iterator.return(undefined);
      // An iteration that never began has nothing to end, so the stream itself is ended for it.
      if (response.body?.locked === false) await response.body.cancel().catch(() => {});
      ended = endWith(await chargedInTheEnd(failure, transport));
    }
    if ("costMicrosUsd" in ended) return ended;
    throw ended;
  };
  return {
    requestId,
    idempotencyKey: sent.call.idempotencyKey,
    attempts: sent.attempts,
    end,
    [Symbol.asyncIterator]: () => iterator,
  };
}

/** Looks at every event and hands it on. Leaving the iteration early ends the reading, too. */
async function* lookedAt(
  reading: AsyncGenerator<StreamEvent, StreamEnd>,
  look: (event: StreamEvent) => void,
): AsyncGenerator<StreamEvent, StreamEnd> {
  try {
    for (;;) {
      const next = await reading.next();
      if (next.done === true) return next.value;
      look(next.value);
      yield next.value;
    }
  } finally {
    await reading.return({ costMicrosUsd: undefined });
  }
}

/** An answer that is no stream, though one was asked for, is told as it is; it was paid for all the same. */
export async function refuseWhole(
  answer: Answer,
  sent: SentCall,
  transport: Transport,
): Promise<TollgateError> {
  const failure: Failure = { ...sent, requestId: answer.requestId, answer };
  const charged = answer.costMicrosUsd ?? (await chargedInTheEnd(failure, transport));
  return errorOf(failure, { kind: "malformed_answer", code: "not_a_stream", ...moneyOf(charged) });
}

/** The vendor gave up in the middle, and the gateway said so in an event before it closed the stream as usual. */
const brokenOff = (failure: Failure, said: unknown, charged: number | undefined): TollgateError =>
  errorOf(failure, { kind: "unavailable", body: said, ...moneyOf(charged) });

/** The connection is gone, but the gateway may still be reading to the end for an exact bill: the books will know. */
async function cutOff(failure: Failure, transport: Transport): Promise<TollgateError> {
  if (failure.call.signal.aborted) return errorOf(failure, { kind: "aborted", moneyMoved: "unknown" });
  return errorOf(failure, moneyOf(await chargedInTheEnd(failure, transport)));
}

const moneyOf = (charged: number | undefined) =>
  charged === undefined
    ? ({ moneyMoved: "unknown" } as const)
    : ({ moneyMoved: charged > 0 ? "yes" : "no", chargedMicrosUsd: charged } as const);

/**
 * A stream that the gateway reads on for its bill ends within minutes; after this many looks the caller gets what is known
 * so far.
 */
const looksMax = 12;

/** What the books say once the call has ended; undefined when they do not say so in time, or the caller stops. */
export async function chargedInTheEnd(failure: Failure, transport: Transport): Promise<number | undefined> {
  const { call, requestId } = failure;
  if (requestId === undefined) return undefined;
  const patience = createPatience(transport, call.signal);
  const by = { idempotencyKey: undefined, requestId, signal: call.signal };
  for (let looks = 1; ; looks++) {
    const outcome = await lookUp(by, transport);
    if (outcome?.found.kind === "ended") return outcome.found.chargedMicrosUsd;
    if (outcome?.found.kind === "not_found") return 0;
    if (looks >= looksMax) return undefined;
    try {
      await patience.wait(undefined, () => errorOf(failure, { moneyMoved: "unknown" }));
    } catch {
      return undefined;
    }
  }
}

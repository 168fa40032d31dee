import { errorOf, type Failure } from "./failure.ts";
import { lookUp } from "./look-up.ts";
import { createPatience } from "./patience.ts";
import { readHead } from "./read-answer.ts";
import { readEvents, type StreamEnd, type StreamEvent } from "./stream.ts";
import type { OutgoingCall, Transport } from "./transport.ts";

/** A stream on its way. Iterate over it once; `end` tells what it cost when it is through. */
export interface EventStream extends AsyncIterable<StreamEvent> {
  readonly requestId: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** Resolves when the stream has ended well; rejects as the iteration does. */
  readonly end: Promise<StreamEnd>;
}

/** Hands on the events of a stream that has begun. A stream is never begun twice: what passed has been paid for. */
export function relayStream(
  response: Response,
  { call, attempts }: { readonly call: OutgoingCall; readonly attempts: number },
  transport: Transport,
  signal: AbortSignal,
): EventStream {
  const { requestId } = readHead(response, transport.headerWord, transport.clock.nowMs());
  const failure: Failure = { call, attempts, requestId };
  const { promise: end, resolve, reject } = Promise.withResolvers<StreamEnd>();
  // Whoever only iterates sees the error there; nobody is forced to look at `end`.
  end.catch(() => {});

  async function* events(): AsyncGenerator<StreamEvent> {
    if (!response.body) throw new Error("The stream has no body.");
    try {
      const closing = yield* readEvents(response.body);
      const cost = closing.costMicrosUsd ?? (await chargedInTheEnd(failure, transport, signal));
      resolve({ costMicrosUsd: cost });
    } catch (cause) {
      const error = await cutOff({ ...failure, cause }, transport, signal);
      reject(error);
      throw error;
    }
  }
  const iterator = events();
  return { requestId, idempotencyKey: call.idempotencyKey, end, [Symbol.asyncIterator]: () => iterator };
}

/** The connection is gone, but the gateway may still be reading to the end for an exact bill: the books will know. */
async function cutOff(failure: Failure, transport: Transport, signal: AbortSignal) {
  if (signal.aborted) return errorOf(failure, { kind: "aborted", moneyMoved: "unknown" });
  const charged = await chargedInTheEnd(failure, transport, signal);
  if (charged === undefined) return errorOf(failure, { moneyMoved: "unknown" });
  return errorOf(failure, { moneyMoved: charged > 0 ? "yes" : "no", chargedMicrosUsd: charged });
}

/** A stream that is read on for its bill ends within minutes; after so many looks its caller is told so far. */
const looksMax = 12;

async function chargedInTheEnd(
  failure: Failure,
  transport: Transport,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (failure.requestId === undefined) return undefined;
  const patience = createPatience(transport, signal);
  const unknown = () => errorOf(failure, { moneyMoved: "unknown" });
  for (let looks = 1; looks <= looksMax; looks++) {
    const by = { idempotencyKey: undefined, requestId: failure.requestId };
    const outcome = await lookUp(by, transport, signal);
    if (outcome?.found.kind === "ended") return outcome.found.chargedMicrosUsd;
    if (outcome?.found.kind === "not_found") return 0;
    await patience.wait(undefined, unknown);
  }
  return undefined;
}

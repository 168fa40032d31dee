// The life of a call, in one straight line. Start reading here. Every door walks it, and each step either
// hands on what the next one needs or refuses; there is no way around a step.

import { isSold } from "../operation/operation.ts";
import { CallRefused } from "../platform/refusals.ts";
import { admit } from "./admit.ts";
import { answerFromBooks } from "./answer-from-books.ts";
import { authenticate } from "./authenticate.ts";
import type { Answer, Call } from "./call.ts";
import { countRequest } from "./count-request.ts";
import { findOperation } from "./find-operation.ts";
import { forward } from "./forward.ts";
import type { Gate } from "./gate.ts";
import { meter } from "./meter.ts";
import { priceCall } from "./price-call.ts";
import { quote, wantsQuote } from "./quote.ts";
import { settle } from "./settle.ts";
import { validate } from "./validate.ts";

export async function runCall(call: Call, gate: Gate): Promise<Answer> {
  const caller = await authenticate(call, gate); //                       401
  await countRequest(call, caller, gate); //                              429
  const { offered, params } = findOperation(call); //                     404
  const { operation } = offered;
  const input = await validate(call, operation, params); //               400
  const quoting = wantsQuote(call, operation);
  if (!isSold(operation)) return answerFromBooks(operation, input, caller, gate);

  const priced = priceCall(call, offered, input, caller, gate); //        404 · 503
  if (quoting) return quote(operation, priced, gate);

  await admit(call, operation, priced, caller, gate); //                  402 · 403
  return endingHeld(call, gate, async () => {
    const attempted = await forward(call, operation, priced, input, gate);
    const metered = meter(operation, priced, input, attempted, gate);
    return settle(call, operation, priced, attempted, metered, gate); //  429 · 502 · 503
  });
}

/** Should a bug of ours strike while money is held, the hold still ends: nothing was shown to be delivered. */
async function endingHeld(call: Call, gate: Gate, steps: () => Promise<Answer>): Promise<Answer> {
  try {
    return await steps();
  } catch (error) {
    if (!(error instanceof CallRefused)) {
      const settledAtMs = gate.clock.wallMs();
      await gate.ledger.release({
        callId: call.id,
        outcome: "unknown",
        httpStatus: undefined,
        attempts: [],
        settledAtMs,
      });
    }
    throw error;
  }
}

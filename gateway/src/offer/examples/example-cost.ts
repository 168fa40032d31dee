import type { CallInput } from "../../operation/call-input.ts";
import { valuePico } from "../../prices/terms.ts";
import { microsRoundedUp, multiplierOne, type Micros } from "../../platform/money.ts";
import { estimateCall } from "../estimate-call.ts";
import type { ExampleRequest } from "./example-request.ts";
import type { OfferedOperation } from "../offer.ts";

/** The most that an example can cost at list price; undefined when it has none. */
export function exampleCostMicros(offered: OfferedOperation, request: ExampleRequest): Micros | undefined {
  const input = inputOf(offered, request);
  const estimate = input && estimateCall(offered, request.model, input);
  const terms = request.model?.terms ?? offered.terms;
  return estimate && terms && microsRoundedUp(valuePico(estimate.atMost, terms) * multiplierOne);
}

/** As a call has it once it was validated; undefined for an example that would be refused. */
function inputOf(
  { operation }: OfferedOperation,
  { params, query, body }: ExampleRequest,
): CallInput | undefined {
  const parsedQuery = operation.query.safeParse(query);
  const parsedBody = operation.body?.safeParse(body);
  if (!parsedQuery.success || parsedBody?.success === false) return undefined;
  return {
    query: parsedQuery.data,
    body: parsedBody?.data,
    params,
    rawQuery: new URLSearchParams(query).toString(),
    // Input is bounded by its bytes, and a pasted example is sent as it is laid out on the page.
    rawBody: new TextEncoder().encode(body ? JSON.stringify(body, null, 4) : ""),
  };
}

// What a client does with any operation, whatever its types: makes a call, quotes it, streams it, reads its pages.

import { buildCall, checkArguments, type CallOptions } from "./build-call.ts";
import { misuse, type TollgateError } from "./errors.ts";
import { errorOf, type Failure } from "./failure.ts";
import type { Arguments, Names, OperationFacts } from "./operation-facts.ts";
import type { CostEstimate } from "./operations.ts";
import { readPages, type Paging } from "./paging.ts";
import { membersOf, type Answer } from "./read-answer.ts";
import { chargedInTheEnd, refuseWhole, relayStream, type EventStream } from "./relay-stream.ts";
import { readStreamOrWhole, readWhole, sendCall } from "./send-call.ts";
import type { OutgoingCall, Transport } from "./transport.ts";

/** An answer, and what it cost. */
export interface Result<Data> {
  readonly data: Data;
  readonly status: number;
  readonly requestId: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** Undefined where neither the answer nor the books could tell; and for a task, which is paid when it has ended. */
  readonly chargedMicrosUsd: number | undefined;
  readonly attempts: number;
}

export type Signal = Pick<CallOptions, "signal">;

/** Programs without types may leave the arguments out. */
export interface Calls {
  readonly call: (id: string, args?: Arguments, options?: CallOptions) => Promise<Result<unknown>>;
  readonly quote: (id: string, args?: Arguments, options?: Signal) => Promise<CostEstimate>;
  readonly stream: (id: string, args?: Arguments, options?: CallOptions) => Promise<EventStream>;
  readonly pages: <Item>(
    id: string,
    args: Arguments | undefined,
    by: Paging<unknown, Item>,
    options?: CallOptions,
  ) => AsyncGenerator<Item>;
}

interface Parts {
  readonly transport: Transport;
  readonly names: Names;
  readonly factsOf: (id: string) => OperationFacts<object>;
}

export function createCalls({ transport, names, factsOf }: Parts): Calls {
  const build = (id: string, args: Arguments | undefined, callOptions: CallOptions): OutgoingCall =>
    buildCall(factsOf(id), checkArguments(args), { names, options: callOptions, newKey: transport.newKey });

  const send = async (outgoing: OutgoingCall): Promise<Result<unknown>> => {
    const { value, ...sent } = await sendCall(outgoing, transport, readWhole);
    const failure = { ...sent, requestId: value.requestId, answer: value };
    const charged = await chargedFor(failure, transport);
    if (value.malformed) throw unreadable(failure, charged);
    return {
      data: value.body,
      status: value.status,
      requestId: receiptIdOf(value, outgoing),
      idempotencyKey: outgoing.idempotencyKey,
      chargedMicrosUsd: charged,
      attempts: sent.attempts,
    };
  };

  const call: Calls["call"] = async (id, args, callOptions = {}) => {
    const { streams } = factsOf(id);
    if (streams === "always" || (streams !== undefined && checkArguments(args)["stream"] === true)) {
      throw misuse("would_stream", `${id} would stream here; ask for it with stream().`);
    }
    return send(build(id, args, callOptions));
  };

  const quote: Calls["quote"] = async (id, args, { signal } = {}) => {
    const outgoing = build(id, args, { signal });
    const headers = { ...outgoing.headers, [`x-${transport.headerWord}-cost-mode`]: "quote" };
    const asking = { ...outgoing, headers, billed: false, idempotencyKey: undefined };
    const { data, requestId, attempts } = await send(asking);
    if (membersOf(data)["object"] === "cost_estimate") return data as CostEstimate;
    // A gateway whose headers have another name does not see the question, and makes the call.
    const failure = { call: outgoing, attempts, requestId };
    throw unreadable(failure, await chargedInTheEnd(failure, transport), "not_a_quote");
  };

  const stream: Calls["stream"] = async (id, args, callOptions = {}) => {
    const { streams } = factsOf(id);
    if (streams === undefined) throw misuse("does_not_stream", `${id} does not stream.`);
    const asked = checkArguments(args);
    const outgoing = build(id, streams === "flag" ? { ...asked, stream: true } : asked, callOptions);
    const { value, ...sent } = await sendCall(outgoing, transport, readStreamOrWhole);
    if ("whole" in value) throw await refuseWhole(value.whole, sent, transport);
    return relayStream(value.stream, sent, transport);
  };

  const pages: Calls["pages"] = (id, given, by, pageOptions) => {
    const args = checkArguments(given);
    const { cursor: name = "cursor" } = by;
    const load = async (cursor: string | undefined): Promise<unknown> => {
      const asked = cursor === undefined ? args : { ...args, [name]: cursor };
      return (await call(id, asked, pageOptions)).data;
    };
    return readPages(load, by, args[name]);
  };

  return { call, quote, stream, pages };
}

/** As the answer says; where it says nothing, as the books say once the call has ended. A task ends much later. */
async function chargedFor(sent: Failure, transport: Transport): Promise<number | undefined> {
  const { billed, repeatsAnswer } = sent.call;
  if (!billed) return 0;
  const said = sent.answer?.costMicrosUsd;
  return said !== undefined || repeatsAnswer === true ? said : chargedInTheEnd(sent, transport);
}

/**
 * A repeated creation is answered with the first task, whose receipt is that of the call that made it; the body names that
 * call.
 */
function receiptIdOf({ requestId, body }: Answer, { repeatsAnswer }: OutgoingCall): string | undefined {
  const named = repeatsAnswer === true ? membersOf(body)["request_id"] : undefined;
  return typeof named === "string" ? named : requestId;
}

/** The call went through and may have been charged, but an answer that cannot be read cannot be handed on. */
const unreadable = (
  failure: Failure,
  charged: number | undefined,
  code = "malformed_answer",
): TollgateError =>
  errorOf(failure, {
    kind: "malformed_answer",
    code,
    moneyMoved: charged === undefined ? "unknown" : charged > 0 ? "yes" : "no",
    chargedMicrosUsd: charged,
  });

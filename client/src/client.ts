// A client that keeps the gateway's rules: what it sends again is safe to send again, what it reports as charged is
// what the ledger says, and every logical call has one idempotency key.

import { buildCall, checkArguments, type CallOptions } from "./build-call.ts";
import { createTransport, type ClientOptions } from "./create-transport.ts";
import { misuse, type TollgateError } from "./errors.ts";
import { errorOf, type Failure } from "./failure.ts";
import { createFactsOf, type InputOf, type KnownId, type OutputOf } from "./known-operations.ts";
import { usualNames, type Arguments, type Names, type OperationTable } from "./operation-facts.ts";
import type { CostEstimate, Inputs, Outputs } from "./operations.ts";
import { readPages, type Paging } from "./paging.ts";
import { membersOf, type Answer } from "./read-answer.ts";
import { chargedInTheEnd, refuseWhole, relayStream, type EventStream } from "./relay-stream.ts";
import { readStreamOrWhole, readWhole, sendCall } from "./send-call.ts";
import { waitForTask, type TaskState, type WaitOptions } from "./tasks.ts";
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

/** What a call would cost. */
export type Quote = CostEstimate;

/** A link to begin: the person opens `auth_url` and agrees there, before `expires_at`. */
export type LinkStart = Outputs["social_a.link.start"];

type Signal = Pick<CallOptions, "signal">;
type Filter = Omit<Inputs["requests.list"], "cursor" | "idempotency_key">;

/** `Own` are the operations that it knows beside those that ship: `Client<typeof operations>`. */
export interface Client<Own extends OperationTable = Record<never, never>> {
  /** Makes a call; its answer comes whole, with what it cost. */
  readonly call: <Id extends KnownId<Own>>(
    id: Id,
    args: InputOf<Own, Id>,
    options?: CallOptions,
  ) => Promise<Result<OutputOf<Own, Id>>>;
  /** What this very call would cost. Free; nothing is executed. */
  readonly quote: <Id extends KnownId<Own>>(
    id: Id,
    args: InputOf<Own, Id>,
    options?: Signal,
  ) => Promise<Quote>;
  /** Makes a call whose answer comes piece by piece. */
  readonly stream: <Id extends KnownId<Own>>(
    id: Id,
    args: InputOf<Own, Id>,
    options?: CallOptions,
  ) => Promise<EventStream>;
  /** Every item of every page, asking for the next page only when it is wanted: each page may cost money. */
  readonly pages: <Id extends KnownId<Own>, Item>(
    id: Id,
    args: InputOf<Own, Id>,
    by: Paging<OutputOf<Own, Id>, Item>,
    options?: Omit<CallOptions, "idempotencyKey">,
  ) => AsyncGenerator<Item>;
  /** The account's receipts, newest first. */
  readonly receipts: (filter?: Filter, options?: Signal) => AsyncGenerator<Outputs["requests.get"]>;
  readonly receipt: (requestId: string, options?: Signal) => Promise<Outputs["requests.get"]>;
  /** What became of a call of which only the idempotency key is left; undefined when it never began. */
  readonly outcome: (
    idempotencyKey: string,
    options?: Signal,
  ) => Promise<Outputs["requests.get"] | undefined>;
  readonly usage: (window: Inputs["usage.get"], options?: Signal) => Promise<Outputs["usage.get"]>;
  readonly balance: (options?: Signal) => Promise<Outputs["credits.balance"]>;
  readonly startLink: (
    args?: { readonly scopes?: Inputs["social_a.link.start"]["scopes"] },
    options?: Signal,
  ) => Promise<LinkStart>;
  /** Asks about a task until it is final: SUCCEEDED, FAILED or CANCELED. */
  readonly waitForTask: (taskId: string, options?: WaitOptions) => Promise<TaskState>;
}

export function createClient<const Own extends OperationTable = Record<never, never>>(
  options: ClientOptions<Own>,
): Client<Own> {
  const names: Names = { ...usualNames, ...options.names };
  const transport = createTransport(options, names);
  const factsOf = createFactsOf(options.operations ?? {});
  const { clock, random } = transport;

  const build = (id: string, args: Arguments | undefined, callOptions: CallOptions): OutgoingCall =>
    buildCall(factsOf(id), checkArguments(args), { names, options: callOptions, newKey: transport.newKey });

  const send = async (outgoing: OutgoingCall): Promise<Result<unknown>> => {
    const { value, ...sent } = await sendCall(outgoing, transport, readWhole);
    const failure = { ...sent, requestId: value.requestId, answer: value };
    const charged = await chargedFor(failure, value.costMicrosUsd, transport);
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

  const call = async (id: string, args?: Arguments, callOptions: CallOptions = {}) => {
    const { streams } = factsOf(id);
    if (streams === "always" || (streams !== undefined && checkArguments(args)["stream"] === true)) {
      throw misuse("would_stream", `${id} would stream here; ask for it with stream().`);
    }
    return send(build(id, args, callOptions));
  };

  const quote = async (id: string, args?: Arguments, { signal }: Signal = {}): Promise<Quote> => {
    const outgoing = build(id, args, { signal });
    const headers = { ...outgoing.headers, [`x-${transport.headerWord}-cost-mode`]: "quote" };
    const asking = { ...outgoing, headers, billed: false, idempotencyKey: undefined };
    const { data, requestId, attempts } = await send(asking);
    if (membersOf(data)["object"] === "cost_estimate") return data as Quote;
    // A gateway with another word for its headers takes the question for the call itself.
    const failure = { call: outgoing, attempts, requestId };
    throw unreadable(failure, await chargedInTheEnd(failure, transport), "not_a_quote");
  };

  const stream = async (
    id: string,
    args?: Arguments,
    callOptions: CallOptions = {},
  ): Promise<EventStream> => {
    const { streams } = factsOf(id);
    if (streams === undefined) throw misuse("does_not_stream", `${id} does not stream.`);
    const asked = checkArguments(args);
    const outgoing = build(id, streams === "flag" ? { ...asked, stream: true } : asked, callOptions);
    const { value, ...sent } = await sendCall(outgoing, transport, readStreamOrWhole);
    if ("whole" in value) throw await refuseWhole(value.whole, sent, transport);
    return relayStream(value.stream, sent, transport);
  };

  const pages = <Item>(
    id: string,
    given: Arguments | undefined,
    by: Paging<unknown, Item>,
    pageOptions?: CallOptions,
  ): AsyncGenerator<Item> => {
    const args = checkArguments(given);
    const { cursor: name = "cursor" } = by;
    const load = async (cursor: string | undefined): Promise<unknown> => {
      const asked = cursor === undefined ? args : { ...args, [name]: cursor };
      return (await call(id, asked, pageOptions)).data;
    };
    return readPages(load, by, args[name]);
  };

  // The types are the contract's word; the gateway's own tests hold its answers against the same contract.
  const typed = { call, quote, stream, pages } as unknown as Pick<
    Client<Own>,
    "call" | "quote" | "stream" | "pages"
  >;
  const shipped = { call, pages } as unknown as Pick<Client, "call" | "pages">;

  return {
    ...typed,
    receipts: (filter = {}, receiptOptions = {}) =>
      shipped.pages(
        "requests.list",
        filter,
        { items: (page) => page.data, next: (page) => page.next_cursor },
        receiptOptions,
      ),
    receipt: async (requestId, { signal } = {}) =>
      (await shipped.call("requests.get", { request_id: requestId }, { signal })).data,
    outcome: async (idempotencyKey, { signal } = {}) =>
      (await shipped.call("requests.list", { idempotency_key: idempotencyKey }, { signal })).data.data[0],
    usage: async (window, { signal } = {}) => (await shipped.call("usage.get", window, { signal })).data,
    balance: async ({ signal } = {}) => (await shipped.call("credits.balance", {}, { signal })).data,
    startLink: async (args = {}, { signal } = {}) =>
      (await shipped.call("social_a.link.start", args, { signal })).data,
    waitForTask: (taskId, waitOptions = {}) =>
      waitForTask(
        async (signal) => (await shipped.call("tasks.get", { task_id: taskId }, { signal })).data,
        waitOptions,
        { clock, random },
      ),
  };
}

async function chargedFor(
  failure: Failure,
  said: number | undefined,
  transport: Transport,
): Promise<number | undefined> {
  const { billed, repeatsAnswer } = failure.call;
  if (!billed) return 0;
  if (said !== undefined || repeatsAnswer === true) return said;
  return chargedInTheEnd(failure, transport);
}

/** A task that is told again under its key has the receipt of the call that made it, which the body names. */
function receiptIdOf({ requestId, body }: Answer, { repeatsAnswer }: OutgoingCall): string | undefined {
  const named = repeatsAnswer === true ? membersOf(body)["request_id"] : undefined;
  return typeof named === "string" ? named : requestId;
}

/** The call went through, so its answer is worth what it cost; but what cannot be read cannot be handed on. */
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

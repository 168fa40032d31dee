// A client that keeps the gateway's rules: what it sends again is safe to send again, what it reports as charged is
// what the ledger says, and every logical call has one idempotency key.

import { buildCall, type Arguments, type CallOptions } from "./build-call.ts";
import { errorOf } from "./failure.ts";
import { usualNames, type Names, type OperationFacts } from "./operation-facts.ts";
import { operations, type Inputs, type OperationId, type Outputs } from "./operations.ts";
import type { Answer } from "./read-answer.ts";
import { relayStream, type EventStream } from "./relay-stream.ts";
import { readWhole, sendCall } from "./send-call.ts";
import { waitForTask, type WaitOptions } from "./tasks.ts";
import type { OutgoingCall, Transport } from "./transport.ts";
import { systemClock, type Clock } from "./waiting.ts";

export interface ClientOptions {
  readonly apiKey: string;
  readonly baseUrl?: string;
  /** What the operator calls the placeholders of paths and headers, where not the usual words. */
  readonly names?: Partial<Names>;
  readonly attemptsMax?: number;
  readonly attemptTimeoutMs?: number;
  readonly waitMaxMs?: number;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly newIdempotencyKey?: () => string;
}

/** An answer, and what it cost. */
export interface Result<Data> {
  readonly data: Data;
  readonly status: number;
  readonly requestId: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** Undefined only where neither the answer nor the books could tell. */
  readonly chargedMicrosUsd: number | undefined;
  readonly attempts: number;
}

export interface Quote {
  readonly operation_id: string;
  readonly currency: "USD";
  readonly estimate_kind: "exact" | "estimate";
  readonly estimated_cost_micros_usd: number;
  readonly max_cost_micros_usd: number;
  readonly price_version: string;
  readonly breakdown: readonly {
    readonly unit: string;
    readonly quantity: number;
    readonly unit_price_usd: string;
    readonly cost_micros_usd: number;
  }[];
}

export type Client = ReturnType<typeof createClient>;

export function createClient(options: ClientOptions) {
  const names: Names = { ...usualNames, ...options.names };
  const transport = createTransport(options, names);
  const { clock, random } = transport;
  const never = new AbortController().signal;

  const build = (id: OperationId, args: Arguments, callOptions: CallOptions): OutgoingCall =>
    buildCall(factsOf(id), args, { names, options: callOptions, newKey: transport.newKey });

  const call = async <Id extends OperationId>(
    id: Id,
    args: Inputs[Id],
    callOptions: CallOptions = {},
  ): Promise<Result<Outputs[Id]>> => {
    const outgoing = build(id, args, callOptions);
    const { value, attempts } = await sendCall(
      outgoing,
      transport,
      callOptions.signal ?? never,
      readWhole(transport),
    );
    checkWhole(value, outgoing, attempts);
    return {
      // The type is the contract's word; the gateway's own tests hold its answers against the same contract.
      data: value.body as Outputs[Id],
      status: value.status,
      requestId: value.requestId,
      idempotencyKey: outgoing.idempotencyKey,
      chargedMicrosUsd: outgoing.billed ? value.costMicrosUsd : 0,
      attempts,
    };
  };

  const quote = async <Id extends OperationId>(
    id: Id,
    args: Inputs[Id],
    { signal }: Pick<CallOptions, "signal"> = {},
  ): Promise<Quote> => {
    const outgoing = build(id, args, {});
    const asking = {
      ...outgoing,
      headers: { ...outgoing.headers, [`x-${names.provider}-cost-mode`]: "quote" },
      billed: false,
      idempotencyKey: undefined,
    };
    const { value, attempts } = await sendCall(asking, transport, signal ?? never, readWhole(transport));
    checkWhole(value, asking, attempts);
    return value.body as Quote;
  };

  const stream = async <Id extends OperationId>(
    id: Id,
    args: Inputs[Id],
    callOptions: CallOptions = {},
  ): Promise<EventStream> => {
    const facts = factsOf(id);
    if (facts.streams === undefined) throw new TypeError(`${id} does not stream.`);
    const outgoing = build(id, facts.streams === "flag" ? { ...args, stream: true } : args, callOptions);
    const signal = callOptions.signal ?? never;
    const { value: response, attempts } = await sendCall(outgoing, transport, signal, async (head) => head);
    return relayStream(response, { call: outgoing, attempts }, transport, signal);
  };

  const receipts = async function* (
    filter: Omit<Inputs["requests.list"], "cursor"> = {},
    { signal }: Pick<CallOptions, "signal"> = {},
  ): AsyncGenerator<Outputs["requests.get"]> {
    yield* pages(
      "requests.list",
      filter,
      (page) => page.data,
      (page) => page.next_cursor,
      { signal },
    );
  };

  /** Every item of every page, asking for the next page only when it is wanted: each page may cost money. */
  async function* pages<Id extends OperationId, Item>(
    id: Id,
    args: Inputs[Id],
    itemsOf: (page: Outputs[Id]) => Iterable<Item>,
    nextCursorOf: (page: Outputs[Id]) => string | null | undefined,
    callOptions: Omit<CallOptions, "idempotencyKey"> = {},
  ): AsyncGenerator<Item> {
    for (let cursor: string | null | undefined; ;) {
      const { data } = await call(id, cursor === undefined ? args : { ...args, cursor }, callOptions);
      yield* itemsOf(data);
      const next = nextCursorOf(data);
      // A vendor that hands out the same cursor again would go round for ever, at a price each time.
      if (next === undefined || next === null || next === "" || next === cursor) return;
      cursor = next;
    }
  }

  return {
    call,
    quote,
    stream,
    pages,
    receipts,
    usage: async (args: Inputs["usage.get"]) => (await call("usage.get", args)).data,
    balance: async () => (await call("credits.balance", {})).data,
    receipt: async (requestId: string) => (await call("requests.get", { request_id: requestId })).data,
    /** What became of a call of which only the idempotency key is left; undefined when it never began. */
    outcome: async (idempotencyKey: string) =>
      (await call("requests.list", { idempotency_key: idempotencyKey })).data.data[0],
    startLink: async (args: Inputs["social_a.link.start"] = {}) =>
      (await call("social_a.link.start", args)).data,
    waitForTask: (taskId: string, waitOptions: WaitOptions = {}): Promise<Outputs["tasks.get"]> =>
      waitForTask(
        async () => (await call("tasks.get", { task_id: taskId }, { signal: waitOptions.signal })).data,
        waitOptions,
        { clock, random },
      ),
  };
}

const baseUrlUsual = "http://127.0.0.1:8787";
const attemptsUsual = 5;
const attemptTimeoutUsualMs = 10 * 60_000;
const waitUsualMs = 60_000;

function createTransport(options: ClientOptions, names: Names): Transport {
  if (options.apiKey === "") throw new TypeError("The client needs an API key.");
  const ownFetch = options.fetch ?? ((url, init) => fetch(url, init));
  return {
    baseUrl: (options.baseUrl ?? baseUrlUsual).replace(/\/+$/, ""),
    apiKey: options.apiKey,
    headerWord: names.provider.toLowerCase(),
    fetch: ownFetch,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    newKey: options.newIdempotencyKey ?? (() => crypto.randomUUID()),
    attemptsMax: options.attemptsMax ?? attemptsUsual,
    attemptTimeoutMs: options.attemptTimeoutMs ?? attemptTimeoutUsualMs,
    waitMaxMs: options.waitMaxMs ?? waitUsualMs,
  };
}

const factsOf = (id: OperationId): OperationFacts => operations[id];

/** The call went through, so its answer is worth what it cost; but what cannot be read cannot be handed on. */
function checkWhole(answer: Answer, call: OutgoingCall, attempts: number): void {
  if (!answer.malformed) return;
  const charged = answer.costMicrosUsd;
  throw errorOf(
    { call, attempts, requestId: answer.requestId, answer },
    {
      kind: "malformed_answer",
      moneyMoved: charged === undefined ? (call.billed ? "unknown" : "no") : charged > 0 ? "yes" : "no",
      chargedMicrosUsd: charged,
    },
  );
}

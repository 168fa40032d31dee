// A client that keeps the gateway's rules: what it sends again is safe to send again, what it reports as charged is
// what the ledger says, and every logical call has one idempotency key.

import type { CallOptions } from "./build-call.ts";
import { createCalls, type Calls, type Result, type Signal } from "./calls.ts";
import { createTransport, type ClientOptions } from "./create-transport.ts";
import { createFactsOf, type InputOf, type KnownId, type OutputOf } from "./known-operations.ts";
import { usualNames, type Names, type OperationTable } from "./operation-facts.ts";
import type { CostEstimate, Inputs, Outputs } from "./operations.ts";
import type { Paging } from "./paging.ts";
import type { EventStream } from "./relay-stream.ts";
import { waitForTask, type TaskState, type WaitOptions } from "./tasks.ts";

/** What a call would cost. */
export type Quote = CostEstimate;

/** A link to begin: the person opens `auth_url` and agrees there, before `expires_at`. */
export type LinkStart = Outputs["social_a.link.start"];

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
  /**
   * What became of a billed call, found by its idempotency key alone; undefined when it never began, or was free: free ones
   * have no receipt.
   */
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
  const calls = createCalls({ transport, names, factsOf });
  // The types are the contract's word; the gateway's own tests hold its answers against the same contract.
  const typed = calls as unknown as Pick<Client<Own>, keyof Calls>;
  const shipped = calls as unknown as Pick<Client, keyof Calls>;

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
        transport,
      ),
  };
}

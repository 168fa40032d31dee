// What the conformance suites have in common: a store opened for one test, callers with money, and one
// place where requests to the ledger are built. Every test ends with an audit of the books it made.

import { expect } from "bun:test";
import type { Budget, BudgetUse, BudgetWindow, KeyScope } from "../../keys/keys.ts";
import type { TierName } from "../../limits/tiers.ts";
import type { Quantities } from "../../prices/quantities.ts";
import { createTerms, valuePico, type Terms } from "../../prices/terms.ts";
import { multiplierOne, type Micros } from "../../platform/money.ts";
import type { CallRecord } from "../call-record.ts";
import type { HoldRequest, HoldResult, IdempotencyClaim, Release, Resolved, Settlement } from "../ledger.ts";
import type { Store } from "../../store/store.ts";
import type { NewTask } from "../task-record.ts";

interface OpenedStore {
  readonly store: Store;
  /** Closes the store and opens the same data again, as a process that starts anew does. */
  readonly reopen: () => Promise<Store>;
  readonly close: () => Promise<void>;
}

/** Opens an empty store of the kind under test. */
export type OpenStore = () => Promise<OpenedStore>;

/** A moment without anything special about it: no midnight near, no month end. */
export const middayMs = Date.UTC(2026, 9, 20, 12);
export const operationId = "conformance.sold";

/** One unit is worth exactly one micro; the token prices leave a remainder on purpose. */
export const terms = createTerms(operationId, undefined, {
  units: 1_000_000n,
  input_tokens: 50_000n,
  output_tokens: 600_001n,
  cache_read_tokens: 7n,
  cache_write_tokens: 62_500n,
  cache_write_1h_tokens: 100_000n,
});

export interface Caller {
  readonly accountId: string;
  readonly keyId: string;
  readonly multiplierPpm: bigint;
  readonly budget: Budget | undefined;
}

interface CallerOptions {
  readonly creditMicros?: Micros;
  readonly multiplierPpm?: bigint;
  readonly tier?: TierName;
  readonly budget?: Budget;
  readonly scope?: KeyScope;
}

interface HoldOptions {
  readonly callId?: string;
  readonly amountMicros?: Micros;
  readonly atMs?: number;
  readonly terms?: Terms;
  readonly operationId?: string;
  readonly model?: string;
  readonly budget?: Budget;
  readonly idempotency?: IdempotencyClaim;
  readonly task?: NewTask;
  readonly grant?: HoldRequest["grant"];
  readonly coveredMicros?: Micros;
  readonly approval?: HoldRequest["approval"];
}

/** The one place that builds a hold: a new field of the request is one line here. */
export const holdRequest = (caller: Caller, callId: string, wanted: HoldOptions): HoldRequest => ({
  callId,
  accountId: caller.accountId,
  keyId: caller.keyId,
  operationId: wanted.operationId ?? operationId,
  model: wanted.model,
  amountMicros: wanted.amountMicros ?? 100n,
  terms: wanted.terms ?? terms,
  multiplierPpm: caller.multiplierPpm,
  createdAtMs: wanted.atMs ?? middayMs,
  budget: wanted.budget ?? caller.budget,
  idempotency: wanted.idempotency,
  task: wanted.task,
  grant: wanted.grant,
  coveredMicros: wanted.coveredMicros,
  approval: wanted.approval,
});

export const settlementOf = (
  callId: string,
  used: Quantities,
  ended: { readonly atMs?: number; readonly terms?: Terms; readonly upstream?: string } = {},
): Settlement => ({
  callId,
  outcome: "succeeded",
  used,
  usageSource: "provider",
  valuePico: valuePico(used, ended.terms ?? terms),
  httpStatus: 200,
  attempts: [
    {
      upstream: ended.upstream ?? "vendor",
      outcome: "answered",
      status: 200,
      started_at_ms: 1,
      ended_at_ms: 2,
    },
  ],
  settledAtMs: ended.atMs ?? middayMs + 1_000,
});

export const releaseOf = (
  callId: string,
  ended: { readonly atMs?: number; readonly outcome?: Release["outcome"] } = {},
): Release => ({
  callId,
  outcome: ended.outcome ?? "failed",
  httpStatus: 500,
  attempts: [],
  settledAtMs: ended.atMs ?? middayMs + 1_000,
});

export interface TestBooks {
  readonly store: () => Store;
  /** Ends this process's view of the store and begins the run of the next one. */
  readonly restart: (nowMs?: number) => ReturnType<Store["ledger"]["beginRun"]>;
  /** As `restart`, without beginning a run. */
  readonly reopen: () => Promise<void>;
  readonly newId: (kind: string) => string;
  readonly openCaller: (options?: CallerOptions) => Promise<Caller>;
  /** Another key of the same account. */
  readonly openKey: (of: Caller, options?: CallerOptions) => Promise<Caller>;
  readonly hold: (caller: Caller, wanted?: HoldOptions) => Promise<HoldResult>;
  readonly wouldHold: (caller: Caller, wanted?: HoldOptions) => Promise<HoldResult>;
  /** A hold that must succeed; its call's id. */
  readonly held: (caller: Caller, wanted?: HoldOptions) => Promise<string>;
  readonly settle: (
    callId: string,
    used: Quantities,
    ended?: { atMs?: number; upstream?: string },
  ) => Promise<Resolved>;
  readonly release: (
    callId: string,
    ended?: { atMs?: number; outcome?: Release["outcome"] },
  ) => Promise<Resolved>;
  readonly balance: (caller: Caller) => Promise<{ posted: Micros; held: Micros }>;
  readonly receipt: (caller: Caller, callId: string) => Promise<CallRecord>;
  readonly entries: () => Promise<number>;
}

/** Runs one test on books of its own and proves them afterwards. */
export async function withBooks(
  openStore: OpenStore,
  run: (books: TestBooks) => Promise<void>,
  { begin = true }: { readonly begin?: boolean } = {},
): Promise<void> {
  const opened = await openStore();
  let { store } = opened;
  try {
    if (begin) {
      await store.ledger.beginRun(middayMs);
      await store.ledger.recordPrices([{ operationId, model: undefined, terms }]);
    }
    const reopen = async (): Promise<void> => void (store = await opened.reopen());
    await run(createTestBooks(() => store, reopen));
    const report = await store.auditor.audit();
    expect(report.findings).toEqual([]);
  } finally {
    await opened.close();
  }
}

/** Books of several processes on one store have names that keep their ids apart. */
export function createTestBooks(store: () => Store, reopen: () => Promise<void>, name = ""): TestBooks {
  let ids = 0;
  const newId = (kind: string): string => `${kind}_${name}${String(++ids).padStart(6, "0")}`;

  const openKey = async (
    accountId: string,
    { multiplierPpm = multiplierOne, budget, scope = "key" }: CallerOptions,
  ): Promise<Caller> => {
    const keyId = newId("key");
    const secretHash = new TextEncoder().encode(keyId);
    const key = { id: keyId, accountId, name: "test", scope, budget, expiresAtMs: undefined, last4: "last" };
    await store().keys.issue({ ...key, secretHash, nowMs: middayMs });
    return { accountId, keyId, multiplierPpm, budget };
  };

  const hold = (caller: Caller, wanted: HoldOptions = {}): Promise<HoldResult> =>
    store().ledger.hold(holdRequest(caller, wanted.callId ?? newId("call"), wanted));

  return {
    store,
    reopen,
    restart: async (nowMs = middayMs) => {
      await reopen();
      return store().ledger.beginRun(nowMs);
    },
    newId,
    openCaller: async (options = {}) => {
      const { creditMicros = 1_000_000n, multiplierPpm = multiplierOne, tier = "free" } = options;
      const id = newId("acc");
      const plan = { tier, planMultiplierPpm: multiplierPpm };
      await store().accounts.create({ id, name: "test", ...plan, creditMicros, nowMs: middayMs });
      return openKey(id, options);
    },
    openKey: (of, options = {}) => openKey(of.accountId, { multiplierPpm: of.multiplierPpm, ...options }),
    hold,
    wouldHold: (caller, wanted = {}) =>
      store().ledger.wouldHold(holdRequest(caller, wanted.callId ?? newId("call"), wanted)),
    held: async (caller, wanted = {}) => {
      const callId = wanted.callId ?? newId("call");
      expect(await hold(caller, { ...wanted, callId })).toEqual({ kind: "held" });
      return callId;
    },
    settle: (callId, used, ended) => store().ledger.settle(settlementOf(callId, used, ended)),
    release: (callId, ended) => store().ledger.release(releaseOf(callId, ended)),
    balance: async (caller) => {
      const account = await store().accounts.find(caller.accountId);
      return { posted: account?.postedMicros ?? -1n, held: account?.heldMicros ?? -1n };
    },
    receipt: async (caller, callId) => {
      const call = await store().calls.find(caller.accountId, callId);
      if (!call) throw new Error(`There is no call ${callId}.`);
      return call;
    },
    entries: async () => (await store().auditor.audit()).entries,
  };
}

/** What a key has spent and held in the window of a moment. */
export const useOf = (
  books: TestBooks,
  caller: Caller,
  window: BudgetWindow,
  atMs: number,
): Promise<BudgetUse> => books.store().keys.budgetUse(caller.keyId, window, atMs);

export const claimOf = (key: string, request = "request"): IdempotencyClaim => ({
  keyHash: new TextEncoder().encode(key),
  fingerprint: new TextEncoder().encode(request),
});

/** Marks are written when it suits the store, but soon. */
export async function becomes(read: () => Promise<string>, wanted: string): Promise<void> {
  for (let tries = 0; tries < 100 && (await read()) !== wanted; tries++) await Bun.sleep(10);
  expect(await read()).toBe(wanted);
}

/** What a promise that must fail failed with. */
export const failureOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "It did not fail.",
    (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error)),
  );

/** How many random cases a property runs; more in a nightly run. */
export function propertyRuns(usual: number): number {
  const factor = Number(process.env["TOLLGATE_PROPERTY_RUNS"] ?? 300) / 300;
  return Math.max(1, Math.round(usual * factor));
}

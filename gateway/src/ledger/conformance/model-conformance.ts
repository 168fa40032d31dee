// Random histories against a model of the ledger that is too simple to be wrong. fast-check shrinks a
// difference to the shortest history that shows it, and prints the seed.

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Budget, BudgetWindow } from "../../keys/keys.ts";
import { valuePico } from "../../prices/terms.ts";
import { attoPerMicro } from "../../platform/money.ts";
import {
  middayMs,
  propertyRuns,
  terms,
  withBooks,
  type TestBooks,
  type OpenStore,
} from "./shared-conformance.ts";

const dayMs = 86_400_000;
const budgetMicros = 700n;

interface ModelCall {
  readonly id: string;
  readonly key: number;
  readonly amount: bigint;
  readonly day: number;
  ended?: { state: "settled" | "released"; charged: bigint };
}

/** One account, a key without and a key with a budget, whose window may change. */
interface Model {
  posted: bigint;
  suspended: boolean;
  carryAtto: bigint;
  nowMs: number;
  window: BudgetWindow;
  readonly calls: ModelCall[];
  readonly paid: Set<string>;
}

interface Real {
  readonly books: TestBooks;
  readonly accountId: string;
  readonly keys: readonly { keyId: string }[];
}

const dayOf = (ms: number): number => Math.floor(ms / dayMs);
const openCalls = (model: Model): ModelCall[] => model.calls.filter((call) => !call.ended);
const heldIn = (model: Model): bigint => openCalls(model).reduce((sum, call) => sum + call.amount, 0n);

/** The beginning of the date says which window it is in. */
const windowOf = (window: BudgetWindow, day: number): string =>
  new Date(day * dayMs).toISOString().slice(0, { day: 10, month: 7, total: 0 }[window]);

const budgetIn = ({ window }: Model): Budget => ({ limitMicros: budgetMicros, window });

function budgetUse(model: Model): { spentMicros: bigint; heldMicros: bigint } {
  const now = windowOf(model.window, dayOf(model.nowMs));
  const own = model.calls.filter((call) => call.key === 1 && windowOf(model.window, call.day) === now);
  const spentMicros = own.reduce((sum, call) => sum + (call.ended?.charged ?? 0n), 0n);
  const heldMicros = own.reduce((sum, call) => sum + (call.ended ? 0n : call.amount), 0n);
  return { spentMicros, heldMicros };
}

/** What the ledger must answer to a hold; the order of the reasons is part of the promise. */
function expectedHold(model: Model, key: number, amount: bigint): object {
  if (model.suspended) return { kind: "account_suspended" };
  const availableMicros = model.posted - heldIn(model);
  if (amount > availableMicros) return { kind: "insufficient_balance", availableMicros };
  const use = budgetUse(model);
  const exceeded = key === 1 && use.spentMicros + use.heldMicros + amount > budgetMicros;
  return exceeded ? { kind: "budget_exceeded", budget: budgetIn(model), ...use } : { kind: "held" };
}

function settleInModel(model: Model, call: ModelCall, tokens: number): void {
  const exactAtto = model.carryAtto + valuePico({ input_tokens: tokens }, terms) * 1_000_000n;
  const due = exactAtto / attoPerMicro;
  const charged = due < call.amount ? due : call.amount;
  model.carryAtto = exactAtto % attoPerMicro;
  model.posted -= charged;
  call.ended = { state: "settled", charged };
}

type Command = fc.AsyncCommand<Model, Real>;

/** A step of the history: what it does to both, and that they agree about everything afterwards. */
const step = (say: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run: async (model, real) => {
    await run(model, real);
    await expectAlike(model, real);
  },
  toString: () => say,
});

async function expectAlike(model: Model, { books, accountId, keys }: Real): Promise<void> {
  const account = await books.store().accounts.find(accountId);
  expect([account?.postedMicros, account?.heldMicros]).toEqual([model.posted, heldIn(model)]);
  const use = await books.store().keys.budgetUse(keys[1]?.keyId ?? "", model.window, model.nowMs);
  expect(use).toEqual(budgetUse(model));
}

const hold = (key: number, amount: bigint): Command =>
  step(`hold ${amount} on key ${key}`, async (model, { books, accountId, keys }) => {
    const id = books.newId("call");
    const { keyId = "" } = keys[key] ?? {};
    const budget = key === 1 ? budgetIn(model) : undefined;
    const expected = expectedHold(model, key, amount);
    const caller = { accountId, keyId, multiplierPpm: 1_000_000n, budget };
    const result = await books.hold(caller, { callId: id, amountMicros: amount, atMs: model.nowMs });
    expect(result).toEqual(expected as typeof result);
    if (result.kind === "held") model.calls.push({ id, key, amount, day: dayOf(model.nowMs) });
  });

const end = (pick: number, tokens: number | undefined): Command =>
  step(
    `${tokens === undefined ? "release" : `settle ${tokens} tokens of`} call ${pick}`,
    async (model, real) => {
      const call = model.calls[pick % Math.max(1, model.calls.length)];
      if (!call) return;
      const first = !call.ended;
      if (first && tokens === undefined) call.ended = { state: "released", charged: 0n };
      if (first && tokens !== undefined) settleInModel(model, call, tokens);
      const atMs = model.nowMs;
      const resolved =
        tokens === undefined
          ? await real.books.release(call.id, { atMs })
          : await real.books.settle(call.id, { input_tokens: tokens }, { atMs });
      expect(resolved.first).toBe(first);
      expect([resolved.state, resolved.chargedMicros] as const).toEqual([
        call.ended?.state ?? "unknown",
        call.ended?.charged ?? -1n,
      ]);
    },
  );

const topUp = (transferId: string, amountMicros: bigint): Command =>
  step(`top up ${amountMicros} by ${transferId}`, async (model, { books, accountId }) => {
    if (!model.paid.has(transferId)) model.posted += amountMicros;
    model.paid.add(transferId);
    await books.store().accounts.topUp({ transferId, accountId, amountMicros, nowMs: model.nowMs });
  });

const adjust = (amountMicros: bigint): Command =>
  step(`adjust by ${amountMicros}`, async (model, { books, accountId }) => {
    const fits = model.posted - heldIn(model) + amountMicros >= 0n;
    const transferId = books.newId("adjustment");
    const correction = { transferId, accountId, amountMicros, nowMs: model.nowMs, reason: "r" };
    const adjusted = await books.store().accounts.adjust(correction);
    expect(adjusted !== undefined && "refused" in adjusted).toBe(!fits);
    if (fits) model.posted += amountMicros;
  });

const suspend = (suspended: boolean): Command =>
  step(suspended ? "suspend" : "resume", async (model, { books, accountId }) => {
    model.suspended = suspended;
    await books.store().accounts.update(accountId, { suspended });
  });

const changeWindow = (window: BudgetWindow): Command =>
  step(`a budget for the ${window}`, async (model) => void (model.window = window));

const wait = (hours: number): Command =>
  step(`wait ${hours} h`, async (model) => void (model.nowMs += hours * 3_600_000));

const restart = (): Command =>
  step("kill and restart", async (model, { books }) => {
    const open = openCalls(model);
    const releasedMicros = heldIn(model);
    for (const call of open) call.ended = { state: "released", charged: 0n };
    expect(await books.restart(model.nowMs)).toEqual({
      releasedCalls: open.length,
      releasedMicros,
      settledCalls: 0,
      charges: [],
      lostTasks: 0,
    });
  });

const commands = [
  fc.tuple(fc.nat({ max: 1 }), fc.bigInt(0n, 400n)).map(([key, amount]) => hold(key, amount)),
  fc.tuple(fc.nat({ max: 1 }), fc.bigInt(0n, 400n)).map(([key, amount]) => hold(key, amount)),
  fc.tuple(fc.nat({ max: 30 }), fc.nat({ max: 9_000 })).map(([pick, tokens]) => end(pick, tokens)),
  fc.nat({ max: 30 }).map((pick) => end(pick, undefined)),
  fc.tuple(fc.constantFrom("t1", "t2", "t3"), fc.bigInt(1n, 500n)).map(([id, amount]) => topUp(id, amount)),
  fc.bigInt(-400n, 100n).map(adjust),
  fc.boolean().map(suspend),
  fc.constantFrom("day" as const, "month" as const, "total" as const).map(changeWindow),
  fc.integer({ min: 1, max: 30 }).map(wait),
  fc.constant(restart()),
];

/** In two halves: each history opens a store of its own, and on a slow server all of them are much for one test. */
export function modelConformance(openStore: OpenStore, histories = 300): void {
  const numRuns = Math.ceil(propertyRuns(histories) / 2);
  const timeoutMs = 20_000 + numRuns * 100;

  const runModel = async (): Promise<void> => {
    const seed = Number(
      process.env["TOLLGATE_PROPERTY_SEED"] ?? crypto.getRandomValues(new Int32Array(1))[0],
    );
    process.stderr.write(`model: ${numRuns} histories, TOLLGATE_PROPERTY_SEED=${seed}\n`);
    const history = fc.commands(commands, { maxCommands: 40, size: "max" });
    const property = fc.asyncProperty(history, (steps) =>
      withBooks(openStore, (books) => live(books, steps)),
    );
    await fc.assert(property, { seed, numRuns });
  };
  test.each(["one", "the other"])(
    "no history of holds, ends, payments, suspensions, days, windows and crashes differs from the model, %s half",
    runModel,
    timeoutMs,
  );
}

async function live(books: TestBooks, steps: Iterable<Command>): Promise<void> {
  const caller = await books.openCaller({ creditMicros: 2_000n });
  const budget: Budget = { limitMicros: budgetMicros, window: "day" };
  const keys = [caller, await books.openKey(caller, { budget })];
  const model: Model = {
    posted: 2_000n,
    suspended: false,
    carryAtto: 0n,
    nowMs: middayMs,
    window: "day",
    calls: [],
    paid: new Set(),
  };
  const real: Real = { books, accountId: caller.accountId, keys };
  await fc.asyncModelRun(() => ({ model, real }), steps);
}

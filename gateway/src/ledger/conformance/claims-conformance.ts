// Random histories of idempotency keys against a model of them that is too simple to be wrong: keys are taken, by calls and by
// what costs nothing, freed, kept for a day and taken again, in transactions that are rolled back, by processes that die,
// and beside others that write.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { applicationKind, earlierIn, linkKind } from "../../store/test-keyed-requests.ts";
import {
  failureOf,
  middayMs,
  propertyRuns,
  releaseOf,
  withBooks,
  type TestBooks,
  type Caller,
  type OpenStore,
} from "./shared-conformance.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const stepArbitrary = fc.record({
  kind: fc.constantFrom("ask", "ask", "ask", "link", "apply", "settle", "release", "free", "pass", "restart"),
  caller: fc.nat(1),
  key: fc.nat(3),
  /** Together with a write that throws, so that the transaction is rolled back and each of them tried alone. */
  besideBroken: fc.boolean(),
  hours: fc.nat(30),
  /** To look brings the books up to date, which must not be needed. */
  looks: fc.boolean(),
});
type Step = typeof stepArbitrary extends fc.Arbitrary<infer Value> ? Value : never;

interface ModelKey {
  readonly callId: string;
  /** Whether money is held for it, so that it ends, is freed and has a receipt. */
  readonly isCall: boolean;
  endedAtMs?: number;
}

/** Who has which key, by account and key. */
interface Model {
  nowMs: number;
  readonly keys: Map<string, ModelKey>;
}

export function claimsConformance(openStore: OpenStore, runs: number): void {
  test("a key is its request's while that is open and for a day more, whatever happens meanwhile", () =>
    fc.assert(
      fc.asyncProperty(fc.array(stepArbitrary, { minLength: 10, maxLength: 60 }), (steps) =>
        withBooks(openStore, async (books) => {
          const callers = [await books.openCaller(), await books.openCaller()];
          const model: Model = { nowMs: middayMs, keys: new Map() };
          for (const step of steps) {
            const caller = callers[step.caller];
            if (caller) await take(step, caller, model, books);
          }
        }),
      ),
      { numRuns: propertyRuns(runs) },
    ));
}

async function take(step: Step, caller: Caller, model: Model, books: TestBooks): Promise<void> {
  const name = `${caller.accountId} ${step.key}`;
  const known = model.keys.get(name);
  if (step.kind === "pass") model.nowMs += step.hours * hourMs;
  else if (step.kind === "restart") await restart(model, books);
  else if (step.kind === "ask") await ask(step, caller, model, books);
  else if (step.kind === "link" || step.kind === "apply") await askFreely(step, caller, model, books);
  else if (known && known.endedAtMs === undefined) {
    await beside(step, caller, books, end(step, caller, known, model.nowMs, books));
    if (step.kind === "free") model.keys.delete(name);
    else known.endedAtMs = model.nowMs;
  }
  if (step.looks) await look(step, caller, model, books);
}

async function ask(step: Step, caller: Caller, model: Model, books: TestBooks): Promise<void> {
  const callId = books.newId("call");
  const wanted = { callId, idempotency: claimOf(step.key), atMs: model.nowMs };
  const asked = await beside(step, caller, books, books.hold(caller, wanted));
  const live = liveKey(step, caller, model);
  if (live) {
    expect(asked).toMatchObject({ kind: "idempotency_conflict", earlier: { callId: live.callId } });
    return;
  }
  expect(asked).toEqual({ kind: "held" });
  model.keys.set(`${caller.accountId} ${step.key}`, { callId, isCall: true });
}

/** What costs nothing has ended when it was written down. */
async function askFreely(step: Step, caller: Caller, model: Model, books: TestBooks): Promise<void> {
  const kind = step.kind === "link" ? linkKind : applicationKind;
  const request = { id: books.newId(step.kind), claim: claimOf(step.key), atMs: model.nowMs };
  const earlier = earlierIn(await beside(step, caller, books, kind.ask(books, caller, request)));
  expect(earlier?.callId).toBe(liveKey(step, caller, model)?.callId);
  if (earlier) return;
  const endedAtMs = await kind.end(books, request);
  model.keys.set(`${caller.accountId} ${step.key}`, { callId: request.id, isCall: false, endedAtMs });
}

async function end(step: Step, caller: Caller, { callId }: ModelKey, nowMs: number, books: TestBooks) {
  if (step.kind === "settle") return books.settle(callId, { units: 1 }, { atMs: nowMs });
  if (step.kind === "release") return books.release(callId, { atMs: nowMs });
  const freed = { accountId: caller.accountId, keyHash: claimOf(step.key).keyHash };
  return books.store().ledger.release({ ...releaseOf(callId, { atMs: nowMs }), freed });
}

async function beside<Result>(step: Step, caller: Caller, books: TestBooks, write: Promise<Result>) {
  if (!step.besideBroken) return write;
  const [result, failure] = await Promise.all([write, failureOf(books.hold(caller, { amountMicros: -1n }))]);
  expect(failure).toContain("A hold cannot be negative.");
  return result;
}

/** Nobody ends what a dead process left open but the next one. */
async function restart(model: Model, books: TestBooks): Promise<void> {
  await books.restart(model.nowMs);
  for (const key of model.keys.values()) key.endedAtMs ??= model.nowMs;
}

function liveKey(step: Step, caller: Caller, { keys, nowMs }: Model): ModelKey | undefined {
  const key = keys.get(`${caller.accountId} ${step.key}`);
  return key && (key.endedAtMs === undefined || key.endedAtMs + dayMs > nowMs) ? key : undefined;
}

async function look(step: Step, caller: Caller, model: Model, books: TestBooks): Promise<void> {
  const live = liveKey(step, caller, model);
  const { ledger, calls } = books.store();
  const earlier = await ledger.findEarlier(caller.accountId, claimOf(step.key), model.nowMs);
  expect(earlier?.callId).toBe(live?.callId);
  const receipt = await calls.findByKey(caller.accountId, claimOf(step.key).keyHash, model.nowMs);
  expect(receipt?.id).toBe(live?.isCall === true ? live.callId : undefined);
}

/** Keys that differ after the first bytes only: memory takes some of them for one another. */
const claimOf = (key: number) => ({
  keyHash: new TextEncoder().encode(`${key % 2}    ${key}`),
  fingerprint: new TextEncoder().encode("request"),
});

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { DayBound } from "../../grants/grants.ts";
import { createTerms } from "../../prices/terms.ts";
import type { CallOutcome, CallState } from "../call-record.ts";
import type { CallFilter } from "../call-book.ts";
import { openGrant } from "./grants-conformance.ts";
import {
  middayMs,
  propertyRuns,
  terms,
  withBooks,
  type TestBooks,
  type Caller,
  type OpenStore,
} from "./shared-conformance.ts";

const everything: CallFilter = {
  limit: 1_000,
  before: undefined,
  operationId: undefined,
  status: undefined,
  keyId: undefined,
};

/** What every book of calls must do. */
export function receiptsConformance(openStore: OpenStore): void {
  const receiptTest = (name: string, run: (books: TestBooks) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));

  receiptTest("a receipt tells everything about its call", async (books) => {
    const caller = await books.openCaller({ multiplierPpm: 1_450_000n });
    const callId = await books.held(caller, { amountMicros: 900n });
    expect(await books.receipt(caller, callId)).toMatchObject({
      state: "held",
      heldMicros: 900n,
      chargedMicros: 0n,
    });
    await books.settle(callId, { units: 100, input_tokens: 20 }, { atMs: middayMs + 77 });
    expect(await books.receipt(caller, callId)).toEqual({
      id: callId,
      accountId: caller.accountId,
      keyId: caller.keyId,
      client: undefined,
      operationId: "conformance.sold",
      model: undefined,
      state: "settled",
      outcome: "succeeded",
      heldMicros: 900n,
      valueMicros: 101n,
      chargedMicros: 146n,
      writtenOffMicros: 0n,
      multiplierPpm: 1_450_000n,
      priceVersion: terms.version,
      unitPricesPico: { ...terms.unitPricesPico },
      used: { units: 100, input_tokens: 20 },
      usageSource: "provider",
      httpStatus: 200,
      attempts: [{ upstream: "vendor", outcome: "answered", status: 200, started_at_ms: 1, ended_at_ms: 2 }],
      createdAtMs: middayMs,
      settledAtMs: middayMs + 77,
    });
  });

  receiptTest(
    "a receipt names the client that made the call, from its hold on and when it has ended",
    async (books) => {
      const caller = await books.openCaller();
      const [grant, other] = [await openGrant(books, caller, 1_000n), await openGrant(books, caller, 1_000n)];
      const { calls, grants } = books.store();
      const call = await books.held(caller, { grant });
      const own = await books.held(caller);
      const client = { grantId: grant.id, name: "Client" };
      expect((await books.receipt(caller, call)).client).toEqual(client);
      await books.settle(call, { units: 3 });
      await books.settle(own, { units: 3 });
      await grants.revoke(grant.id, middayMs + 5_000);
      expect((await books.receipt(caller, call)).client).toEqual(client);
      expect((await calls.findAny(call))?.client).toEqual(client);
      const listed = await calls.list(caller.accountId, everything);
      expect(listed.calls.map((one) => [one.id, one.client])).toEqual([
        [own, undefined],
        [call, client],
      ]);
      const of = async (accountId: string, grantId: string): Promise<string[]> =>
        (await calls.list(accountId, { ...everything, grantId })).calls.map(({ id }) => id);
      expect(await of(caller.accountId, grant.id)).toEqual([call]);
      expect(await of(caller.accountId, other.id)).toEqual([]);
      expect(await of((await books.openCaller()).accountId, grant.id)).toEqual([]);
    },
  );

  receiptTest("another account's call does not exist", async (books) => {
    const [owner, stranger] = [await books.openCaller(), await books.openCaller()];
    const callId = await books.held(owner);
    const { calls } = books.store();
    expect(await calls.find(stranger.accountId, callId)).toBeUndefined();
    const nothing = { calls: [], nextBefore: undefined };
    expect(await calls.list(stranger.accountId, everything)).toEqual(nothing);
    expect(await calls.list(stranger.accountId, { ...everything, keyId: owner.keyId })).toEqual(nothing);
    expect(await calls.find(owner.accountId, "call_nobody")).toBeUndefined();
  });

  receiptTest("the operator finds any account's call, also while it is open", async (books) => {
    const [one, other] = [await books.openCaller(), await books.openCaller()];
    const [open, ended] = [await books.held(one), await books.held(other)];
    await books.settle(ended, { units: 3 });
    const { calls } = books.store();
    expect(await calls.findAny(open)).toEqual(await books.receipt(one, open));
    expect(await calls.findAny(ended)).toEqual(await books.receipt(other, ended));
    expect(await calls.findAny("call_nobody")).toBeUndefined();
  });

  receiptTest("calls are listed newest first, and pages of any size hold each call once", async (books) => {
    const caller = await books.openCaller();
    const other = await books.openKey(caller);
    const clients = [await openGrant(books, caller, 100_000n), await openGrant(books, caller, 100_000n)];
    const made = await makeCalls(books, caller, other, clients);
    const filters = fc.record({
      limit: fc.integer({ min: 1, max: 9 }),
      operationId: fc.constantFrom(undefined, "conformance.sold", "conformance.second", "conformance.none"),
      status: fc.constantFrom<(CallState | undefined)[]>(undefined, "held", "settled", "released", "unknown"),
      keyId: fc.constantFrom(undefined, caller.keyId, other.keyId),
      grantId: fc.constantFrom(undefined, undefined, ...clients.map(({ id }) => id), "grant_none"),
      model: fc.constantFrom(undefined, undefined, "conformance-model", "conformance-none"),
      outcome: fc.constantFrom<(CallOutcome | undefined)[]>(undefined, undefined, "succeeded", "failed"),
      from: fc.constantFrom(undefined, "", ...made.map(({ id }) => id), "call_z"),
    });
    await fc.assert(
      fc.asyncProperty(filters, async (filter) => {
        const expected = made
          .filter(
            (call) =>
              [undefined, call.operationId].includes(filter.operationId) &&
              [undefined, call.state].includes(filter.status) &&
              [undefined, call.keyId].includes(filter.keyId) &&
              (filter.grantId === undefined || filter.grantId === call.grantId) &&
              (filter.model === undefined || filter.model === call.model) &&
              (filter.outcome === undefined || filter.outcome === call.outcome) &&
              call.id >= (filter.from ?? ""),
          )
          .map(({ id }) => id)
          .toReversed();
        const listed: string[] = [];
        let before: string | undefined;
        do {
          const page = await books.store().calls.list(caller.accountId, { ...filter, before });
          expect(page.calls.length).toBeLessThanOrEqual(filter.limit);
          listed.push(...page.calls.map(({ id }) => id));
          before = page.nextBefore;
        } while (before !== undefined);
        expect(listed).toEqual(expected);
      }),
      { numRuns: propertyRuns(60) },
    );
  });
}

interface Made {
  readonly id: string;
  readonly model: string | undefined;
  readonly outcome: CallOutcome | undefined;
  readonly operationId: string;
  readonly state: CallState;
  readonly keyId: string;
  readonly grantId: string | undefined;
}

/** Thirty calls of two keys, of clients let in with the first of them, and of two operations, a third still held. */
async function makeCalls(
  books: TestBooks,
  caller: Caller,
  other: Caller,
  clients: readonly DayBound[],
): Promise<Made[]> {
  const second = createTerms("conformance.second", undefined, terms.unitPricesPico);
  await books
    .store()
    .ledger.recordPrices([{ operationId: "conformance.second", model: undefined, terms: second }]);
  const made: Made[] = [];
  for (let at = 0; at < 30; at++) {
    const by = at % 4 === 0 ? other : caller;
    const operation = at % 5 < 2 ? "conformance.second" : "conformance.sold";
    const grant = by === caller ? clients[(at % 4) - 1] : undefined;
    const model = at % 7 < 3 ? "conformance-model" : undefined;
    const held = {
      operationId: operation,
      ...(model === undefined ? {} : { model }),
      ...(grant === undefined ? {} : { grant }),
      terms: operation === "conformance.second" ? second : terms,
    };
    const id = await books.held(by, { ...held, atMs: middayMs + at });
    const state = (["held", "settled", "released"] as const)[at % 3] ?? "held";
    if (state === "settled") await books.settle(id, { units: at });
    if (state === "released") await books.release(id);
    const outcome = (await books.receipt(by, id))?.outcome;
    made.push({ id, operationId: operation, model, state, outcome, keyId: by.keyId, grantId: grant?.id });
  }
  return made;
}

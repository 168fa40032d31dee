import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Entry, EntryFilter, EntryPage } from "../entries.ts";
import {
  middayMs,
  propertyRuns,
  withBooks,
  type TestBooks,
  type Caller,
  type OpenStore,
} from "./shared-conformance.ts";

/** What every account's entries must be. */
export function entriesConformance(openStore: OpenStore): void {
  const entryTest = (name: string, run: (books: TestBooks) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));

  entryTest("payments tell their reasons, charges their calls, newest first", async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const { accountId, keyId } = caller;
    const { accounts } = books.store();
    await accounts.topUp({ transferId: "top_up:1", accountId, amountMicros: 500n, nowMs: middayMs + 1 });
    const callId = await books.held(caller);
    await books.settle(callId, { units: 30 }, { atMs: middayMs + 2 });
    await books.release(await books.held(caller), { atMs: middayMs + 2 });
    await books.held(caller);
    const correction = { transferId: "adjustment:1", accountId, amountMicros: -70n, nowMs: middayMs + 3 };
    await accounts.adjust({ ...correction, reason: "a refund outside" });
    const payment = { reason: undefined, call: undefined };
    expect(await entriesOf(books, caller)).toEqual({
      balanceMicros: 1_400n,
      hasMore: false,
      entries: [
        {
          ...payment,
          id: "adjustment:1",
          kind: "adjustment",
          bookedAtMs: middayMs + 3,
          amountMicros: -70n,
          balanceMicros: 1_400n,
          reason: "a refund outside",
        },
        {
          id: callId,
          kind: "charge",
          bookedAtMs: middayMs + 2,
          amountMicros: -30n,
          balanceMicros: 1_470n,
          reason: undefined,
          call: { operationId: "conformance.sold", model: undefined, keyId },
        },
        {
          ...payment,
          id: "top_up:1",
          kind: "top_up",
          bookedAtMs: middayMs + 1,
          amountMicros: 500n,
          balanceMicros: 1_500n,
        },
        {
          ...payment,
          id: `grant:${accountId}`,
          kind: "grant",
          bookedAtMs: middayMs,
          amountMicros: 1_000n,
          balanceMicros: 1_000n,
          reason: "signup credit",
        },
      ],
    });
  });

  entryTest(
    "pages of any size hold each entry once, and every balance is the sum up to it",
    async (books) => {
      await fc.assert(
        fc.asyncProperty(histories, fc.integer({ min: 1, max: 9 }), async (history, limit) => {
          const [caller, stranger] = [await books.openCaller(), await books.openCaller()];
          await live(books, history, caller, stranger);
          const whole = await entriesOf(books, caller);
          expectToAddUp(whole, await books.balance(caller));

          const paged: Entry[] = [];
          for (let before: EntryFilter["before"]; ;) {
            const page = await entriesOf(books, caller, { limit, before });
            expect(page.balanceMicros).toBe(whole.balanceMicros);
            paged.push(...page.entries);
            if (!page.hasMore) break;
            expect(page.entries).toHaveLength(limit);
            before = { id: page.entries.at(-1)?.id ?? "" };
          }
          expect(paged).toEqual([...whole.entries]);
        }),
        { numRuns: propertyRuns(40) },
      );
    },
  );

  entryTest("what was booked before a moment is told as it stood then", async (books) => {
    const caller = await books.openCaller({ creditMicros: 100n });
    for (const [units, atMs] of [
      [10, middayMs + 1_000],
      [20, middayMs + 2_000],
      [30, middayMs + 2_000],
    ] as const) {
      await books.settle(await books.held(caller, { amountMicros: 30n }), { units }, { atMs });
    }
    const before = async (atMs: number) => (await entriesOf(books, caller, { before: { atMs } })).entries;
    expect((await before(middayMs + 2_001)).map(({ balanceMicros }) => balanceMicros)).toEqual([
      40n,
      70n,
      90n,
      100n,
    ]);
    expect((await before(middayMs + 2_000)).map(({ balanceMicros }) => balanceMicros)).toEqual([90n, 100n]);
    expect(await before(middayMs)).toEqual([]);
  });

  entryTest("one that was made long before the others and ended after them is the newest", async (books) => {
    const caller = await books.openCaller({ creditMicros: 10_000_000n });
    const [first, ...others] = await Promise.all(Array.from({ length: 1_300 }, () => books.held(caller)));
    await Promise.all(
      others.map((callId, at) => books.settle(callId, { units: 1 }, { atMs: middayMs + at * 500 })),
    );
    await books.settle(first ?? "", { units: 5 }, { atMs: middayMs + 10_000_000 });
    const newest = await entriesOf(books, caller, { limit: 3 });
    expect(newest.entries.map(({ id }) => id)).toEqual([first ?? "", ...others.slice(-2).toReversed()]);
    const { entries, balanceMicros } = await entriesOf(books, caller, {
      limit: 1_000,
      before: { id: others[700] ?? "" },
    });
    expect(entries.map(({ id }) => id).slice(0, 700)).toEqual(others.slice(0, 700).toReversed());
    expect(entries[0]?.balanceMicros).toBe(10_000_000n - 700n);
    expect(balanceMicros).toBe(10_000_000n - 1_304n);
  });

  entryTest(
    "an account or an entry that is not there is told apart from one without entries",
    async (books) => {
      const caller = await books.openCaller({ creditMicros: 0n });
      const stranger = await books.openCaller();
      const callId = await books.held(stranger);
      await books.settle(callId, { units: 1 });
      const { accounts } = books.store();
      const filter = { limit: 5, before: undefined };
      expect(await accounts.entries("acc_nobody", filter)).toBeUndefined();
      expect(await accounts.entries(caller.accountId, filter)).toEqual({
        entries: [],
        hasMore: false,
        balanceMicros: 0n,
      });
      for (const id of [callId, `grant:${stranger.accountId}`, "top_up:none"]) {
        expect(await accounts.entries(caller.accountId, { limit: 5, before: { id } })).toEqual({
          refused: "unknown_entry",
        });
      }
    },
  );
}

async function entriesOf(
  books: TestBooks,
  caller: Caller,
  filter: Partial<EntryFilter> = {},
): Promise<EntryPage> {
  const page = await books
    .store()
    .accounts.entries(caller.accountId, { limit: 10_000, before: undefined, ...filter });
  if (!page || "refused" in page) throw new Error(`There are no entries of ${caller.accountId}.`);
  return page;
}

function expectToAddUp({ entries, balanceMicros }: EntryPage, balance: { readonly posted: bigint }): void {
  expect(balanceMicros).toBe(balance.posted);
  let sum = 0n;
  for (const entry of entries.toReversed()) {
    sum += entry.amountMicros;
    expect(entry.balanceMicros).toBe(sum);
  }
  expect(sum).toBe(balance.posted);
}

const histories = fc.array(
  fc.record({
    kind: fc.constantFrom("top_up", "adjust", "settle", "release", "stranger"),
    amount: fc.integer({ min: 0, max: 90 }),
    // Few moments, so that many entries share one; and in no order, as calls end in none.
    atMs: fc.constantFrom(0, 1, 999, 1_000, 60_000, 86_400_000).map((offMs) => middayMs + offMs),
  }),
  { maxLength: 30 },
);

type History = typeof histories extends fc.Arbitrary<infer Kind> ? Kind : never;

async function live(books: TestBooks, history: History, caller: Caller, stranger: Caller): Promise<void> {
  const { accounts } = books.store();
  for (const { kind, amount, atMs } of history) {
    const payment = { transferId: books.newId(kind), accountId: caller.accountId, nowMs: atMs };
    if (kind === "top_up") await accounts.topUp({ ...payment, amountMicros: BigInt(amount + 1) });
    else if (kind === "adjust")
      await accounts.adjust({ ...payment, amountMicros: BigInt(amount - 40), reason: "by chance" });
    else {
      const callId = await books.held(kind === "stranger" ? stranger : caller);
      if (kind === "release") await books.release(callId, { atMs });
      else await books.settle(callId, { units: amount }, { atMs });
    }
  }
}

import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  middayMs,
  operationId,
  propertyRuns,
  terms,
  withBooks,
  type TestBooks,
  type Caller,
  type OpenStore,
} from "../ledger/conformance/shared-conformance.ts";
import { tokenTotals } from "../prices/quantities.ts";
import { createTerms } from "../prices/terms.ts";
import { placeOfMoment } from "../ledger/call-places.ts";
import { readUsageByGroup, readUsageByGroupWithin } from "./usage-by-group.ts";
import { readWholeUsage, readWholeUsageByGroup } from "./whole-usage.ts";
import {
  figuresOf,
  noUsage,
  readUsage,
  type UsageByDay,
  type UsageFigures,
  type UsageGrouping,
  type UsageScope,
  type UsageWindow,
  type WholeUsageGrouping,
} from "./usage-report.ts";

const daySeconds = 86_400;
/** Histories happen around this midnight, so that days, minutes and single calls all take part. */
const midnight = Date.UTC(2026, 9, 21) / 1_000;

/** What calls are made of: the same prices under other names. */
const sold = [
  { operationId, model: undefined },
  { operationId: "conformance.chat", model: "small" },
  { operationId: "conformance.chat", model: "large" },
].map((one) => ({ ...one, terms: createTerms(one.operationId, one.model, terms.unitPricesPico) }));

interface Ended {
  readonly caller: Caller;
  readonly what: (typeof sold)[number];
  readonly atMs: number;
  /** Undefined where none was asked. */
  readonly upstream: string | undefined;
  readonly figures: UsageFigures;
}

/** What every usage book must do. */
export function usageConformance(openStore: OpenStore): void {
  test("the report of any window is the sum of the calls that ended in it, by key, by account, by model and by operation", () =>
    withBooks(openStore, async (books) => {
      await fc.assert(
        fc.asyncProperty(histories, windows, fc.nat({ max: 20 }), async (history, window, callsMax) => {
          const one = await books.openCaller({ multiplierPpm: 1_450_000n });
          const two = await books.openKey(one);
          const stranger = await books.openCaller();
          await books.store().ledger.recordPrices(sold);
          const ended = await live(books, history, [one, two, stranger]);

          const byKey = [await report(books, one, "key", window), await report(books, two, "key", window)];
          const byAccount = await report(books, one, "account", window);
          for (const [at, caller] of [one, two].entries()) {
            const own = ended.filter((call) => call.caller === caller);
            expectReport(byKey[at], own, window);
          }
          const accountCalls = ended.filter((call) => call.caller.accountId === one.accountId);
          expectReport(byAccount, accountCalls, window);
          for (const figure of figureNames) {
            const ofKeys = byKey.reduce((sum, one_) => sum + one_.totals[figure], 0);
            expect(byAccount.totals[figure]).toBe(ofKeys);
          }
          const { usage } = books.store();
          for (const [scope, calls] of [
            [wholeOf(one), accountCalls],
            [ownOf(one), ended.filter(({ caller }) => caller === one)],
          ] as const) {
            const { totals } = await readUsage(usage, scope, window);
            for (const [by, nameOf] of groupings) {
              const grouped = await readUsageByGroup(usage, scope, by, window);
              expect(grouped.totals).toEqual(totals);
              expect(new Map(grouped.groups.map(({ name, ...figures }) => [name, figures]))).toEqual(
                groupsOf(calls, nameOf, window),
              );
              // Whoever looks at a few calls at most is told the same, or nothing.
              const within = await readUsageByGroupWithin(usage, scope, by, window, callsMax);
              expect([grouped, undefined]).toContainEqual(within);
              if (accountCalls.length <= callsMax) expect(within).toEqual(grouped);
              if (by !== "key" && totals.requests > callsMax) expect(within).toBeUndefined();
            }
          }
        }),
        { numRuns: propertyRuns(40) },
      );
    }));

  test("the report of all accounts together is the sum of their reports, by day, by account, by model, by operation and by upstream", () =>
    withBooks(openStore, async (books) => {
      const accountIds = new Set<string>();
      const everyCall: Ended[] = [];
      await fc.assert(
        fc.asyncProperty(histories, windows, async (history, window) => {
          const one = await books.openCaller({ multiplierPpm: 1_450_000n });
          const callers = [one, await books.openKey(one), await books.openCaller()];
          for (const { accountId } of callers) accountIds.add(accountId);
          await books.store().ledger.recordPrices(sold);
          everyCall.push(...(await live(books, history, callers)));

          const { usage } = books.store();
          const whole = await readWholeUsage(usage, window);
          expectReport(whole, everyCall, window);
          for (const [by, nameOf] of wholeGroupings) {
            const grouped = await readWholeUsageByGroup(usage, by, window);
            expect(grouped.totals).toEqual(whole.totals);
            expect(new Map(grouped.groups.map(({ name, ...figures }) => [name, figures]))).toEqual(
              groupsOf(everyCall, nameOf, window),
            );
            const charges = grouped.groups.map((group) => group.charged_micros_usd);
            expect(charges).toEqual(charges.toSorted((a, b) => b - a));
          }
          const { groups } = await readWholeUsageByGroup(usage, "account", window);
          for (const accountId of accountIds) {
            const { totals } = await readUsage(usage, { accountId, keyId: undefined }, window);
            const { name: _, ...figures } = groups.find(({ name }) => name === accountId) ?? noFigures;
            expect(figures).toEqual(totals);
          }
        }),
        { numRuns: propertyRuns(25) },
      );
    }));

  test("a window begins and ends exact to the second, at seconds, minutes and days", () =>
    withBooks(openStore, async (books) => {
      const caller = await books.openCaller();
      const minute = midnight + 5 * 60;
      const edges = [midnight, minute, minute + 17];
      // Each used another amount, so that none can be taken for its neighbour.
      let units = 0;
      for (const edge of edges) {
        for (const atMs of [edge * 1_000 - 1, edge * 1_000]) {
          const callId = await books.held(caller, { atMs });
          await books.settle(callId, { units: ++units }, { atMs });
        }
      }
      for (const edge of edges) {
        const requests = async (startSeconds: number, endSeconds: number) => {
          const { totals } = await report(books, caller, "key", { startSeconds, endSeconds });
          await expectGroupsToSumTo(totals, books, caller, { startSeconds, endSeconds });
          return totals.requests;
        };
        expect(await requests(edge - 1, edge)).toBe(1);
        expect(await requests(edge, edge + 1)).toBe(1);
        expect(await requests(edge - 1, edge + 1)).toBe(2);
        expect(await requests(edge - 2, edge - 1)).toBe(0);
        expect(await requests(edge + 1, edge + 2)).toBe(0);
      }
      const all = await report(books, caller, "key", {
        startSeconds: midnight - daySeconds,
        endSeconds: midnight + daySeconds,
      });
      expect(all.buckets.map(({ requests }) => requests)).toEqual([1, 5]);
    }));

  test("who takes usage apart looks at no more calls than it was allowed, whosever they are", () =>
    withBooks(openStore, async (books) => {
      const one = await books.openCaller();
      const two = await books.openKey(one);
      for (const caller of [one, two, two, two]) await books.settle(await books.held(caller), { units: 1 });
      const window = {
        startSeconds: middayMs / 1_000 - daySeconds,
        endSeconds: middayMs / 1_000 + daySeconds,
      };
      const within = (callsMax: number) =>
        readUsageByGroupWithin(books.store().usage, ownOf(one), "operation", window, callsMax);
      expect((await within(4))?.totals).toMatchObject({ requests: 1, charged_micros_usd: 1 });
      expect(await within(3)).toBeUndefined();
      expect(await within(0)).toBeUndefined();
    }));

  test("a call counts when it ends, not when it begins, and open calls do not count", () =>
    withBooks(openStore, async (books) => {
      const caller = await books.openCaller();
      const callId = await books.held(caller, { atMs: midnight * 1_000 - 500 });
      await books.held(caller, { atMs: midnight * 1_000 - 500 });
      await books.settle(callId, { units: 9 }, { atMs: midnight * 1_000 + 500 });
      const window = { startSeconds: midnight - daySeconds, endSeconds: midnight + daySeconds };
      const { buckets } = await report(books, caller, "key", window);
      expect(buckets.map(({ requests }) => requests)).toEqual([0, 1]);
      expect(buckets.map((bucket) => bucket.charged_micros_usd)).toEqual([0, 9]);
    }));

  test("calls that fail and calls nobody knows the end of both count as failed, once, at no cost", () =>
    withBooks(openStore, async (books) => {
      const caller = await books.openCaller();
      await books.release(await books.held(caller));
      await books.release(await books.held(caller), { outcome: "unknown" });
      await books.settle(await books.held(caller), { units: 0 });
      const orphan = await books.held(caller);
      await books.restart(middayMs + 5_000);
      await books.release(orphan);
      const window = { startSeconds: middayMs / 1_000, endSeconds: middayMs / 1_000 + 60 };
      const { totals } = await report(books, caller, "key", window);
      expect(totals).toMatchObject({ requests: 4, failed_requests: 3, charged_micros_usd: 0 });
      await expectGroupsToSumTo(totals, books, caller, window);
    }));
}

const used = fc.record({
  units: fc.nat({ max: 50 }),
  input_tokens: fc.nat({ max: 900 }),
  output_tokens: fc.nat({ max: 90 }),
  cache_read_tokens: fc.nat({ max: 90 }),
  cache_write_tokens: fc.nat({ max: 9 }),
  cache_write_1h_tokens: fc.nat({ max: 9 }),
  input_audio_tokens: fc.nat({ max: 9 }),
  cache_read_audio_tokens: fc.nat({ max: 9 }),
  output_audio_tokens: fc.nat({ max: 9 }),
});

/** Moments crowd around midnight and whole minutes, where a sum by buckets could go wrong. */
const moment = fc
  .tuple(
    fc.constantFrom(-daySeconds, -3_600, -60, 0, 60, 3_600, daySeconds),
    fc.integer({ min: -90_000, max: 90_000 }),
  )
  .map(([base, offMs]) => (midnight + base) * 1_000 + offMs);

const dayMs = daySeconds * 1_000;

const histories = fc.array(
  fc.record({
    // What the id says of when the call was made: a moment before its end, a day before it, by a clock that was set back
    // meanwhile a day later, or nothing.
    madeBeforeMs: fc.constantFrom(10, 10, dayMs, -dayMs, undefined),
    upstream: fc.constantFrom("first", "second"),
    who: fc.nat({ max: 2 }),
    what: fc.constantFrom(...sold),
    atMs: moment,
    ending: fc.constantFrom("settle", "release", "hold"),
    used,
  }),
  { maxLength: 25 },
);

const windows: fc.Arbitrary<UsageWindow> = fc
  .tuple(moment, moment)
  .map(([a, b]) => [Math.floor(Math.min(a, b) / 1_000), Math.floor(Math.max(a, b) / 1_000)] as const)
  .map(([startSeconds, end]) => ({ startSeconds, endSeconds: Math.max(end, startSeconds + 1) }));

async function live(
  books: TestBooks,
  history: readonly (typeof histories extends fc.Arbitrary<infer History> ? History : never)[number][],
  callers: readonly Caller[],
): Promise<Ended[]> {
  const ended: Ended[] = [];
  for (const { who, what, atMs, madeBeforeMs, ending, upstream, used: usedNow } of history) {
    const caller = callers[who];
    if (!caller) continue;
    const { model, ...wanted } = what;
    const hold = { ...wanted, ...(model === undefined ? {} : { model }), amountMicros: 5_000n };
    const place = madeBeforeMs === undefined ? "" : `${placeOfMoment(atMs - madeBeforeMs)}-`;
    const callId = `${place}${books.newId("call")}`;
    await books.held(caller, { ...hold, callId, atMs: atMs - 10 });
    if (ending === "hold") continue;
    const settles = ending === "settle";
    const end = settles ? books.settle(callId, usedNow, { atMs, upstream }) : books.release(callId, { atMs });
    const { chargedMicros, valueMicros } = await end;
    const tokens = tokenTotals(settles ? usedNow : {});
    ended.push({
      caller,
      what,
      atMs,
      upstream: settles ? upstream : undefined,
      figures: {
        requests: 1,
        failed_requests: settles ? 0 : 1,
        input_tokens: tokens.input,
        output_tokens: tokens.output,
        cache_read_tokens: tokens.cacheRead,
        cache_write_tokens: tokens.cacheWrite,
        usage_value_micros_usd: Number(valueMicros),
        charged_micros_usd: Number(chargedMicros),
      },
    });
  }
  return ended;
}

const figureNames = [
  "requests",
  "failed_requests",
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "usage_value_micros_usd",
  "charged_micros_usd",
] as const;

const noFigures = { name: undefined, ...figuresOf(noUsage) };

const report = (books: TestBooks, caller: Caller, scope: "key" | "account", window: UsageWindow) =>
  readUsage(books.store().usage, scope === "key" ? ownOf(caller) : wholeOf(caller), window);

function sumOf(calls: readonly Ended[], fromSeconds: number, toSeconds: number): UsageFigures {
  const sum = Object.fromEntries(figureNames.map((name) => [name, 0])) as Record<keyof UsageFigures, number>;
  for (const { atMs, figures } of calls) {
    if (atMs < fromSeconds * 1_000 || atMs >= toSeconds * 1_000) continue;
    for (const name of figureNames) sum[name] += figures[name];
  }
  return sum;
}

const groupings: readonly (readonly [UsageGrouping, (call: Ended) => string | undefined])[] = [
  ["key", ({ caller }) => caller.keyId],
  ["model", ({ what }) => what.model],
  ["operation", ({ what }) => what.operationId],
  ["upstream", ({ upstream }) => upstream],
];

const wholeGroupings: readonly (readonly [WholeUsageGrouping, (call: Ended) => string | undefined])[] = [
  ["account", ({ caller }) => caller.accountId],
  ["model", ({ what }) => what.model],
  ["operation", ({ what }) => what.operationId],
  ["upstream", ({ upstream }) => upstream],
];

/** Those of the caller's account, and of all, where there is no other. */
async function expectGroupsToSumTo(
  totals: UsageFigures,
  books: TestBooks,
  caller: Caller,
  window: UsageWindow,
): Promise<void> {
  const { usage } = books.store();
  for (const [by] of groupings)
    expect((await readUsageByGroup(usage, wholeOf(caller), by, window)).totals).toEqual(totals);
  expect((await readWholeUsage(usage, window)).totals).toEqual(totals);
  for (const [by] of wholeGroupings)
    expect((await readWholeUsageByGroup(usage, by, window)).totals).toEqual(totals);
}

const wholeOf = ({ accountId }: Caller): UsageScope => ({ accountId, keyId: undefined });
const ownOf = ({ accountId, keyId }: Caller): UsageScope => ({ accountId, keyId });

/** Only those that have any. */
function groupsOf(
  calls: readonly Ended[],
  nameOf: (call: Ended) => string | undefined,
  { startSeconds, endSeconds }: UsageWindow,
): Map<string | undefined, UsageFigures> {
  const sums = Map.groupBy(calls, nameOf)
    .entries()
    .map(([name, own]) => [name, sumOf(own, startSeconds, endSeconds)] as const);
  return new Map(sums.filter(([, { requests }]) => requests > 0));
}

function expectReport(found: UsageByDay | undefined, calls: readonly Ended[], window: UsageWindow): void {
  expect(found?.totals).toEqual(sumOf(calls, window.startSeconds, window.endSeconds));
  let at = window.startSeconds;
  for (const bucket of found?.buckets ?? []) {
    expect(bucket.start_time).toBe(at);
    expect(bucket.end_time).toBe(Math.min(window.endSeconds, at - (at % daySeconds) + daySeconds));
    const { start_time: from, end_time: to, ...figures } = bucket;
    expect(figures).toEqual(sumOf(calls, from, to));
    at = to;
  }
  expect(at).toBe(window.endSeconds);
}

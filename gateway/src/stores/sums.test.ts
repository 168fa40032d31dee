import { expect, test } from "bun:test";
import fc from "fast-check";
import type { CallEnd, HeldCall } from "./held-call.ts";
import { createSums } from "./sums.ts";
import { bucketsOf, bucketWidthsSeconds } from "./usage-buckets.ts";

const call = (keyId: string, budgetDayMs: number): HeldCall => ({
  callId: "call",
  accountId: "acc_1",
  keyId,
  operationId: "sold",
  model: null,
  heldMicros: 10n,
  priceVersion: "pv",
  multiplierPpm: 1_000_000n,
  budgetDayMs,
  grantId: null,
  runId: 1n,
  createdAtMs: 0,
  claim: undefined,
});

const end = (settledAtMs: number, chargedMicros: bigint): CallEnd => ({
  state: "settled",
  outcome: "succeeded",
  valueMicros: chargedMicros,
  chargedMicros,
  writtenOffMicros: 0n,
  carry: { chargeAtto: 0n, valuePico: 0n },
  used: { input_tokens: 1 },
  usageSource: "provider",
  httpStatus: 200,
  attempts: [],
  dispatchedAtMs: null,
  settledAtMs,
  freedKeyHash: undefined,
});

const ending = fc.record({
  keyId: fc.constantFrom("key_1", "key_2"),
  budgetDayMs: fc.constantFrom(0, 1_000, 2_000),
  settledAtMs: fc.nat(200_000_000),
  chargedMicros: fc.bigInt(0n, 9n),
});

test("calls that end in any order add up to the same seconds, minutes, hours, days and windows", () => {
  fc.assert(
    fc.property(fc.array(ending, { maxLength: 40 }), (endings) => {
      const sums = createSums();
      for (const { keyId, budgetDayMs, settledAtMs, chargedMicros } of endings)
        sums.addEnd(call(keyId, budgetDayMs), end(settledAtMs, chargedMicros));

      for (const [keyId, { seconds, windows }] of sums.keys) {
        const mine = endings.filter((each) => each.keyId === keyId);
        const buckets = bucketsOf(seconds).map(
          ({ widthSeconds, startSeconds, sums: { requests, chargedMicros } }) =>
            [widthSeconds, startSeconds, requests, chargedMicros].join(" "),
        );
        const expected = bucketWidthsSeconds.flatMap((width) =>
          grouped(mine, ({ settledAtMs }) => Math.floor(settledAtMs / 1_000 / width) * width).map(
            ([start, group]) => [width, start, group.length, total(group)].join(" "),
          ),
        );
        expect(buckets.toSorted()).toEqual(expected.toSorted());
        expect(windows.map(({ startMs, spentMicros }) => [startMs, spentMicros])).toEqual(
          grouped(mine, ({ budgetDayMs }) => budgetDayMs).map(([start, group]) => [start, total(group)]),
        );
      }
      expect([...sums.accounts.values()].map(({ postedMicros }) => postedMicros)).toEqual(
        endings.length === 0 ? [] : [-total(endings)],
      );
    }),
  );
});

interface Ending {
  readonly budgetDayMs: number;
  readonly settledAtMs: number;
  readonly chargedMicros: bigint;
}

function grouped(all: readonly Ending[], startOf: (each: Ending) => number): [start: number, Ending[]][] {
  return [...Map.groupBy(all, startOf)].toSorted(([a], [b]) => a - b);
}

const total = (all: readonly Ending[]): bigint =>
  all.reduce((sum, { chargedMicros }) => sum + chargedMicros, 0n);

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { noUsage, readUsage, segmentsOf, type UsageBook, type UsageWindow } from "./usage-report.ts";

const widths = { day: 86_400, hour: 3_600, minute: 60, second: 1 } as const;

const window: fc.Arbitrary<UsageWindow> = fc
  .tuple(
    fc.integer({ min: 1, max: 2_000_000_000 }),
    fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 400 * 86_400 })),
    fc.constantFrom(1, 60, 3_600, 86_400),
  )
  .map(([start, length, grid]) => {
    const startSeconds = Math.max(1, start - (start % grid));
    return { startSeconds, endSeconds: startSeconds + length };
  });

describe("the segments of a window", () => {
  test("cover it exactly once, each aligned to the record it is read from", () => {
    fc.assert(
      fc.property(window, (wanted) => {
        let at = wanted.startSeconds;
        for (const { width, fromSeconds, toSeconds } of segmentsOf(wanted)) {
          expect(fromSeconds).toBe(at);
          expect(toSeconds).toBeGreaterThan(fromSeconds);
          expect(fromSeconds % widths[width]).toBe(0);
          expect(toSeconds % widths[width]).toBe(0);
          at = toSeconds;
        }
        expect(at).toBe(wanted.endSeconds);
      }),
      { numRuns: 1_000 },
    );
  });

  test("read at most two minutes by the second, two hours by the minute and two days by the hour, however long the window", () => {
    fc.assert(
      fc.property(window, (wanted) => {
        const read = { day: 0, hour: 0, minute: 0, second: 0 };
        for (const { width, fromSeconds, toSeconds } of segmentsOf(wanted)) {
          read[width] += toSeconds - fromSeconds;
        }
        expect(read.second).toBeLessThan(2 * 60);
        expect(read.minute).toBeLessThan(2 * 3_600);
        expect(read.hour).toBeLessThan(2 * 86_400);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("the report", () => {
  test("zero-fills its days, clips them to the window, and its totals are their sum", async () => {
    const day = 20_000 * 86_400;
    const book: Pick<UsageBook, "sums"> = {
      sums: async () => [
        { ...noUsage, daySeconds: day, requests: 2, chargedMicros: 5n, valueMicros: 6n, inputTokens: 3 },
        { ...noUsage, daySeconds: day, requests: 1, failedRequests: 1 },
        { ...noUsage, daySeconds: day + 2 * 86_400, requests: 4, chargedMicros: 7n, outputTokens: 9 },
      ],
    };
    const scope = { accountId: "acc", keyId: undefined };
    const report = await readUsage(book, scope, { startSeconds: day + 10, endSeconds: day + 2 * 86_400 + 5 });
    expect(
      report.buckets.map(({ start_time, end_time, requests }) => [start_time, end_time, requests]),
    ).toEqual([
      [day + 10, day + 86_400, 3],
      [day + 86_400, day + 2 * 86_400, 0],
      [day + 2 * 86_400, day + 2 * 86_400 + 5, 4],
    ]);
    expect(report.totals).toEqual({
      requests: 7,
      failed_requests: 1,
      input_tokens: 3,
      output_tokens: 9,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      usage_value_micros_usd: 6,
      charged_micros_usd: 12,
    });
    expect([report.scope, report.currency, report.bucket_width]).toEqual(["account", "USD", "1d"]);
  });
});

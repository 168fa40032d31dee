import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { budgetWindowEndMs, budgetWindowStartMs } from "./budget-window.ts";

const at = (iso: string): number => Date.parse(iso);

describe("the window of a budget", () => {
  test.each([
    ["day", "2026-03-14T00:00:00.000Z", "2026-03-14T00:00:00Z", "2026-03-15T00:00:00Z"],
    ["day", "2026-03-14T23:59:59.999Z", "2026-03-14T00:00:00Z", "2026-03-15T00:00:00Z"],
    ["day", "2028-02-29T12:00:00.000Z", "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z"],
    ["month", "2026-03-31T23:59:59.999Z", "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"],
    ["month", "2026-12-31T23:59:59.999Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"],
    ["month", "2027-01-01T00:00:00.000Z", "2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z"],
  ] as const)("a %s at %s begins at %s and ends at %s", (window, now, start, end) => {
    expect(budgetWindowStartMs(window, at(now))).toBe(at(start));
    expect(budgetWindowEndMs(window, at(now))).toBe(at(end));
  });

  test("a total budget has one window that never ends", () => {
    expect(budgetWindowStartMs("total", at("2026-03-14T12:00:00Z"))).toBe(0);
    expect(budgetWindowEndMs("total", at("2026-03-14T12:00:00Z"))).toBeUndefined();
  });

  test("every moment lies in exactly one window, and the next begins where it ends", () => {
    fc.assert(
      fc.property(fc.constantFrom("day", "month"), fc.integer({ min: 0, max: 4e12 }), (window, nowMs) => {
        const start = budgetWindowStartMs(window, nowMs);
        const end = budgetWindowEndMs(window, nowMs) ?? 0;
        expect(start <= nowMs && nowMs < end).toBe(true);
        expect(budgetWindowStartMs(window, end)).toBe(end);
        expect(budgetWindowStartMs(window, end - 1)).toBe(start);
      }),
    );
  });
});

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decide, delayMaxMs, judge, nextDelay, type Delay } from "./retry-rules.ts";

describe("delays", () => {
  const chance = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
  const asked = fc.option(fc.nat(120_000), { nil: undefined });

  test("keep to every rule, whatever the gateway asks for and chance brings", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(asked, chance), { minLength: 1, maxLength: 12 }), (waits) => {
        let last: Delay | undefined;
        for (const [retryAfterMs, drawn] of waits) {
          const next = nextDelay(last, retryAfterMs, () => drawn);
          // Never sooner than asked for, and no delay of ours beyond the cap.
          expect(next.waitMs).toBeGreaterThanOrEqual(retryAfterMs ?? 0);
          expect(next.waitMs).toBeLessThanOrEqual(Math.max(delayMaxMs, retryAfterMs ?? 0));
          // It doubles, up to the cap.
          if (last) expect(next.baseMs).toBe(Math.min(delayMaxMs, last.baseMs * 2));
          // A quarter of jitter, either way.
          const ours = Math.max(next.baseMs, retryAfterMs ?? 0);
          expect(next.waitMs).toBeGreaterThanOrEqual(Math.floor(next.baseMs * 0.75));
          expect(next.waitMs).toBeLessThanOrEqual(Math.ceil(ours * 1.25));
          last = next;
        }
      }),
    );
  });

  test("begin with Retry-After where there is one, and with half a second where not", () => {
    expect(nextDelay(undefined, 7_000, () => 0.5)).toEqual({ baseMs: 7_000, waitMs: 7_000 });
    expect(nextDelay(undefined, undefined, () => 0.5)).toEqual({ baseMs: 500, waitMs: 500 });
  });
});

test("no status below 500 but 408, 409 in progress and 429 is ever sent again or looked up", () => {
  for (let status = 400; status < 500; status++) {
    for (const billed of [true, false]) {
      const verdict = judge({ kind: "answered", status, code: "anything" }, { billed });
      if (status === 429) expect(verdict).toBe("send_again");
      else if (status === 408) expect(verdict).toBe(billed ? "look_up" : "send_again");
      else expect([status, verdict]).toEqual([status, "stop"]);
    }
  }
});

test("no billed call in doubt is sent again without a look into the books", () => {
  for (let status = 500; status < 600; status++) {
    expect(judge({ kind: "answered", status }, { billed: true })).toBe("look_up");
    expect(judge({ kind: "answered", status }, { billed: false })).toBe("send_again");
  }
  expect(judge({ kind: "no_answer" }, { billed: true })).toBe("look_up");
});

test("what was charged is never sent again, and a key that has ended is not used again", () => {
  for (const keyed of [true, false]) {
    const ended = (chargedMicrosUsd: number, outcome: "succeeded" | "failed" | "unknown") =>
      decide({ kind: "ended", chargedMicrosUsd, outcome }, keyed);
    for (const outcome of ["succeeded", "failed", "unknown"] as const) {
      expect(ended(1, outcome)).toBe("answer_lost");
    }
    expect(ended(0, "failed")).toBe(keyed ? "ended_unpaid" : "send_again");
    expect(ended(0, "unknown")).toBe("ended_unpaid");
    expect(ended(0, "succeeded")).toBe("answer_lost");
    expect(decide({ kind: "not_found" }, keyed)).toBe("send_again");
    expect(decide({ kind: "running" }, keyed)).toBe("wait_and_look_up");
  }
});

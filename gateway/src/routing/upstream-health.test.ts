import { describe, expect, test } from "bun:test";
import { testUpstream } from "../operation/test-upstream.ts";
import type { Exchanged } from "../operation/exchanged.ts";
import { createUpstreamHealth, verdictOf, verdictOfStream } from "./upstream-health.ts";

describe("the breaker itself", () => {
  const one = testUpstream({ name: "one" });
  const failed: Exchanged = { kind: "no_answer", reason: "timeout", sent: true };
  const meet = (nowMs: () => number, of = one) => {
    const breaker = createUpstreamHealth(nowMs);
    const attempt = (exchanged: Exchanged): string => {
      const entry = breaker.enter(of.name);
      if (entry !== "paused") breaker.leave(of, entry, verdictOf(exchanged));
      return entry;
    };
    return { breaker, attempt };
  };

  test("does not believe news from before the pause", () => {
    const { breaker, attempt } = meet(() => 0);
    const early = breaker.enter("one");
    for (let calls = 0; calls < 5; calls++) attempt(failed);
    expect(breaker.isResting("one")).toBe(true);
    breaker.leave(one, early, { kind: "works" });
    expect(breaker.isResting("one")).toBe(true);
    expect(breaker.waitFor("one")).toEqual({ retryInMs: 5_000, why: "failing" });
  });

  test("lets the next trial in when one never comes back", () => {
    let nowMs = 0;
    const { breaker, attempt } = meet(() => nowMs);
    for (let calls = 0; calls < 5; calls++) attempt(failed);
    nowMs = 5_000;
    expect([breaker.enter("one"), breaker.enter("one")]).toEqual(["trial", "paused"]);
    nowMs = 15_000;
    expect([breaker.enter("one"), breaker.enter("one")]).toEqual(["trial", "paused"]);
  });

  test("pauses ever longer, up to a minute", () => {
    let nowMs = 0;
    const { breaker, attempt } = meet(() => nowMs);
    for (let calls = 0; calls < 5; calls++) attempt(failed);
    const pauses: number[] = [];
    for (let trials = 0; trials < 6; trials++) {
      const { retryInMs } = breaker.waitFor("one");
      pauses.push(retryInMs);
      nowMs += retryInMs;
      expect(attempt(failed)).toBe("trial");
    }
    expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  test("takes a busy answer for a sign of life", () => {
    let nowMs = 0;
    const { breaker, attempt } = meet(() => nowMs);
    const busy: Exchanged = { kind: "rate_limited", status: 429, retryAfterSeconds: undefined };
    for (let calls = 0; calls < 5; calls++) attempt(failed);
    nowMs = 5_000;
    expect([attempt(busy), breaker.isResting("one"), breaker.enter("one")]).toEqual(["trial", true, "free"]);
    nowMs = 6_000;
    expect(breaker.isResting("one")).toBe(false);
    for (let calls = 0; calls < 4; calls++) attempt(failed);
    attempt(busy);
    for (let calls = 0; calls < 4; calls++) expect(attempt(failed)).toBe("free");
  });

  test("ends a pause with the head of a stream", () => {
    let nowMs = 0;
    const { breaker, attempt } = meet(() => nowMs);
    attempt({ kind: "rate_limited", status: 429, retryAfterSeconds: 7 });
    nowMs = 7_000;
    const left = breaker.streams("one", breaker.enter("one"));
    expect([left, breaker.enter("one"), breaker.enter("one")]).toEqual(["free", "free", "free"]);
    // The end of that stream is no news about a pause that began meanwhile.
    attempt({ kind: "rate_limited", status: 429, retryAfterSeconds: 7 });
    breaker.leave(one, left, verdictOfStream("whole"));
    expect(breaker.enter("one")).toBe("paused");

    nowMs = 20_000;
    breaker.leave(one, breaker.enter("one"), verdictOfStream("whole"));
    for (let calls = 0; calls < 5; calls++) attempt(failed);
    nowMs = 25_000;
    const trial = breaker.streams("one", breaker.enter("one"));
    expect([trial, breaker.enter("one"), breaker.enter("one")]).toEqual(["free", "free", "free"]);
    breaker.leave(one, trial, verdictOfStream("whole"));
    for (let calls = 0; calls < 4; calls++) expect(attempt(failed)).toBe("free");
    expect(breaker.enter("one")).toBe("free");
  });

  test("pauses again, and longer, when the first stream after failures breaks off", () => {
    let nowMs = 0;
    const { breaker, attempt } = meet(() => nowMs);
    for (let calls = 0; calls < 5; calls++) attempt(failed);
    nowMs = 5_000;
    const [first, second] = [1, 2].map(() => breaker.streams("one", breaker.enter("one")));
    // What is no fault of the upstream's says nothing, neither for it nor against it.
    breaker.leave(one, first ?? "paused", verdictOfStream("left"));
    expect(breaker.enter("one")).toBe("free");
    breaker.leave(one, second ?? "paused", verdictOfStream("broke_off"));
    expect([breaker.enter("one"), breaker.waitFor("one")]).toEqual([
      "paused",
      { retryInMs: 10_000, why: "failing" },
    ]);
  });

  test("never shuts the sandbox", () => {
    const sandbox = { ...one, name: "sandbox-openai", sandbox: true };
    const { attempt } = meet(() => 0, sandbox);
    for (let calls = 0; calls < 20; calls++) expect(attempt(failed)).toBe("free");
  });
});

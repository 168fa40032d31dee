import { describe, expect, test } from "bun:test";
import { testUpstream } from "../operation/test-upstream.ts";
import type { Exchanged } from "../operation/exchanged.ts";
import { createUpstreamHealth, type Pass } from "./upstream-health.ts";
import { verdictOf, verdictOfStream } from "./verdict.ts";

describe("the breaker itself", () => {
  const one = testUpstream({ name: "one" });
  const failed: Exchanged = { kind: "no_answer", reason: "timeout", sent: true };
  const meet = (nowMs: () => number, of = one) => {
    const breaker = createUpstreamHealth(nowMs);
    const attempt = (exchanged: Exchanged): string => {
      const pass = breaker.enter(of.name);
      if (pass !== "paused") breaker.leave(of, pass, verdictOf(exchanged));
      return pass;
    };
    const mustEnter = (): Pass => {
      const pass = breaker.enter(of.name);
      if (pass === "paused") throw new Error(`${of.name} is paused.`);
      return pass;
    };
    return { breaker, attempt, mustEnter };
  };

  test("does not believe news from before the pause", () => {
    const { breaker, attempt, mustEnter } = meet(() => 0);
    const early = mustEnter();
    for (let calls = 0; calls < 5; calls++) attempt(failed);
    expect(breaker.isResting("one")).toBe(true);
    breaker.leave(one, early, { kind: "works" });
    expect(breaker.isResting("one")).toBe(true);
    expect(breaker.waitFor("one")).toEqual({ retryInMs: 5_000, why: "failing", guessed: true });
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
    expect([attempt(busy), breaker.isResting("one"), breaker.enter("one")]).toEqual(["trial", true, "usual"]);
    nowMs = 6_000;
    expect(breaker.isResting("one")).toBe(false);
    for (let calls = 0; calls < 4; calls++) attempt(failed);
    attempt(busy);
    for (let calls = 0; calls < 4; calls++) expect(attempt(failed)).toBe("usual");
  });

  test("ends a pause with the head of a stream", () => {
    let nowMs = 0;
    const { breaker, attempt, mustEnter } = meet(() => nowMs);
    attempt({ kind: "rate_limited", status: 429, retryAfterSeconds: 7 });
    nowMs = 7_000;
    const left = breaker.streams("one", mustEnter());
    expect([left, breaker.enter("one"), breaker.enter("one")]).toEqual(["usual", "usual", "usual"]);
    // The end of that stream is no news about a pause that began meanwhile.
    attempt({ kind: "rate_limited", status: 429, retryAfterSeconds: 7 });
    breaker.leave(one, left, verdictOfStream("whole"));
    expect(breaker.enter("one")).toBe("paused");

    nowMs = 20_000;
    breaker.leave(one, mustEnter(), verdictOfStream("whole"));
    for (let calls = 0; calls < 5; calls++) attempt(failed);
    nowMs = 25_000;
    const trial = breaker.streams("one", mustEnter());
    expect([trial, breaker.enter("one"), breaker.enter("one")]).toEqual(["usual", "usual", "usual"]);
    breaker.leave(one, trial, verdictOfStream("whole"));
    for (let calls = 0; calls < 4; calls++) expect(attempt(failed)).toBe("usual");
    expect(breaker.enter("one")).toBe("usual");
  });

  test("pauses again, and longer, when the first stream after failures breaks off", () => {
    let nowMs = 0;
    const { breaker, attempt, mustEnter } = meet(() => nowMs);
    for (let calls = 0; calls < 5; calls++) attempt(failed);
    nowMs = 5_000;
    const [first, second] = [breaker.streams("one", mustEnter()), breaker.streams("one", mustEnter())];
    // What is no fault of the upstream's says nothing, neither for it nor against it.
    breaker.leave(one, first, verdictOfStream("left"));
    breaker.leave(one, first, verdictOfStream("gateway_stopped"));
    attempt({ kind: "no_answer", reason: "gateway_stopped", sent: true });
    expect(breaker.enter("one")).toBe("usual");
    breaker.leave(one, second, verdictOfStream("broke_off"));
    expect([breaker.enter("one"), breaker.waitFor("one")]).toEqual([
      "paused",
      { retryInMs: 10_000, why: "failing", guessed: true },
    ]);
  });

  test("never shuts the sandbox", () => {
    const sandbox = { ...one, name: "sandbox-openai", sandbox: true };
    const { attempt } = meet(() => 0, sandbox);
    for (let calls = 0; calls < 20; calls++) expect(attempt(failed)).toBe("usual");
  });
});

// An upstream that fails, or asks to wait, is left alone for a while: after what, and for how long.

import { describe, expect, test } from "bun:test";
import { error, callSnapshot } from "./two-upstreams.ts";
import { chat } from "../support/purchases.ts";
import { useRoutedCalls } from "./routed-calls.ts";

const { gateway, financial, model, later, meetAnew, rounds, asked, since } = await useRoutedCalls();

describe("an upstream that fails again and again", () => {
  test("is left alone after five failures, tried once after the pause, and trusted again when that works", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    let before = asked();
    for (let fault = 0; fault < 5; fault++) financial.a.answerNext(error(500));
    expect(await rounds(account, 8)).toEqual(Array.from({ length: 8 }, () => 200));
    expect(since(before)).toEqual([5, 8]);

    // The pause is over: one trial, which fails, doubles it.
    later(5_000);
    before = asked();
    financial.a.answerNext(error(500));
    await rounds(account, 3);
    expect(since(before)).toEqual([1, 3]);
    later(9_000);
    before = asked();
    await rounds(account, 2);
    expect(since(before)).toEqual([0, 2]);

    later(1_000);
    before = asked();
    await rounds(account, 4);
    expect(since(before)).toEqual([4, 0]);
  });

  test("is forgiven by one answer, also a 404, in between", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    const before = asked();
    for (let fault = 0; fault < 4; fault++) financial.a.answerNext(error(500));
    financial.a.answerNext(error(404));
    for (let fault = 0; fault < 4; fault++) financial.a.answerNext(error(502));
    await rounds(account, 10);
    expect(since(before)).toEqual([10, 8]);
  });

  test("counts as failing when it answers calls for models with pages, or errors that claim success", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    const askedModels = (): number[] => [model.a.requests.length, model.b.requests.length];
    for (const [type, body, passed] of [
      ["text/html", "<h1>No such page</h1>", 5],
      ["application/json", '{"error":{"code":503,"message":"no"}}', 0],
    ] as const) {
      meetAnew();
      const before = askedModels();
      for (let fault = 0; fault < 5; fault++)
        model.a.answerNext({ status: 200, headers: { "content-type": type }, body });
      const types: (string | null)[] = [];
      for (let call = 0; call < 7; call++) {
        const response = await gateway.post(account, "/v1/chat/completions", chat);
        types.push(response.headers.get("content-type"));
        if (type === "text/html" && call < 5) expect(await response.text()).toBe(body);
      }
      // Nobody can tell what was done behind a page, so that is asked of nobody else.
      expect(types.filter((each) => each === "text/html")).toHaveLength(passed);
      expect(askedModels().map((count, index) => count - (before[index] ?? 0))).toEqual([5, 7 - passed]);
    }
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toContain('tollgate_upstream_attempts_total{upstream="oa-a",outcome="malformed"} 5');
  });

  test("gets one trial at a time", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    for (let fault = 0; fault < 5; fault++) financial.a.answerNext(error(500));
    await rounds(account, 5);
    later(5_000);
    const before = asked();
    financial.a.answerNext({ kind: "slow", chunkBytes: 100, everyMs: 30 });
    const statuses = await Promise.all(Array.from({ length: 10 }, () => callSnapshot(account, gateway)));
    expect(statuses.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(since(before)).toEqual([1, 9]);
    await rounds(account, 2);
    expect(since(before)).toEqual([3, 9]);
  });

  test("is left alone for as long as its Retry-After says, at once, and never longer than a minute", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    for (const [answer, pauseMs] of [
      [error(429, { "Retry-After": "7" }), 7_000],
      [error(429), 1_000],
      [error(503, { "Retry-After": "20" }), 20_000],
      [error(429, { "Retry-After": "3600" }), 60_000],
    ] as const) {
      financial.a.answerNext(answer);
      let before = asked();
      await rounds(account, 3);
      expect(since(before)).toEqual([1, 3]);
      later(pauseMs - 500);
      before = asked();
      await rounds(account, 1);
      expect(since(before)).toEqual([0, 1]);
      later(500);
      before = asked();
      await rounds(account, 2);
      expect(since(before)).toEqual([2, 0]);
    }
  });

  test("shows in the metrics while it is left alone", async () => {
    const account = await gateway.openAccount();
    const gauges = async (): Promise<string[]> =>
      (await (await fetch(`${gateway.url}/metrics`)).text())
        .split("\n")
        .filter((line) => line.startsWith('tollgate_upstream_paused{upstream="fd-'))
        .toSorted();
    const line = (name: string, value: number): string =>
      `tollgate_upstream_paused{upstream="${name}"} ${value}`;
    expect(await gauges()).toEqual([line("fd-a", 0), line("fd-b", 0)]);
    financial.a.answerNext(error(429, { "Retry-After": "7" }));
    await rounds(account, 1);
    expect(await gauges()).toEqual([line("fd-a", 1), line("fd-b", 0)]);
  });
});

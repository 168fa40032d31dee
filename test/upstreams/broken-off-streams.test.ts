// An upstream that breaks off the streams it begins is left alone for a while, unless that was the doing of its callers.

import { describe, expect, test } from "bun:test";
import { openImpatientVendor } from "../doubles/impatient-vendor.ts";
import { openStreamCaller } from "../streams/stream-caller.ts";
import type { TestAccount } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { error } from "./two-upstreams.ts";
import { chat } from "../support/purchases.ts";
import { useRoutedCalls } from "./routed-calls.ts";

const { gateway, financial, model, open, twoOfEach, later } = await useRoutedCalls();

describe("an upstream that fails again and again", () => {
  describe("by breaking off the streams that it begins", () => {
    const stream = async (account: TestAccount): Promise<string> =>
      (await gateway.post(account, "/v1/chat/completions", { ...chat, stream: true })).text();
    const askedModels = (): number[] => [model.a.requests.length, model.b.requests.length];
    const sinceModels = (before: readonly number[]): number[] =>
      askedModels().map((count, index) => count - (before[index] ?? 0));
    const attempts = async (outcome: string): Promise<number> => {
      const text = await (await fetch(`${gateway.url}/metrics`)).text();
      const line = `tollgate_upstream_attempts_total{upstream="oa-a",outcome="${outcome}"} `;
      return Number(
        text
          .split("\n")
          .find((each) => each.startsWith(line))
          ?.slice(line.length) ?? 0,
      );
    };

    test.each(["reset", "close", "end"] as const)(
      "is left alone, tried once, and trusted again: %s",
      async (fault) => {
        const account = await gateway.openAccount({ creditUsd: "50" });
        const counted = await attempts("broke_off");
        let before = askedModels();
        for (let times = 0; times < 5; times++) model.a.answerNext({ kind: "stream", afterEvents: 4, fault });
        for (let calls = 0; calls < 5; calls++) expect(await stream(account)).toContain("broke off");
        for (let calls = 0; calls < 3; calls++) expect(await stream(account)).toContain("[DONE]");
        expect(sinceModels(before)).toEqual([5, 3]);
        expect(await attempts("broke_off")).toBe(counted + 5);

        later(5_000);
        before = askedModels();
        model.a.answerNext({ kind: "stream", afterEvents: 4, fault });
        expect(await stream(account)).toContain("broke off");
        for (let calls = 0; calls < 2; calls++) expect(await stream(account)).toContain("[DONE]");
        expect(sinceModels(before)).toEqual([1, 2]);

        later(10_000);
        before = askedModels();
        const whole = await attempts("streaming");
        for (let calls = 0; calls < 3; calls++) expect(await stream(account)).toContain("[DONE]");
        expect(sinceModels(before)).toEqual([3, 0]);
        expect(await attempts("streaming")).toBe(whole + 3);
      },
    );

    test("is forgiven by one that is whole, and not by the head of one", async () => {
      const account = await gateway.openAccount({ creditUsd: "50" });
      const before = askedModels();
      const breakOff = (times: number): void => {
        for (let each = 0; each < times; each++)
          model.a.answerNext({ kind: "stream", afterEvents: 4, fault: "reset" });
      };
      breakOff(4);
      model.a.answerNext({ kind: "stream" });
      breakOff(4);
      model.a.answerNext({ kind: "stream", afterEvents: 4, fault: "error" });
      breakOff(1);
      for (let calls = 0; calls < 12; calls++) await stream(account);
      expect(sinceModels(before)).toEqual([11, 1]);
      expect(await attempts("gave_up")).toBe(1);
    });

    test("no longer keeps others waiting once a stream has begun after the pause", async () => {
      const account = await gateway.openAccount({ creditUsd: "50" });
      for (let times = 0; times < 5; times++)
        for (const double of [model.a, model.b]) double.answerNext(error(500));
      for (let calls = 0; calls < 5; calls++) await stream(account);
      later(5_000);
      const before = askedModels();
      model.a.answerNext({ kind: "stream", everyMs: 100 });
      const first = await gateway.post(account, "/v1/chat/completions", { ...chat, stream: true });
      const meanwhile = await Promise.all(Array.from({ length: 4 }, () => stream(account)));
      for (const text of meanwhile) expect(text).toContain("[DONE]");
      expect(sinceModels(before)).toEqual([5, 0]);
      expect(await first.text()).toContain("[DONE]");
    });

    test("is not what a vendor does that cuts off callers who stop reading, and receipts say so", async () => {
      const vendor = await openImpatientVendor();
      const patient = await open(
        twoOfEach(financial.a.url, vendor.url).replaceAll("timeout_ms: 2000", "timeout_ms: 20000"),
      );
      const account = await patient.openAccount({ creditUsd: "5000", tier: "enterprise" });
      const request = { account, path: "/v1/chat/completions", body: { ...chat, stream: true } };
      const callers = Array.from({ length: 5 }, () => openStreamCaller(patient.port, request));
      for (const caller of callers)
        caller
          .untilFrames(1)
          .then(caller.pause)
          .catch(() => undefined);
      await until(() => vendor.cuts() === callers.length);
      await Bun.sleep(200);
      for (const caller of callers) {
        caller.resume();
        await caller.ended;
        expect(caller.frames().some((frame) => frame.includes("broke off"))).toBe(true);
        const id = /^x-request-id: (.+)$/im.exec(caller.head())?.[1]?.trim() ?? "";
        const receipt = await (await patient.call(account, `/v1/requests/${id}`)).text();
        expect(JSON.parse(receipt)).toMatchObject({
          attempts: [{ upstream: "oa-a", outcome: "caller_stalled" }],
        });
        expect(receipt).toContain("the caller had stopped reading");
      }
      expect(patient.logged.join("")).not.toContain("keeps failing");
      const metrics = await (await fetch(`${patient.url}/metrics`)).text();
      expect(metrics).toContain('tollgate_upstream_paused{upstream="oa-a"} 0');
      expect(metrics).not.toContain('{upstream="oa-a",outcome="broke_off"}');
      await patient.close();
      await vendor.close();
    }, 30_000);

    test("is not what an upstream does whose callers leave", async () => {
      const account = await gateway.openAccount({ creditUsd: "50" });
      const before = askedModels();
      const broken = await attempts("broke_off");
      for (let calls = 0; calls < 6; calls++) {
        model.a.answerNext({ kind: "stream", afterEvents: 6, everyMs: 20, fault: "reset" });
        const leaving = new AbortController();
        const response = await gateway.call(account, "/v1/chat/completions", {
          method: "POST",
          body: JSON.stringify({ ...chat, stream: true }),
          headers: { "content-type": "application/json" },
          signal: leaving.signal,
        });
        await response.body?.getReader().read();
        leaving.abort();
        await until(async () => (await gateway.balance(account)).held === 0);
      }
      expect(sinceModels(before)).toEqual([6, 0]);
      expect(await attempts("broke_off")).toBe(broken);
    });
  });
});

// Video tasks that their vendor ends: what is believed, shown and charged.

import { describe, expect, test } from "bun:test";
import { openDashScopeDouble } from "../doubles/dashscope.ts";
import type { ScriptedAnswer } from "../doubles/scripted-answer.ts";
import { until } from "../support/until.ts";
import { createTask, poll, taskPath, video, videoMicros } from "./task-caller.ts";
import { richMicros, json, key, untouched, useVideoVendor } from "./video-vendor.ts";

const { clock, vendor, attacker, gateway, openAt, rich, vendorId, reaches, receiptOf } =
  await useVideoVendor();

describe("a task that the vendor ends", () => {
  test("well is shown in our words and in UTC, and charged what the vendor's book says", async () => {
    const account = await rich();
    const billedBefore = vendor.book.length;
    const { output } = await createTask(gateway, account, video("a fox"));
    const { output: shown, usage } = await reaches(account, output.task_id, "SUCCEEDED");
    expect(shown).toEqual({
      task_id: output.task_id,
      task_status: "SUCCEEDED",
      submit_time: "2026-11-14 23:30:00.125",
      scheduled_time: "2026-11-14 23:30:01.250",
      end_time: "2026-11-14 23:31:10.500",
      orig_prompt: "a fox",
      video_url: expect.stringMatching(/^https:.*&Signature=x%2By%3D$/) as unknown as string,
    });
    expect(usage).toEqual({ output_video_duration: 5, video_count: 1, SR: 720 });
    expect(await gateway.balance(account)).toEqual({ balance: richMicros - videoMicros, held: 0 });
    expect(vendor.book.slice(billedBefore).map(({ billed }) => billed.seconds)).toEqual([5]);
  });

  test("badly costs nothing, and says why", async () => {
    const account = await rich();
    const { output } = await createTask(gateway, account, video("a fox"));
    vendor.move(vendorId(), "FAILED");
    expect((await reaches(account, output.task_id, "FAILED")).output).toMatchObject({
      code: "InternalError.Algo",
      message: "The video could not be made.",
    });
    expect(await gateway.balance(account)).toEqual(untouched);
  });

  test("badly because of the operator's key or account says no word of that to the caller, and tells the operator", async () => {
    for (const code of [
      "Arrearage",
      "InvalidApiKey",
      "Model.AccessDenied",
      "AllocationQuota.FreeTierOnly",
      "Throttling.AllocationQuota",
    ]) {
      const output = { code, message: "Make sure that account 1234567 is in good standing." };
      const other = await openDashScopeDouble({ key, output });
      const at = await openAt(other.url);
      const account = await rich(at);
      const created = await createTask(at, account, video("a fox"));
      const [{ id } = { id: "" }] = other.tasks();
      other.move(id, "FAILED");
      const ended = await reaches(account, created.output.task_id, "FAILED", at);
      expect(ended.output).toMatchObject({
        code: "provider_unavailable",
        message: "The provider could not serve this task; nothing was charged.",
      });
      expect(JSON.stringify(ended)).not.toContain("1234567");
      expect(at.logged.filter((line) => line.includes(`"upstream_task_id":"${id}"`))).toEqual([
        expect.stringContaining("because of the operator's key, account or quota") as string,
      ]);
      expect(await at.balance(account)).toEqual(untouched);
      await at.close();
      await other.close();
    }
  });

  test("is charged by whatever form of usage the model reports", async () => {
    for (const [usage, seconds, resolution] of [
      [{ duration: 3, SR: "720", video_count: "1" }, 3, 720],
      [{ duration: 12, output_video_duration: 2, SR: 720, video_count: 1 }, 2, 720],
      [{ output_video_duration: 4.0, SR: 720 }, 4, 720],
      [{ video_duration: 3, video_ratio: "1280*720", video_count: 1 }, 3, 720],
    ] as const) {
      for (const usageInOutput of [false, true]) {
        const other = await openDashScopeDouble({ key, usage, usageInOutput });
        const at = await openAt(other.url);
        const account = await rich(at);
        const created = await createTask(at, account, video("a fox"));
        const ended = await reaches(account, created.output.task_id, "SUCCEEDED", at);
        expect(ended.usage).toEqual({ output_video_duration: seconds, video_count: 1, SR: resolution });
        expect(await at.balance(account)).toEqual({ balance: richMicros - seconds * 100_000, held: 0 });
        expect(await receiptOf(account, created.request_id, at)).toMatchObject({ usage_source: "provider" });
        expect(await at.audit()).toEqual([]);
        await at.close();
        await other.close();
      }
    }
  });

  test("after looking at other videos is held and charged for the seconds of both, as the vendor bills them", async () => {
    const usage = {
      duration: 10,
      input_video_duration: 5,
      output_video_duration: 5,
      video_count: 1,
      SR: 720,
    };
    const other = await openDashScopeDouble({ key, usage });
    const at = await openAt(other.url);
    for (const [references, heldSeconds] of [
      [{ reference_video_urls: ["https://videos.example/a.mp4"] }, 10],
      [{ media: [{ type: "reference_video", url: "https://videos.example/a.mp4" }] }, 20],
      // An image has no seconds; a vendor that bills some all the same is paid no more than was held.
      [{ media: [{ type: "first_frame", url: "https://images.example/a.png" }] }, 5],
    ] as const) {
      const account = await rich(at);
      const wish = video("a fox");
      const created = await createTask(at, account, { ...wish, input: { ...wish.input, ...references } });
      expect((await at.balance(account)).held).toBe(heldSeconds * 100_000);
      const ended = await reaches(account, created.output.task_id, "SUCCEEDED", at);
      expect(ended.usage).toMatchObject({ output_video_duration: 5, input_video_duration: 5 });
      const charged = Math.min(10, heldSeconds) * 100_000;
      expect(await at.balance(account)).toEqual({ balance: richMicros - charged, held: 0 });
    }
    expect(await at.audit()).toEqual([]);
    await at.close();
    await other.close();
  });

  test("without a word about videos it looked at is charged for the one that was asked for", async () => {
    const other = await openDashScopeDouble({ key, usage: null });
    const at = await openAt(other.url);
    const account = await rich(at);
    const wish = video("a fox");
    const input = { ...wish.input, reference_urls: ["https://videos.example/a.mp4"] };
    const created = await createTask(at, account, { ...wish, input });
    await reaches(account, created.output.task_id, "SUCCEEDED", at);
    expect(await at.balance(account)).toEqual({ balance: richMicros - videoMicros, held: 0 });
    await at.close();
    await other.close();
  });

  test("without a word about usage is charged what was asked for, and the receipt says that it is estimated", async () => {
    const other = await openDashScopeDouble({ key, usage: null });
    const at = await openAt(other.url);
    const account = await rich(at);
    const created = await createTask(at, account, video("a fox"));
    await reaches(account, created.output.task_id, "SUCCEEDED", at);
    expect(await at.balance(account)).toEqual({ balance: richMicros - videoMicros, held: 0 });
    expect(await receiptOf(account, created.request_id, at)).toMatchObject({ usage_source: "estimated" });
    await at.close();
    await other.close();
  });

  test("is not ended while it is suspended: it waits", async () => {
    const account = await rich();
    const { output } = await createTask(gateway, account, video("a fox"));
    vendor.move(vendorId(), "SUSPENDED");
    clock.forward(60_000);
    expect((await poll(gateway, account, output.task_id)).output.task_status).toBe("PENDING");
    vendor.move(vendorId(), "SUCCEEDED");
    await reaches(account, output.task_id, "SUCCEEDED");
  });

  test("is not canceled when the vendor says it is too late, and its words are passed on", async () => {
    const account = await rich();
    const { output } = await createTask(gateway, account, video("a fox"));
    vendor.move(vendorId(), "RUNNING");
    const refused = await gateway.call(account, `${taskPath(output.task_id)}/cancel`, { method: "POST" });
    expect([refused.status, await refused.json()]).toEqual([
      400,
      {
        code: "UnsupportedOperation",
        message: "Failed to cancel the task, please confirm if the task is in PENDING status.",
        request_id: expect.any(String) as unknown,
      },
    ]);
    expect((await gateway.balance(account)).held).toBe(videoMicros);
    vendor.move(vendorId(), "SUCCEEDED");
    await reaches(account, output.task_id, "SUCCEEDED");
    expect(await gateway.balance(account)).toEqual({ balance: richMicros - videoMicros, held: 0 });
  });
});

describe("no verdict about a task", () => {
  const lies: Readonly<Record<string, (id: string) => ScriptedAnswer>> = {
    "a 404": () => json(404, { code: "NotFound", message: "no such task", request_id: "1" }),
    "a 500": () => json(500, { code: "InternalError", message: "later", request_id: "1" }),
    "a 429": () => json(429, { code: "Throttling.RateQuota", message: "later", request_id: "1" }),
    "a 401": () =>
      json(401, { code: "InvalidApiKey", message: "Invalid API-key provided.", request_id: "1" }),
    "a page": () => ({ kind: "not-json", body: "<html>busy</html>", contentType: "text/html" }),
    garbage: () => ({ kind: "garbage" }),
    "an empty answer": () => ({ status: 200 }),
    silence: () => ({ kind: "hang" }),
    "a reset": () => ({ kind: "reset" }),
    "half an answer": () => ({ kind: "truncated" }),
    "a redirect": () => ({ kind: "redirect", status: 302, location: `${attacker.url}/tasks/1` }),
    UNKNOWN: (id) => json(200, { request_id: "1", output: { task_id: id, task_status: "UNKNOWN" } }),
    "a state nobody knows": (id) =>
      json(200, {
        request_id: "1",
        output: { task_id: id, task_status: "DONE", video_url: "https://a.test/v" },
      }),
    "another task's success": () =>
      json(200, {
        request_id: "1",
        output: { task_id: "another", task_status: "SUCCEEDED", video_url: "https://a.test/v" },
        usage: { duration: 5, SR: 720 },
      }),
    "a success without a video": (id) =>
      json(200, {
        request_id: "1",
        output: { task_id: id, task_status: "SUCCEEDED" },
        usage: { duration: 5, SR: 720 },
      }),
    "a success with a script for a link": (id) =>
      json(200, {
        request_id: "1",
        output: { task_id: id, task_status: "SUCCEEDED", video_url: "javascript:alert(1)" },
        usage: { duration: 5, SR: 720 },
      }),
  };

  for (const [name, lie] of Object.entries(lies)) {
    test(`is ${name}: the hold stays, and the true end is charged once`, async () => {
      const account = await rich();
      const created = await createTask(gateway, account, video("a fox"));
      const id = vendorId();
      vendor.move(id, "SUCCEEDED");
      const before = vendor.requests.length;
      vendor.answerNext(lie(id));
      clock.forward(3_100);
      await until(() => vendor.requests.length > before);
      // Time enough for a lie to be believed, and for silence to be noticed.
      await Bun.sleep(name === "silence" ? 500 : 50);
      const { output } = await poll(gateway, account, created.output.task_id);
      expect(["PENDING", "RUNNING"]).toContain(output.task_status);
      expect(await gateway.balance(account)).toEqual({ balance: richMicros, held: videoMicros });

      await reaches(account, created.output.task_id, "SUCCEEDED");
      expect(await gateway.balance(account)).toEqual({ balance: richMicros - videoMicros, held: 0 });
      expect(vendor.tasks().filter((task) => task.id === id)).toHaveLength(1);
    });
  }
});

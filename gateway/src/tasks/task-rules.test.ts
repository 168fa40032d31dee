import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createTerms } from "../prices/terms.ts";
import { estimateVideo, secondUnit } from "../operation/video-seconds.ts";
import { createPollFloor } from "./poll-floor.ts";
import { createPollQuota } from "./poll-quota.ts";
import { readTaskReport, type TaskReport } from "./read-task-report.ts";
import { resultExpiresAtMs } from "./result-expiry.ts";
import { errorWaitMs, pollAfterMs, stepFor } from "./task-rules.ts";
import { statusOf, taskLifeMs } from "./task-life.ts";
import { readTaskTime, writeTaskTime } from "./task-time.ts";
import type { Task } from "../ledger/task-record.ts";

const nowMs = Date.UTC(2026, 10, 15, 12);
const prices = { second_720p: 100_000_000_000n, second_1080p: 150_000_000_000n };

const task: Task = {
  id: "ours",
  callId: "call",
  accountId: "acc",
  keyId: "key",
  operationId: "video.synthesis.create",
  state: "RUNNING",
  at: { upstream: "vendor", taskId: "theirs" },
  expected: { second_720p: 5 },
  terms: createTerms("video.synthesis.create", "wan", prices),
  attempts: [],
  report: undefined,
  createdAtMs: nowMs - 120_000,
  askedAtMs: nowMs,
  nextPollAtMs: nowMs,
  deadlineAtMs: nowMs + taskLifeMs,
  fence: 4,
  errors: 0,
  missing: 0,
  endedAtMs: undefined,
  forgetAtMs: undefined,
};

const url = "https://results.example/a.mp4";
const about = (output: object, usage?: object): TaskReport =>
  readTaskReport({ output: { task_id: "theirs", ...output }, usage }, "theirs");
const step = (report: TaskReport, missing = false, of: Task = task) =>
  stepFor(of, report, { missing, nowMs, random: () => 0 });

describe("a vendor's answer", () => {
  test("is a verdict only when it is a clear word about the very task", () => {
    const nothing: unknown[] = [
      undefined,
      null,
      "SUCCEEDED",
      [],
      {},
      { output: null },
      { output: { task_id: "theirs" } },
      { output: { task_status: "FAILED" } },
      { output: { task_id: "theirs", task_status: "DONE" } },
      { output: { task_id: "theirs", task_status: "succeeded", video_url: url } },
      { output: { task_id: "another", task_status: "FAILED" } },
      // A success with nothing to fetch, or with a link that is a script, delivered nothing.
      { output: { task_id: "theirs", task_status: "SUCCEEDED" } },
      { output: { task_id: "theirs", task_status: "SUCCEEDED", video_url: "javascript:alert(1)" } },
      { output: { task_id: "x".repeat(300), task_status: "PENDING" } },
    ];
    for (const json of nothing) expect(readTaskReport(json, "theirs")).toEqual({ kind: "no_verdict" });
  });

  test("about success charges what it reports, and what was asked for where it is silent", () => {
    const success = { task_status: "SUCCEEDED", video_url: url };
    const used = (usage?: object) => step(about(success, usage));
    expect(used({ output_video_duration: 10, SR: 1080 })).toMatchObject({
      kind: "end",
      used: { used: { second_1080p: 10 }, source: "provider" },
    });
    expect(used({ output_video_duration: 5.04, SR: 720 })).toMatchObject({
      used: { used: { second_720p: 5 } },
    });
    expect(used({ output_video_duration: 0.4, SR: 720 })).toMatchObject({
      used: { used: { second_720p: 1 } },
    });
    expect(used({ output_video_duration: 4, SR: 540 })).toMatchObject({ used: { used: { second_720p: 4 } } });
    expect(used({ output_video_duration: 0, SR: 720 })).toMatchObject({ used: { used: { second_720p: 0 } } });
    for (const odd of [undefined, {}, { output_video_duration: -1 }, { output_video_duration: 1e30 }]) {
      expect(used(odd)).toMatchObject({ used: { used: { second_720p: 5 }, source: "estimated" } });
    }
  });

  test("about success charges the dearest seconds where nobody said of which resolution they are", () => {
    const success = about({ task_status: "SUCCEEDED", video_url: url }, { output_video_duration: 4 });
    expect(step(success, false, { ...task, expected: {} })).toMatchObject({
      used: { used: { second_1080p: 4 }, source: "provider" },
    });
  });

  test("about success counts the seconds of videos that were looked at, where any were made", () => {
    const success = { task_status: "SUCCEEDED", video_url: url };
    for (const [made, lookedAt, charged] of [
      [5, 5, 10],
      [5, 4.95, 10],
      [5, 0, 5],
      [5, -1, 5],
      [0, 5, 0],
    ] as const) {
      const usage = { output_video_duration: made, input_video_duration: lookedAt, SR: 720 };
      expect(step(about(success, usage))).toMatchObject({
        used: { used: { second_720p: charged }, source: "provider" },
      });
    }
  });

  test("about failure charges nothing, whatever else it reports", () => {
    const failed = step(
      about({ task_status: "FAILED", code: "X", message: "y" }, { output_video_duration: 5 }),
    );
    expect(failed).toMatchObject({ kind: "end", end: { state: "FAILED", fence: 4 }, used: undefined });
  });

  test("about cancellation charges what it reports and nothing else", () => {
    expect(step(about({ task_status: "CANCELED" }))).toMatchObject({ kind: "end", used: undefined });
    expect(step(about({ task_status: "CANCELED" }, { output_video_duration: 2, SR: 720 }))).toMatchObject({
      end: { state: "CANCELED" },
      used: { used: { second_720p: 2 } },
    });
  });

  test("that there is no such task becomes UNKNOWN only said thrice and not too soon, and never an end", () => {
    const unknown = about({ task_status: "UNKNOWN" });
    expect(step(unknown)).toMatchObject({ kind: "wait", note: { state: "RUNNING", missing: 1, errors: 1 } });
    const twice = { ...task, missing: 2, errors: 2 };
    expect(step(unknown, false, twice)).toMatchObject({ kind: "wait", note: { state: "UNKNOWN" } });
    expect(step({ kind: "no_verdict" }, true, twice)).toMatchObject({ note: { state: "UNKNOWN" } });
    const young = { ...twice, createdAtMs: nowMs - 59_000 };
    expect(step(unknown, false, young)).toMatchObject({ note: { state: "RUNNING" } });
    expect(step({ kind: "no_verdict" }, false, twice)).toMatchObject({
      note: { state: "RUNNING", missing: 0 },
    });
    const back = step(about({ task_status: "RUNNING" }), false, { ...twice, state: "UNKNOWN" });
    expect(back).toMatchObject({ note: { state: "RUNNING", missing: 0, errors: 0 } });
  });
});

describe("the pace", () => {
  test("goes from three seconds to ten, and from five seconds of silence to a quarter of an hour", () => {
    expect([0, 20_000, 50_000, 100_000, 1e9].map((age) => pollAfterMs(age, 0))).toEqual([
      3_000, 3_000, 5_000, 10_000, 10_000,
    ]);
    expect([1, 2, 3, 8, 9, 500].map((errors) => errorWaitMs(errors, 0))).toEqual([
      5_000, 10_000, 20_000, 640_000, 900_000, 900_000,
    ]);
    expect(pollAfterMs(0, 0.999)).toBeLessThan(3_601);
  });

  test("at one upstream never exceeds its quota in any second, and uses it", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 30 }),
        fc.array(fc.nat({ max: 400 }), { maxLength: 300 }),
        (qps, gaps) => {
          let atMs = 0;
          const quota = createPollQuota(qps, () => atMs);
          const asked: number[] = [];
          for (const gap of gaps) {
            atMs += gap;
            const free = quota.free();
            const took = quota.take();
            expect(took).toBe(free > 0);
            if (took) asked.push(atMs);
          }
          for (const [at, endMs] of asked.entries()) {
            expect(asked.slice(0, at + 1).filter((ms) => ms > endMs - 1_000).length).toBeLessThanOrEqual(qps);
          }
        },
      ),
    );
    let atMs = 0;
    const slow = createPollQuota(0.5, () => atMs);
    const taken = Array.from({ length: 100 }, () => {
      atMs += 100;
      return slow.take();
    });
    expect(taken.filter(Boolean)).toHaveLength(5);
  });

  test("of one caller at one task is two a second, and others do not count", () => {
    let atMs = 0;
    const floor = createPollFloor(() => atMs);
    const ask = () => floor.waitMs("acc", "task", "state");
    expect([ask(), ask(), ask()]).toEqual([undefined, undefined, 1_000]);
    expect([
      floor.waitMs("acc", "other", "state"),
      floor.waitMs("stranger", "task", "state"),
      floor.waitMs("acc", "task", "cancel"),
    ]).toEqual([undefined, undefined, undefined]);
    atMs = 999;
    expect(ask()).toBe(1);
    atMs = 1_000;
    expect([ask(), ask(), ask()]).toEqual([undefined, undefined, 1_000]);
  });
});

describe("a result link", () => {
  const says = (query: string) => resultExpiresAtMs(`${url}?${query}`, nowMs) - nowMs;
  const day = 86_400_000;
  test("expires when it says, or after the day that the vendor documents", () => {
    expect(says(`Expires=${nowMs / 1_000 + 3_600}&Signature=x`)).toBe(3_600_000);
    expect(says("x-oss-date=20261115T120000Z&x-oss-expires=7200")).toBe(7_200_000);
    expect(says("X-Amz-Date=20261115T115900Z&X-Amz-Expires=600")).toBe(540_000);
    for (const odd of ["", "Expires=soon", "Expires=1", "Expires=999999999999", "x-oss-expires=60"]) {
      expect(says(odd)).toBe(day);
    }
  });
  test("is believed for a week and not for a second more", () => {
    const week = 7 * day;
    expect(says(`Expires=${(nowMs + week) / 1_000}`)).toBe(week);
    expect(says(`Expires=${(nowMs + week) / 1_000 + 1}`)).toBe(day);
  });
  test("is told of to the millisecond before it ends", () => {
    const ended: Task = { ...task, state: "SUCCEEDED", forgetAtMs: nowMs };
    expect([statusOf(ended, nowMs - 1), statusOf(ended, nowMs)]).toEqual(["SUCCEEDED", "UNKNOWN"]);
  });
});

test("times are written as the specification shows them, and read back", () => {
  expect(writeTaskTime(nowMs + 7)).toBe("2026-11-15 12:00:00.007");
  expect(readTaskTime("2026-11-15 12:00:00.007")).toBe(nowMs + 7);
  for (const odd of ["2026-11-15T12:00:00.007Z", "2026-13-15 12:00:00.007", 5, null]) {
    expect(readTaskTime(odd)).toBeUndefined();
  }
});

test("a resolution without a price costs as the next higher one, and the dearest above all; tokens are no seconds", () => {
  expect([360, 720, 721, 2160, undefined].map((figure) => secondUnit(figure, prices))).toEqual([
    "second_720p",
    "second_720p",
    "second_1080p",
    "second_1080p",
    "second_1080p",
  ]);
  const beside = { ...prices, input_tokens: 900_000_000_000n };
  expect([2160, undefined].map((figure) => secondUnit(figure, beside))).toEqual([
    "second_1080p",
    "second_1080p",
  ]);
  const unknown = { seconds: undefined, resolution: undefined };
  expect(estimateVideo(unknown, { usual: {}, secondsMax: 15, prices }).atMost).toEqual({ second_1080p: 15 });
});

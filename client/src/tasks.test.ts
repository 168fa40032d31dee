import { afterEach, describe, expect, test } from "bun:test";
import {
  clientOf,
  errorOf,
  openScriptedGateway,
  type Script,
  type ScriptedGateway,
} from "../scripted-gateway.ts";
import type { Client } from "./client.ts";
import { TollgateError } from "./errors.ts";
import { waitForTask, type TaskProgress, type WaitOptions } from "./tasks.ts";

/** Polls a task that goes through these states, the last one for ever, on a clock that only counts. */
async function wait(states: readonly string[], options: WaitOptions = {}, random = () => 0.5) {
  const waitsMs: number[] = [];
  const seen: TaskProgress[] = [];
  let nowMs = 0;
  let polls = 0;
  const clock = {
    nowMs: () => nowMs,
    sleep: async (ms: number, signal?: AbortSignal) => {
      signal?.throwIfAborted();
      waitsMs.push(ms);
      nowMs += ms;
    },
  };
  const poll = async () => {
    polls += 1;
    return { output: { task_id: "t", task_status: states[Math.min(polls, states.length) - 1] } };
  };
  const onProgress = (progress: TaskProgress): void => void seen.push(progress);
  const ended = await waitForTask(poll, { onProgress, ...options }, { clock, random }).catch(
    (error: unknown) => error,
  );
  return { ended, waitsMs, seen, polls };
}

describe("waiting for a task", () => {
  test("asks every three to five seconds", async () => {
    for (const [random, expected] of [
      [() => 0, 3_000],
      [() => 0.5, 4_000],
      [() => 1, 5_000],
    ] as const) {
      const { waitsMs } = await wait(["PENDING", "RUNNING", "SUCCEEDED"], {}, random);
      expect(waitsMs).toEqual([expected, expected]);
    }
  });

  test("ends with SUCCEEDED, FAILED and CANCELED, and hands on what was told", async () => {
    for (const state of ["SUCCEEDED", "FAILED", "CANCELED"]) {
      const { ended, polls } = await wait(["RUNNING", state]);
      expect(ended).toEqual({ output: { task_id: "t", task_status: state } });
      expect(polls).toBe(2);
    }
  });

  test("does not take UNKNOWN, or a word it does not know, for an end", async () => {
    const { ended, seen } = await wait(["UNKNOWN", "SOMETHING_NEW", "SUCCEEDED"]);
    expect(ended).toMatchObject({ output: { task_status: "SUCCEEDED" } });
    expect(seen.map(({ status }) => status)).toEqual(["UNKNOWN", "UNKNOWN", "SUCCEEDED"]);
    expect(seen[0]?.task).toEqual({ output: { task_id: "t", task_status: "UNKNOWN" } });
  });

  test("never asks faster than twice a second, whatever it is told", async () => {
    const { waitsMs } = await wait(["RUNNING", "RUNNING", "SUCCEEDED"], { pollEveryMs: 1 });
    expect(waitsMs).toEqual([500, 500]);
  });

  test("gives up after five minutes, or when it is told to", async () => {
    const usual = await wait(["RUNNING"]);
    expect(usual.ended).toBeInstanceOf(TollgateError);
    expect(usual.ended).toMatchObject({ kind: "timeout", code: "task_not_final", moneyMoved: "unknown" });
    // The last look comes when there is just time for its answer.
    expect(usual.waitsMs.reduce((sum, ms) => sum + ms, 0)).toBe(5 * 60_000 - 500);
    const short = await wait(["RUNNING"], { timeoutMs: 9_000 });
    expect(short.waitsMs).toEqual([4_000, 4_000, 500]);
  });

  test("looks once more before its time is over, however long it would usually pause", async () => {
    const { ended, waitsMs } = await wait(["RUNNING", "SUCCEEDED"], { timeoutMs: 2_500 });
    expect(ended).toMatchObject({ output: { task_status: "SUCCEEDED" } });
    expect(waitsMs).toEqual([2_000]);
    // Another look would have to follow faster than the gateway allows.
    for (const timeoutMs of [0, 500, 999]) {
      const { polls, ended: late } = await wait(["RUNNING", "SUCCEEDED"], { timeoutMs });
      expect([timeoutMs, polls, late]).toMatchObject([timeoutMs, 1, { code: "task_not_final" }]);
    }
  });

  test("says only of a task that is known that it goes on", async () => {
    const { ended: known } = await wait(["RUNNING"], { timeoutMs: 2_500 });
    expect(String(known)).toContain("The task is RUNNING after 2 s; it goes on.");
    const { ended: unknown } = await wait(["UNKNOWN"], { timeoutMs: 2_500 });
    expect(String(unknown)).toContain("The task is UNKNOWN after 2 s; it may still be running.");
  });

  test("does not begin with a time that is no number, because it would never end", async () => {
    for (const options of [
      { timeoutMs: NaN },
      { timeoutMs: -1 },
      { pollEveryMs: NaN },
      { pollEveryMs: -1 },
    ]) {
      const { ended, polls } = await wait(["RUNNING"], options);
      expect(ended).toMatchObject({ kind: "parameters", code: "invalid_setting", moneyMoved: "no" });
      expect(polls).toBe(0);
    }
  });

  test("may go on for longer than a timer counts", async () => {
    const { ended } = await wait(["RUNNING", "SUCCEEDED"], { timeoutMs: Infinity });
    expect(ended).toMatchObject({ output: { task_status: "SUCCEEDED" } });
  });

  test("says how far it is after each look", async () => {
    const { seen } = await wait(["PENDING", "RUNNING", "SUCCEEDED"]);
    expect(seen.map(({ task: _task, ...progress }) => progress)).toEqual([
      { status: "PENDING", polls: 1, waitedMs: 0 },
      { status: "RUNNING", polls: 2, waitedMs: 4_000 },
      { status: "SUCCEEDED", polls: 3, waitedMs: 8_000 },
    ]);
  });

  test("stops at once when its caller does", async () => {
    const { ended, polls } = await wait(["RUNNING"], { signal: AbortSignal.abort() });
    expect(ended).toMatchObject({ kind: "aborted", moneyMoved: "unknown" });
    expect(polls).toBe(1);
  });
});

describe("waiting for a task at a gateway", () => {
  let gateway: ScriptedGateway;
  afterEach(() => gateway.close());

  async function open(script: Script): Promise<Client> {
    gateway = await openScriptedGateway(script);
    return clientOf(gateway);
  }

  const running = { status: 200, body: { output: { task_id: "t", task_status: "RUNNING" } } };

  test("that never answers ends in time, and nobody knows what the task has cost", async () => {
    const client = await open({ answers: ["never"] });
    const begunMs = performance.now();
    const error = await errorOf(client.waitForTask("t", { timeoutMs: 200 }));
    expect(performance.now() - begunMs).toBeLessThan(2_000);
    expect(error).toMatchObject({
      kind: "timeout",
      code: "task_not_final",
      moneyMoved: "unknown",
      chargedMicrosUsd: undefined,
    });
    expect(gateway.calls).toHaveLength(1);
  });

  test("that stops answering tells what was heard last", async () => {
    const client = await open({ answers: [running, "never"] });
    const error = await errorOf(client.waitForTask("t", { timeoutMs: 1_500, pollEveryMs: 500 }));
    expect(error).toMatchObject({ code: "task_not_final", body: running.body });
    expect(String(error)).toContain("The task is RUNNING");
  });

  test("is stopped by its caller in the middle of a poll", async () => {
    const client = await open({ answers: ["never"] });
    const error = await errorOf(client.waitForTask("t", { signal: AbortSignal.timeout(50) }));
    expect(error).toMatchObject({ kind: "aborted", moneyMoved: "unknown" });
  });

  test("that refuses to tell says nothing about the task's money", async () => {
    const client = await open({ answers: [{ status: 401, body: { error: "no", code: "invalid_api_key" } }] });
    const error = await errorOf(client.waitForTask("t"));
    expect(error).toBeInstanceOf(TollgateError);
    expect(error).toMatchObject({
      kind: "credentials",
      code: "invalid_api_key",
      status: 401,
      requestId: "req_1",
      moneyMoved: "unknown",
      chargedMicrosUsd: undefined,
    });
  });
});

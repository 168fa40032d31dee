// A caller of video tasks, and a clock that can be put forward, so that nobody waits for pauses between polls.

import { afterAll, afterEach, expect } from "bun:test";
import { systemClock, type Clock } from "../../gateway/src/platform/clock.ts";
import type { Caller } from "../support/caller.ts";
import { openTestGateway, type TestAccount } from "../support/test-gateway.ts";

export const createPath = "/apis/v1/services/aigc/video-generation/video-synthesis";
export const taskPath = (taskId: string): string => `/apis/v1/services/aigc/tasks/${taskId}`;
export const asynchronous = { "x-tollgate-async": "enable" };

/** Ends as soon as it is asked about. */
export const quick = "[queued 0] [running 0] a red fox";
export const stuck = "[stuck] a red fox";

export const video = (prompt: string, parameters: object = { duration: 5, size: "1280*720" }) => ({
  model: "wan2.6-t2v",
  input: { prompt },
  parameters,
});

/** What five seconds in 720p cost. */
export const videoMicros = 500_000;

export interface Resource {
  readonly output: {
    readonly task_id: string;
    readonly task_status: string;
    readonly video_url?: string;
    readonly orig_prompt?: string;
    readonly submit_time?: string;
    readonly scheduled_time?: string;
    readonly end_time?: string;
    readonly code?: string;
    readonly message?: string;
  };
  readonly usage?: {
    readonly output_video_duration: number;
    readonly video_count: number;
    readonly SR: number;
  };
  readonly request_id: string;
}

export const create = (at: Caller, account: TestAccount, body: object, headers = {}): Promise<Response> =>
  at.post(account, createPath, body, { ...asynchronous, ...headers });

export async function createTask(
  at: Caller,
  account: TestAccount,
  body: object,
  headers = {},
): Promise<Resource> {
  const response = await create(at, account, body, headers);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`The task was not created: ${response.status} ${text}`);
  return JSON.parse(text) as Resource;
}

export async function poll(at: Caller, account: TestAccount, taskId: string): Promise<Resource> {
  const response = await at.call(account, taskPath(taskId));
  if (response.status !== 200) throw new Error(`The poll was refused: ${response.status}`);
  return (await response.json()) as Resource;
}

interface AwaitedTask {
  readonly taskId: string;
  readonly status: string;
  /** Passes the time between two questions. */
  readonly pause: () => void;
}

const questionsMax = 20;

/** Asks about the task until it has this status. */
export async function pollUntil(at: Caller, account: TestAccount, awaited: AwaitedTask): Promise<Resource> {
  const { taskId, status, pause } = awaited;
  let seen = await poll(at, account, taskId);
  for (let asked = 1; asked <= questionsMax && seen.output.task_status !== status; asked++) {
    pause();
    seen = await poll(at, account, taskId);
  }
  if (seen.output.task_status !== status)
    throw new Error(`The task is ${seen.output.task_status} and not ${status}.`);
  return seen;
}

/** Real time, put forward at will. */
export function shiftedClock(): Clock & { readonly forward: (ms: number) => void } {
  let shiftMs = 0;
  return {
    wallMs: () => systemClock.wallMs() + shiftMs,
    monotonicMs: () => systemClock.monotonicMs() + shiftMs,
    forward: (ms) => void (shiftMs += ms),
  };
}

/** To be called once in a file of tests: a gateway with the sandbox on a clock of its own; its books are audited after each. */
export async function useTaskGateway() {
  const clock = shiftedClock();
  const gateway = await openTestGateway({ clock });
  afterAll(() => gateway.close());
  afterEach(async () => {
    await gateway.sandbox.clear();
    expect(await gateway.audit()).toEqual([]);
  });
  return {
    clock,
    gateway,
    rich: (): Promise<TestAccount> => gateway.openAccount({ creditUsd: "20" }),
    /** Puts the clock past the pause between two questions, until the task has this status. */
    reaches: (account: TestAccount, taskId: string, status: string): Promise<Resource> =>
      pollUntil(gateway, account, { taskId, status, pause: () => clock.forward(3_100) }),
  };
}

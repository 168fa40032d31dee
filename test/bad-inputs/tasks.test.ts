import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";
import {
  asynchronous,
  create,
  createPath,
  createTask,
  stuck,
  taskPath,
  video,
} from "../tasks/task-caller.ts";
import { invalid, roomyTiers } from "./bad-input-gateway.ts";
import { flat, nested, read } from "./error-shapes.ts";
import { expectNothingHappened } from "./nothing-happened.ts";

describe("video tasks", () => {
  let tollgate: TestGateway;
  beforeAll(async () => void (tollgate = await openTestGateway({ config: roomyTiers })));
  afterAll(() => tollgate.close());
  const rich = () => tollgate.openAccount({ tier: "enterprise", creditUsd: "20" });
  const tasksPath = "/apis/v1/services/aigc/tasks";

  test("a task polled by query string is 500 unsupported uri", async () => {
    const owner = await rich();
    await expectNothingHappened(tollgate, async () => {
      for (const query of ["task_id=abc", "task_id=a&task_id=b", "task_id="]) {
        const { status, body, requestId } = await read(tollgate.call(owner, `${tasksPath}?${query}`));
        const said = { code: "unsupported_uri", message: "unsupported uri", request_id: requestId };
        expect([status, body]).toEqual([500, said]);
      }
      flat(404, "unknown_endpoint")(await read(tollgate.call(owner, tasksPath)));
    });
  });

  test("a foreign, random or hostile task id is UNKNOWN, never more", async () => {
    const [owner, stranger] = [await rich(), await rich()];
    const { output } = await createTask(tollgate, owner, video(stuck));
    await expectNothingHappened(tollgate, async () => {
      for (const taskId of [output.task_id, crypto.randomUUID(), "abc", "1", "CREATING", "_".repeat(128)]) {
        const { status, body, requestId } = await read(tollgate.call(stranger, taskPath(taskId)));
        const unknown = { task_id: taskId, task_status: "UNKNOWN" };
        expect([status, body]).toEqual([200, { output: unknown, request_id: requestId }]);
      }
      const hostile = ["'%20OR%201=1", "%00", "a%00b", "x".repeat(4_096), "..%2f..%2f", "a%2fb", "a;b", "é"];
      for (const taskId of hostile) {
        const { status, body, requestId } = await read(tollgate.call(stranger, taskPath(taskId)));
        const unknown = { task_id: decodeURIComponent(taskId), task_status: "UNKNOWN" };
        expect([status, body]).toEqual([200, { output: unknown, request_id: requestId }]);
      }
    });
  });

  test("the fourth concurrent video create is 429 with Retry-After", async () => {
    const owner = await rich();
    for (let times = 0; times < 3; times++) await createTask(tollgate, owner, video(stuck));
    await expectNothingHappened(tollgate, async () => {
      const response = await create(tollgate, owner, video(stuck));
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      nested(429, "quota_exceeded", {
        type: "rate_limit_error",
        limit: { name: "concurrent_tasks", limit: 3, remaining: 0, reset: expect.any(Number) as unknown },
      })(await read(response));
    });
  });

  test("a video create that is not asynchronous, or malformed, is 400", async () => {
    const owner = await rich();
    const good = video("a red fox");
    const send = (body: unknown, headers: Record<string, string> = asynchronous) =>
      tollgate.post(owner, createPath, body, headers);
    await expectNothingHappened(tollgate, async () => {
      const synchronous = "current user api does not support synchronous calls";
      const modes: Record<string, string>[] = [
        {},
        { "x-tollgate-async": "" },
        { "x-tollgate-async": "true" },
        { "x-tollgate-async": "enable, enable" },
      ];
      for (const headers of modes) {
        const answered = await read(send(good, headers));
        invalid(answered);
        expect(answered.body).toMatchObject({ error: synchronous });
      }
      const malformed: unknown[] = [
        { ...good, input: "a red fox" },
        { ...good, input: {} },
        { ...good, input: { prompt: "" } },
        { ...good, input: { prompt: "a".repeat(1024 * 1024) } },
        { ...good, model: undefined },
        { ...good, parameters: "short" },
        ...[0, -2, 2.5, "5", 1e9].map((duration) => ({ ...good, parameters: { duration } })),
      ];
      for (const body of malformed) invalid(await read(send(body)));
      flat(404, "model_not_found")(await read(send({ ...good, model: "no-such-model" })));
    });
  });

  test("polls beyond 2 per second are 429 and free; the upstream sees 1 per 3 s", async () => {
    const owner = await rich();
    const { output } = await createTask(tollgate, owner, video(stuck));
    const before = await tollgate.balance(owner);
    const startedMs = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => tollgate.call(owner, taskPath(output.task_id))),
    );
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(98);
    expect(await tollgate.balance(owner)).toEqual(before);
    // Over ten seconds on a virtual clock: task-verdicts.test.ts.
    const asked = (await tollgate.sandbox.book()).filter(({ path }) => path.endsWith(output.task_id));
    expect(asked).toEqual([]);
  });
});

// The double of the video vendor, measured before it measures the gateway.

import { describe, expect, test } from "bun:test";
import { openDashScopeDouble } from "./dashscope.ts";
import { createKeeper, get, post, refusalOf } from "./exchange.ts";

const keep = createKeeper();
const key = { Authorization: "Bearer k-1" };
const asynchronous = { ...key, "X-DashScope-Async": "enable" };
const path = "/services/aigc/video-generation/video-synthesis";
const order = { model: "wan2.6-t2v", input: { prompt: "a fox" } };

async function open(options: Partial<Parameters<typeof openDashScopeDouble>[0]> = {}) {
  const vendor = await keep(openDashScopeDouble({ key: "k-1", ...options }));
  const create = async (): Promise<string> => {
    const made = await post(vendor.url + path, order, asynchronous);
    return ((await made.json()) as { output: { task_id: string } }).output.task_id;
  };
  const poll = async (id: string): Promise<unknown> => (await get(`${vendor.url}/tasks/${id}`)).json();
  return { vendor, create, poll };
}

describe("dashscope", () => {
  test("moves a task on with every poll, bills its success once, and forgets none", async () => {
    const { vendor, create, poll } = await open();
    const id = await create();
    expect(await poll(id)).toMatchObject({ output: { task_id: id, task_status: "RUNNING" } });
    for (let times = 0; times < 2; times++) {
      expect(await poll(id)).toMatchObject({
        output: { task_status: "SUCCEEDED", orig_prompt: "a fox", end_time: "2026-11-15 07:31:10.500" },
        usage: { output_video_duration: 5, SR: 720 },
      });
    }
    expect(vendor.book.map(({ billed }) => billed)).toEqual([{ taskId: id, seconds: 5 }]);
    expect(vendor.tasks()).toMatchObject([{ id, polls: 3, status: "SUCCEEDED" }]);
  });

  test("leaves a task where the test put it", async () => {
    const { vendor, create, poll } = await open();
    const id = await create();
    for (const status of ["SUSPENDED", "FAILED", "UNKNOWN", "PENDING"] as const) {
      vendor.move(id, status);
      for (let times = 0; times < 2; times++) {
        expect(await poll(id)).toMatchObject({ output: { task_id: id, task_status: status } });
      }
    }
    expect(await poll("nobody")).toMatchObject({ output: { task_status: "UNKNOWN" } });
    expect(vendor.book).toEqual([]);
  });

  test("cancels what is queued and nothing else", async () => {
    const { vendor, create, poll } = await open();
    const id = await create();
    const cancel = () => post(`${vendor.url}/tasks/${id}/cancel`, {}, key);
    expect((await cancel()).status).toBe(200);
    expect(await poll(id)).toMatchObject({ output: { task_status: "CANCELED" } });
    expect(await refusalOf(cancel())).toMatchObject({ status: 400, body: { code: "UnsupportedOperation" } });
  });

  test("refuses without key, async header, model or prompt, and creates nothing", async () => {
    const { vendor } = await open();
    const url = vendor.url + path;
    const { input } = order;
    for (const [answer, status, code] of [
      [post(url, order, { "X-DashScope-Async": "enable" }), 401, "InvalidApiKey"],
      [post(url, order, key), 403, "AccessDenied"],
      [post(url, { input }, asynchronous), 400, "InvalidParameter"],
      [post(url, { ...order, input: {} }, asynchronous), 400, "InvalidParameter"],
      [post(url, { ...order, input: { prompt: "forbidden" } }, asynchronous), 400, "DataInspectionFailed"],
      [get(`${vendor.url}/tasks?task_id=1`), 500, "InternalError"],
    ] as const) {
      expect(await refusalOf(answer)).toMatchObject({ status, body: { code } });
    }
    expect(vendor.tasks()).toEqual([]);
  });

  test("tells of a success whatever the test says, where the test says", async () => {
    const { vendor, create, poll } = await open({
      usage: { duration: "5" },
      usageInOutput: true,
      output: { video_url: "javascript:0" },
    });
    const id = await create();
    vendor.move(id, "SUCCEEDED");
    const told = await poll(id);
    expect(told).toMatchObject({ output: { usage: { duration: "5" }, video_url: "javascript:0" } });
    expect(told).not.toHaveProperty("usage");
  });
});

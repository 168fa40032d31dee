import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { openDashScopeDouble, type DashScopeDouble } from "../../../../test/doubles/dashscope.ts";
import { headerValues } from "../../../../test/doubles/http-wire.ts";
import { openAttackerListener } from "../../../../test/doubles/vendor-double.ts";
import { testDispatch, testModel, testUpstream } from "../../operation/test-upstream.ts";
import type { Exchanged } from "../../operation/exchanged.ts";
import type { ExchangeName } from "../../operation/service.ts";
import { createForwarder } from "../forwarder.ts";
import { createHttpClient } from "../http/http-client.ts";
import { protocols } from "../protocols.ts";

const key = "sk-operator-dashscope-0000000000";
const createPath = "/services/aigc/video-generation/video-synthesis";

let vendor: DashScopeDouble;
beforeAll(async () => {
  vendor = await openDashScopeDouble({ key });
});
afterEach(() => expect(vendor.violations).toEqual([]));
afterAll(() => vendor.close());

const forwarder = createForwarder(createHttpClient(), protocols);

interface Asked {
  readonly exchange: ExchangeName;
  readonly rawBody?: string;
  readonly taskId?: string;
  readonly at?: DashScopeDouble;
  readonly key?: string;
}

async function send({ exchange, rawBody = "", taskId, at = vendor, ...other }: Asked): Promise<Exchanged> {
  const { key: asked = key } = other;
  const upstream = testUpstream({
    name: "video",
    protocol: "dashscope",
    url: at.url,
    key: asked,
    secrets: [asked],
    timeoutMs: 300,
  });
  const prepared = forwarder.prepare(
    testDispatch({
      upstream,
      service: { exchange, path: exchange === "video_create" ? createPath : "/tasks" },
      input: {
        query: {},
        body: rawBody === "" ? undefined : (JSON.parse(rawBody) as unknown),
        params: taskId === undefined ? {} : { task_id: taskId },
        rawQuery: "",
        rawBody: new TextEncoder().encode(rawBody),
      },
      model: testModel("wan2.6-t2v"),
      firstByteTimeoutMs: 300,
    }),
  );
  if (prepared.kind !== "ready") throw new Error("it can be said");
  return prepared.send();
}

const order = `{ "model":"wan2.6-t2v", "input":{"prompt":"a f\\u006fx"},"parameters":{"seed":12345678901234567890} }`;

async function create(at = vendor): Promise<string> {
  const { output } = jsonOf(await send({ exchange: "video_create", rawBody: order, at })) as Told;
  return output.task_id;
}
const poll = (taskId: string, at = vendor) => send({ exchange: "task_poll", taskId, at });

interface Told {
  readonly output: { readonly task_id: string };
}

/** What the gateway reads, which is also what it would pass on. */
function jsonOf(exchanged: Exchanged): unknown {
  if (exchanged.kind !== "answered") throw new Error(`it ended ${exchanged.kind}`);
  expect(JSON.parse(Buffer.from(exchanged.body).toString())).toEqual(exchanged.answer.json);
  return exchanged.answer.json;
}

function last() {
  const request = vendor.requests.at(-1);
  if (!request) throw new Error("the vendor was not asked");
  return request;
}

describe("what is sent to DashScope", () => {
  test("a creation goes as it came, byte for byte, with the asynchronous header and the operator's key", async () => {
    expect(await send({ exchange: "video_create", rawBody: order })).toMatchObject({
      kind: "answered",
      status: 200,
      answer: { json: { output: { task_status: "PENDING" } } },
    });
    const { method, target, headers, body } = last();
    expect([method, target]).toEqual(["POST", `/api/v1${createPath}`]);
    expect(new TextDecoder().decode(body)).toBe(order);
    expect(headerValues(headers, "x-dashscope-async")).toEqual(["enable"]);
    expect(headerValues(headers, "authorization")).toEqual([`Bearer ${key}`]);
    expect(headerValues(headers, "content-type")).toEqual(["application/json"]);
  });

  test("a member that could send the key elsewhere stays here, and the rest goes as it came", async () => {
    await send({
      exchange: "video_create",
      rawBody: order.replace("{ ", `{ "base_url":"http://evil.test",`),
    });
    const sent = new TextDecoder().decode(last().body);
    expect(sent).not.toContain("evil");
    expect(sent).toContain(`"parameters":{"seed":12345678901234567890}`);
  });

  test("a task is asked about, and canceled, by the vendor's own path", async () => {
    const id = await create();
    await poll(id);
    expect([last().method, last().target, last().body.length]).toEqual(["GET", `/api/v1/tasks/${id}`, 0]);
    await send({ exchange: "task_cancel", taskId: id });
    expect([last().method, last().target]).toEqual(["POST", `/api/v1/tasks/${id}/cancel`]);
  });

  test("an id never becomes more than one segment of the path", async () => {
    for (const [taskId, target] of [
      ["../models?a=b#c", "/api/v1/tasks/..%2Fmodels%3Fa%3Db%23c"],
      ["..", "/api/v1/tasks/-"],
      [".", "/api/v1/tasks/-"],
      ["%2e%2e", "/api/v1/tasks/%252e%252e"],
      ["a b\r\nX: y", "/api/v1/tasks/a%20b%0D%0AX%3A%20y"],
    ] as const) {
      await poll(taskId);
      expect(last().target).toBe(target);
    }
  });
});

describe("what DashScope says of a task", () => {
  test("is read in the specification's words, times in UTC, and what is like ours passes untouched", async () => {
    const id = await create();
    vendor.move(id, "SUCCEEDED");
    expect(jsonOf(await poll(id))).toEqual({
      request_id: expect.any(String) as unknown,
      output: {
        task_id: id,
        task_status: "SUCCEEDED",
        submit_time: "2026-11-14 23:30:00.125",
        scheduled_time: "2026-11-14 23:30:01.250",
        end_time: "2026-11-14 23:31:10.500",
        orig_prompt: "a fox",
        video_url: expect.stringContaining("&Signature=x%2By%3D") as unknown,
      },
      usage: { duration: 5, output_video_duration: 5, input_video_duration: 0, video_count: 1, SR: 720 },
    });
  });

  test("keeps every state it has a word for, and takes a suspended task for a queued one", async () => {
    const id = await create();
    for (const [status, told] of [
      ["PENDING", "PENDING"],
      ["SUSPENDED", "PENDING"],
      ["RUNNING", "RUNNING"],
      ["CANCELED", "CANCELED"],
      ["UNKNOWN", "UNKNOWN"],
    ] as const) {
      vendor.move(id, status);
      expect(jsonOf(await poll(id))).toMatchObject({ output: { task_id: id, task_status: told } });
    }
    vendor.move(id, "FAILED");
    expect(jsonOf(await poll(id))).toMatchObject({
      output: { task_status: "FAILED", code: "InternalError.Algo", message: "The video could not be made." },
    });
  });

  test("about usage is found where models put it, under the names and in the types they choose", async () => {
    for (const [usage, told] of [
      [
        { duration: 7.5, SR: "540" },
        { output_video_duration: 7.5, SR: 540 },
      ],
      [
        { duration: 12, output_video_duration: 5, SR: 720 },
        { output_video_duration: 5, SR: 720 },
      ],
      [{ duration: "4", output_video_duration: null }, { output_video_duration: 4 }],
      [{ duration: 9, output_video_duration: 0 }, { output_video_duration: 0 }],
      [{ video_duration: 4, video_ratio: "1280*720" }, { output_video_duration: 4 }],
      [
        { duration: 10, input_video_duration: "5", output_video_duration: 5 },
        { output_video_duration: 5, input_video_duration: 5 },
      ],
      [
        { input_video_duration: 4.95, output_video_duration: 5 },
        { output_video_duration: 5, input_video_duration: 4.95 },
      ],
      // What is billed in all has the last word.
      [
        { duration: 10, input_video_duration: 5 },
        { output_video_duration: 10, input_video_duration: 0 },
      ],
      [
        { duration: 5, input_video_duration: 5, output_video_duration: 5 },
        { output_video_duration: 5, input_video_duration: 0 },
      ],
      [
        { video_count: "1", SR: "high" },
        { video_count: 1, SR: "high" },
      ],
      [
        { output_video_duration: "-3", SR: "1e3" },
        { output_video_duration: "-3", SR: "1e3" },
      ],
    ] as const) {
      for (const usageInOutput of [false, true]) {
        const other = await openDashScopeDouble({ key, usage, usageInOutput });
        const id = await create(other);
        other.move(id, "SUCCEEDED");
        const json = jsonOf(await poll(id, other));
        expect(json).toMatchObject({ usage: told });
        expect(json).not.toHaveProperty("output.usage");
        await other.close();
      }
    }
  });

  test("with a time that is none leaves it as it came", async () => {
    const other = await openDashScopeDouble({
      key,
      output: { submit_time: "soon", scheduled_time: 7, end_time: "2026-11-15 00:00:00" },
    });
    const id = await create(other);
    expect(jsonOf(await poll(id, other))).toMatchObject({
      output: { submit_time: "soon", scheduled_time: 7, end_time: "2026-11-14 16:00:00.000" },
    });
    await other.close();
  });
});

describe("a DashScope that refuses or lies", () => {
  test("is passed on with its status and body", async () => {
    const refused = await send({ exchange: "video_create", rawBody: order.replace("a f", "forbidden ") });
    expect(refused).toMatchObject({ kind: "answered", status: 400, contentType: "application/json" });
    expect(jsonOf(refused)).toEqual({
      code: "DataInspectionFailed",
      message: "Input data may contain inappropriate content.",
      request_id: expect.any(String) as unknown,
    });

    const id = await create();
    vendor.move(id, "RUNNING");
    const kept = await send({ exchange: "task_cancel", taskId: id });
    expect(kept).toMatchObject({ kind: "answered", status: 400 });
    expect(jsonOf(kept)).toMatchObject({ code: "UnsupportedOperation" });

    vendor.answerNext({ status: 404, headers: { "content-type": "text/plain" }, body: "no such thing" });
    const lost = await poll(id);
    expect(lost).toMatchObject({ kind: "answered", status: 404, answer: { json: undefined } });
  });

  test("about the operator's key is withheld", async () => {
    expect(await send({ exchange: "video_create", rawBody: order, key: "sk-wrong-000000000" })).toEqual({
      kind: "key_rejected",
      status: 401,
    });
  });

  test("about the operator's empty account is withheld, and known for what it is", async () => {
    const body = JSON.stringify({
      code: "Arrearage",
      message: "Access denied, please pay.",
      request_id: "1",
    });
    vendor.answerNext({ status: 400, headers: { "content-type": "application/json" }, body });
    expect(await send({ exchange: "video_create", rawBody: order })).toEqual({
      kind: "key_rejected",
      status: 400,
      outOfCredit: true,
    });
  });

  test("that throttles says nothing about the task", async () => {
    const body = JSON.stringify({ code: "Throttling.RateQuota", message: "slow down", request_id: "1" });
    vendor.answerNext({ status: 429, headers: { "content-type": "application/json" }, body });
    expect(await poll("any")).toMatchObject({ kind: "rate_limited" });
  });

  test("answers something that is not about a task: it passes as it came", async () => {
    const id = await create();
    for (const body of ["[]", "7", "null", `{"output":[]}`, `{"output":"x","usage":{"SR":"1"}}`, "{}"]) {
      vendor.answerNext({ status: 200, headers: { "content-type": "application/json" }, body });
      expect(jsonOf(await poll(id))).toEqual(JSON.parse(body));
    }
    vendor.answerNext({ kind: "not-json", body: "<html>busy</html>", contentType: "text/html" });
    expect(await poll(id)).toMatchObject({
      kind: "answered",
      contentType: "text/html",
      answer: { json: undefined },
    });
  });

  test("falls silent or breaks off: no answer, and in doubt for a creation", async () => {
    const before = vendor.tasks().length;
    vendor.answerNext({ kind: "hang", afterWork: true });
    expect(await send({ exchange: "video_create", rawBody: order })).toEqual({
      kind: "no_answer",
      reason: "timeout",
      sent: true,
    });
    expect(vendor.tasks().length).toBe(before + 1);
    vendor.answerNext({ kind: "reset" });
    expect(await poll("any")).toMatchObject({ kind: "no_answer", sent: true });
    vendor.answerNext({ kind: "garbage" });
    expect(await poll("any")).toMatchObject({ kind: "no_answer" });
  });

  test("redirects: it is not followed, and nobody else sees the key", async () => {
    const attacker = await openAttackerListener();
    for (const status of [301, 302, 307, 308] as const) {
      for (const exchange of ["video_create", "task_poll", "task_cancel"] as const) {
        vendor.answerNext({ kind: "redirect", status, location: `${attacker.url}/api/v1/tasks/1` });
        const asked = exchange === "video_create" ? { exchange, rawBody: order } : { exchange, taskId: "1" };
        expect(await send(asked)).toMatchObject({ kind: "no_answer", reason: "redirect" });
      }
    }
    expect([attacker.connections(), attacker.bytes()]).toEqual([0, 0]);
    await attacker.close();
  });
});

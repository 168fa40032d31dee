import { describe, expect, test } from "bun:test";
import { openShelfFile } from "../../shelf-file.ts";
import { anyString, at, createTestSandbox, matching, startMs } from "../../test-sandbox.ts";

const createPath = "/dashscope/services/aigc/video-generation/video-synthesis";
const asynchronous = { authorization: "Bearer sandbox", "x-dashscope-async": "enable" };
const hourMs = 3_600_000;

function open(options: Parameters<typeof createTestSandbox>[0] = {}) {
  const sandbox = createTestSandbox(options);
  const create = (prompt: string, more: object = {}) =>
    sandbox.ask("POST", createPath, {
      body: { model: "wan2.6-t2v", input: { prompt }, ...more },
      headers: asynchronous,
    });
  /** Creates, and gives the id. */
  const order = async (prompt: string, more: object = {}): Promise<string> =>
    String(at((await create(prompt, more)).json, "output", "task_id"));
  const poll = async (id: string) => (await sandbox.ask("GET", `/dashscope/tasks/${id}`)).json;
  const status = async (id: string) => at(await poll(id), "output", "task_status");
  const cancel = (id: string) => sandbox.ask("POST", `/dashscope/tasks/${id}/cancel`);
  return { ...sandbox, create, order, poll, status, cancel };
}

const uuid = matching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);

describe("a video task", () => {
  test("is queued, runs and succeeds, and says so in the vendor's words and in China's time", async () => {
    const { create, poll, clock } = open();
    const made = await create("a red fox", { parameters: { size: "1280*720", duration: 7 } });
    expect([made.status, made.json]).toEqual([
      200,
      { request_id: uuid, output: { task_id: uuid, task_status: "PENDING" } },
    ]);
    const id = String(at(made.json, "output", "task_id"));

    const queued = { task_id: id, task_status: "PENDING", submit_time: "2026-11-15 18:12:50.000" };
    expect(await poll(id)).toEqual({ request_id: uuid, output: queued });
    clock.ms += 1_000;
    const running = { ...queued, task_status: "RUNNING", scheduled_time: "2026-11-15 18:12:51.000" };
    expect(await poll(id)).toEqual({ request_id: uuid, output: running });
    clock.ms += 2_999;
    expect(await poll(id)).toEqual({ request_id: uuid, output: running });
    clock.ms += 1;
    expect(await poll(id)).toEqual({
      request_id: uuid,
      output: {
        ...running,
        task_status: "SUCCEEDED",
        end_time: "2026-11-15 18:12:54.000",
        orig_prompt: "a red fox",
        video_url: matching(
          /^http:\/\/gate\.test\/s\/video\/[0-9a-f-]{36}\.mp4\?Expires=\d+&Signature=[0-9a-f]{64}$/,
        ),
      },
      usage: {
        duration: 7,
        input_video_duration: 0,
        output_video_duration: 7,
        video_count: 1,
        SR: 720,
        size: "1280*720",
      },
    });
  });

  test("is billed by second and resolution, in the book once however often it is asked about", async () => {
    const { order, poll, clock, book } = open();
    const id = await order("a", { parameters: { resolution: "480P", duration: 3 } });
    await poll(id);
    clock.ms += 4_000;
    await poll(id);
    await poll(id);
    const { entries } = book.read({ vendor: "dashscope" });
    expect(entries.map(({ method, path, billed }) => [method, path.replace(id, "ID"), billed])).toEqual([
      ["POST", "/services/aigc/video-generation/video-synthesis", null],
      ["GET", "/tasks/ID", null],
      ["GET", "/tasks/ID", { seconds_480p: 3 }],
      ["GET", "/tasks/ID", null],
    ]);
  });

  test("takes five seconds of the highest resolution when nothing is said, and its own length for -1", async () => {
    for (const [parameters, seconds, resolution] of [
      [undefined, 5, 1080],
      [{ duration: -1 }, 10, 1080],
      [{ size: "832*480" }, 5, 480],
      [{ size: "960*960" }, 5, 720],
      [{ size: "1080*1920", duration: 15 }, 15, 1080],
      [{ resolution: "720p", duration: 2 }, 2, 720],
    ] as const) {
      const { order, poll } = open();
      const id = await order("[queued 0] [running 0]", { parameters });
      expect(at(await poll(id), "usage")).toMatchObject({ output_video_duration: seconds, SR: resolution });
    }
  });

  test("does what its prompt asks for", async () => {
    const { order, poll, status, clock, book } = open();
    const fails = await order("a fox [queued 10] [running 10] [fails]");
    const stuck = await order("[stuck]");
    const dropped = await order("[queued 0] [running 0] [canceled]");
    const partly = await order("[queued 0] [running 0] [canceled 2]", { parameters: { size: "1280*720" } });
    const forgotten = await order("[queued 0] [running 0] [kept 500]");
    const strange = await order("[running] [sky] [queued x] [kept -1]");

    expect([await status(fails), await status(forgotten)]).toEqual(["PENDING", "SUCCEEDED"]);
    clock.ms += 10;
    expect(await status(fails)).toBe("RUNNING");
    clock.ms += 10;
    expect(await poll(fails)).toMatchObject({
      output: { task_status: "FAILED", code: "InternalError", message: anyString, end_time: anyString },
    });
    expect(at(await poll(fails), "usage")).toBeUndefined();
    expect(at(await poll(dropped), "usage")).toBeUndefined();
    expect(await status(dropped)).toBe("CANCELED");
    expect(await poll(partly)).toMatchObject({
      output: { task_status: "CANCELED" },
      usage: { output_video_duration: 2, video_count: 0, SR: 720 },
    });
    clock.ms += 480;
    expect(await status(forgotten)).toBe("UNKNOWN");
    clock.ms += hourMs;
    expect([await status(stuck), await status(strange)]).toEqual(["RUNNING", "SUCCEEDED"]);
    const billed = book.read().entries.flatMap((entry) => (entry.billed === null ? [] : [entry.billed]));
    expect(billed).toEqual([{ seconds_1080p: 5 }, { seconds_720p: 2 }, { seconds_1080p: 5 }]);
  });

  test("of a model that needs a picture is created without one, and fails when its turn comes", async () => {
    const { order, poll, status, clock } = open();
    const bare = await order("a", { model: "wan2.7-i2v" });
    const whole = await order("a", { model: "wan2.7-i2v", input: { prompt: "a", media: [{ url: "u" }] } });
    expect(await status(bare)).toBe("PENDING");
    clock.ms += 1_000;
    expect(await poll(bare)).toMatchObject({
      output: { task_status: "FAILED", code: "InvalidParameter", message: "Field required: input.media" },
    });
    expect(await status(whole)).toBe("RUNNING");
  });

  test("can be canceled while it is queued, and not after", async () => {
    const { order, poll, cancel, clock } = open();
    const [early, late] = [await order("a"), await order("b")];
    expect(await cancel(early)).toMatchObject({ status: 200, json: { request_id: uuid } });
    clock.ms += 1_000;
    const refused = {
      status: 400,
      json: {
        request_id: uuid,
        code: "UnsupportedOperation",
        message: "Failed to cancel the task, please confirm if the task is in PENDING status.",
      },
    };
    for (const id of [early, late, "nobody"]) expect(await cancel(id)).toMatchObject(refused);
    clock.ms += hourMs;
    expect(await poll(early)).toEqual({
      request_id: uuid,
      output: {
        task_id: early,
        task_status: "CANCELED",
        submit_time: "2026-11-15 18:12:50.000",
        end_time: "2026-11-15 18:12:50.000",
      },
    });
    expect(at(await poll(late), "output", "task_status")).toBe("SUCCEEDED");
  });

  test("is unknown after a day, as one that never was", async () => {
    const { order, poll, clock } = open();
    const id = await order("a");
    clock.ms += 24 * hourMs - 1;
    expect(at(await poll(id), "output", "task_status")).toBe("SUCCEEDED");
    clock.ms += 1;
    for (const asked of [id, "nobody"]) {
      expect(await poll(asked)).toEqual({
        request_id: uuid,
        output: { task_id: asked, task_status: "UNKNOWN" },
      });
    }
  });
});

describe("the video vendor", () => {
  test("refuses in its flat shape what it cannot do, and creates nothing", async () => {
    const { ask, book } = open();
    const input = { prompt: "a" };
    const model = "wan2.6-t2v";
    for (const [body, status, code, message] of [
      ["{", 400, "InvalidParameter", "Request body format invalid"],
      [{ input }, 400, "InvalidParameter", "Field required: model"],
      [{ model: "missing-1", input }, 400, "InvalidParameter", "Model not exist."],
      [{ model }, 400, "InvalidParameter", "Field required: input"],
      [{ model, input: { prompt: "" } }, 400, "InvalidParameter", "Field required: input.prompt"],
      [{ model, input, parameters: { size: "1x1" } }, 400, "InvalidParameter", anyString],
      [{ model, input, parameters: { size: "9999*9999" } }, 400, "InvalidParameter", anyString],
      [{ model, input, parameters: { resolution: "9P" } }, 400, "InvalidParameter", anyString],
      [{ model, input, parameters: { duration: 16 } }, 400, "InvalidParameter", anyString],
      [{ model, input, parameters: { duration: 2.5 } }, 400, "InvalidParameter", anyString],
      [{ model, input: { prompt: "[refused]" } }, 400, "DataInspectionFailed", anyString],
    ] as const) {
      const refused = await ask("POST", createPath, { body, headers: asynchronous });
      expect([refused.status, refused.json]).toEqual([status, { request_id: uuid, code, message }]);
    }
    expect(book.read().entries.every(({ billed }) => billed === null)).toBe(true);
  });

  test("wants its key and the asynchronous header, and knows three paths", async () => {
    const { ask } = open();
    const body = { model: "wan2.6-t2v", input: { prompt: "a" } };
    for (const [method, path, headers, status, code, message] of [
      ["POST", createPath, {}, 401, "InvalidApiKey", "No API-key provided."],
      ["GET", "/dashscope/tasks/1", { authorization: "Bearer x" }, 401, "InvalidApiKey", anyString],
      [
        "POST",
        createPath,
        { authorization: "Bearer sandbox" },
        403,
        "AccessDenied",
        "current user api does not support synchronous calls",
      ],
      ["GET", "/dashscope/tasks?task_id=1", asynchronous, 404, "NotFound", anyString],
      ["POST", "/dashscope/tasks/1", asynchronous, 405, "MethodNotAllowed", anyString],
      ["GET", createPath, asynchronous, 405, "MethodNotAllowed", anyString],
    ] as const) {
      const refused = await ask(method, path, { headers, ...(method === "POST" ? { body } : {}) });
      expect([refused.status, refused.json]).toEqual([status, { request_id: uuid, code, message }]);
    }
  });

  test("answers twenty polls a second, and counts only those it answered", async () => {
    const { order, ask, clock } = open();
    const id = await order("a");
    const statuses = async (polls: number) => {
      const seen: number[] = [];
      for (let n = 0; n < polls; n++) seen.push((await ask("GET", `/dashscope/tasks/${id}`)).status);
      return seen.filter((status) => status === 200).length;
    };
    expect(await statuses(30)).toBe(20);
    expect(await ask("GET", `/dashscope/tasks/${id}`)).toMatchObject({
      status: 429,
      json: { code: "Throttling.RateQuota" },
    });
    clock.ms += 49;
    expect(await statuses(1)).toBe(0);
    clock.ms += 1;
    expect(await statuses(3)).toBe(1);
    clock.ms += hourMs;
    expect(await statuses(30)).toBe(20);

    const generous = open({ pollQps: 1_000 });
    for (let n = 0; n < 100; n++) expect(await generous.status("nobody")).toBe("UNKNOWN");
  });

  test("does the same for the same calls, and never gives one id twice", async () => {
    const ids = async () => {
      const { order } = open();
      return [await order("a"), await order("a"), await order("a")];
    };
    const first = await ids();
    expect(await ids()).toEqual(first);
    expect(new Set(first).size).toBe(3);
  });

  test("tells lies about a task when a fault asks for them", async () => {
    const { order, ask, status, clock } = open();
    const id = await order("a");
    clock.ms += 4_000;
    const inject = async (fault: object) =>
      expect(
        (await ask("POST", "/_control/faults", { body: { vendor: "dashscope", ...fault } })).status,
      ).toBe(204);
    const path_contains = `/tasks/${id}`;
    await inject({ path_contains, json_patch: { usage: { output_video_duration: 99 } } });
    await inject({ path_contains, json_patch: { output: { task_status: "UNKNOWN", video_url: null } } });
    await inject({ path_contains, status: 404 });
    const poll = async () => await ask("GET", `/dashscope/tasks/${id}`);
    expect(at((await poll()).json, "usage")).toMatchObject({ output_video_duration: 99, SR: 1080 });
    expect(at((await poll()).json, "output", "task_status")).toBe("UNKNOWN");
    expect(await poll()).toMatchObject({
      status: 404,
      json: { request_id: uuid, code: "NotFound", message: anyString },
    });
    expect(await status(id)).toBe("SUCCEEDED");
  });
});

test("a new program goes on with the tasks of the one before: a canceled one stays so, and none is billed twice", async () => {
  const file = openShelfFile(":memory:", startMs);
  const before = open({ file });
  const ended = await before.order("[queued 0] [running 0]");
  const running = await before.order("a red fox");
  const canceled = await before.order("a red fox");
  const told = await before.poll(ended);
  await before.cancel(canceled);

  const after = open({ file });
  after.clock.ms += 10_000;
  expect(at(await after.poll(ended), "output")).toEqual(at(told, "output"));
  expect([await after.status(running), await after.status(canceled)]).toEqual(["SUCCEEDED", "CANCELED"]);
  expect(after.book.read().entries.map(({ billed }) => billed)).toEqual([null, { seconds_1080p: 5 }, null]);
});

// Video tasks as their callers meet them, against the sandbox and its book.

import { describe, expect, test } from "bun:test";
import { openTestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import {
  asynchronous,
  create,
  createPath,
  createTask,
  poll,
  quick,
  stuck,
  taskPath,
  useTaskGateway,
  video,
  videoMicros,
} from "./task-caller.ts";

const { clock, gateway, rich, reaches } = await useTaskGateway();

const creations = async (): Promise<number> =>
  (await gateway.sandbox.book()).filter(({ path }) => path.endsWith("/video-synthesis")).length;

describe("a video task", () => {
  test("is held when it begins, charged once when it has succeeded, and then plays", async () => {
    const account = await rich();
    const created = await createTask(gateway, account, video(quick));
    expect(created).toEqual({
      output: { task_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string, task_status: "PENDING" },
      request_id: expect.any(String) as string,
    });
    expect(await gateway.balance(account)).toEqual({ balance: 20_000_000, held: videoMicros });
    const { task_id: taskId } = created.output;
    const { output, usage, request_id: requestId } = await reaches(account, taskId, "SUCCEEDED");
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/) as string;
    expect(output).toEqual({
      task_id: taskId,
      task_status: "SUCCEEDED",
      submit_time: time,
      scheduled_time: time,
      end_time: time,
      orig_prompt: quick,
      video_url: expect.stringContaining("http") as string,
    });
    // The vendor's clock hangs in China; ours is UTC.
    expect(Math.abs(Date.parse(`${output.submit_time?.replace(" ", "T")}Z`) - Date.now())).toBeLessThan(
      60_000,
    );
    expect(usage).toEqual({ output_video_duration: 5, video_count: 1, SR: 720 });
    expect(requestId).not.toBe(created.request_id);
    const played = await fetch(output.video_url ?? "");
    expect([played.status, played.headers.get("content-type")]).toEqual([200, "video/mp4"]);
    expect(await gateway.balance(account)).toEqual({ balance: 20_000_000 - videoMicros, held: 0 });
    const receipt = await gateway.receipt(account, created.request_id);
    expect(receipt).toMatchObject({
      status: "settled",
      outcome: "succeeded",
      usage: { second_720p: 5 },
      usage_source: "provider",
      charged_micros_usd: videoMicros,
    });
  });

  test("that fails costs nothing, and says why inside its output", async () => {
    const account = await rich();
    const { output } = await createTask(gateway, account, video(`${quick} [fails]`));
    const failed = await reaches(account, output.task_id, "FAILED");
    expect(failed.output).toMatchObject({
      code: expect.any(String) as string,
      message: expect.any(String) as string,
    });
    expect(failed).not.toHaveProperty("usage");
    expect(await gateway.balance(account)).toEqual({ balance: 20_000_000, held: 0 });
  });

  test("that the vendor cancels costs what the vendor bills, and nothing where it bills nothing", async () => {
    const account = await rich();
    const half = await createTask(gateway, account, video(`${quick} [canceled 2]`));
    await reaches(account, half.output.task_id, "CANCELED");
    const whole = await createTask(gateway, account, video(`${quick} [canceled]`));
    await reaches(account, whole.output.task_id, "CANCELED");
    expect(await gateway.balance(account)).toEqual({ balance: 20_000_000 - 200_000, held: 0 });
    expect((await gateway.receipt(account, half.request_id)).explanation).toContain("cancelled");
  });

  test("ends although nobody asks about it", async () => {
    const account = await rich();
    const { request_id: requestId } = await createTask(gateway, account, video(quick));
    clock.forward(4_000);
    await until(async () => (await gateway.receipt(account, requestId)).status === "settled");
    expect((await gateway.balance(account)).held).toBe(0);
  });

  test("is canceled while it waits; the vendor's no is passed on when it is too late", async () => {
    const account = await rich();
    const waiting = await createTask(gateway, account, video("[queued 60000] a red fox"));
    const cancel = (taskId: string) => gateway.post(account, `${taskPath(taskId)}/cancel`, {});
    clock.forward(3_100);
    const response = await cancel(waiting.output.task_id);
    expect(response.status).toBe(200);
    await reaches(account, waiting.output.task_id, "CANCELED");
    expect((await gateway.balance(account)).held).toBe(0);
    const running = await createTask(gateway, account, video("[queued 0] [running 60000] a red fox"));
    const late = await cancel(running.output.task_id);
    expect(late.status).toBe(400);
    expect(await late.json()).toMatchObject({ code: "UnsupportedOperation" });
    expect((await gateway.balance(account)).held).toBe(videoMicros);
  });

  test("is told as CANCELED by the answer to its cancel, also right after it was created", async () => {
    const account = await rich();
    const { output } = await createTask(gateway, account, video("[queued 60000] a red fox"));
    const response = await gateway.post(account, `${taskPath(output.task_id)}/cancel`, {});
    expect(await response.json()).toMatchObject({
      output: { task_id: output.task_id, task_status: "CANCELED" },
    });
    expect(await gateway.balance(account)).toEqual({ balance: 20_000_000, held: 0 });
  });

  test("is canceled however often it was just asked about; cancels have a pace of their own", async () => {
    const account = await rich();
    const { output } = await createTask(gateway, account, video("[queued 0] [running 60000] a red fox"));
    const ask = () => gateway.call(account, taskPath(output.task_id));
    const cancel = () => gateway.post(account, `${taskPath(output.task_id)}/cancel`, {});
    expect([(await ask()).status, (await ask()).status, (await ask()).status]).toEqual([200, 200, 429]);
    const cancels = [await cancel(), await cancel(), await cancel()];
    expect(cancels.map(({ status }) => status)).toEqual([400, 400, 429]);
    expect(await cancels[2]?.json()).toMatchObject({
      error: {
        code: "rate_limit_exceeded",
        limit: { name: "cancels_per_second", limit: 2, remaining: 0 },
      },
    });
    clock.forward(1_000);
    await cancel();
    await cancel();
    expect((await ask()).status).toBe(200);
  });

  test("answers HEAD like GET, at the same pace", async () => {
    const account = await rich();
    const { output } = await createTask(gateway, account, video("[queued 0] [running 60000] a red fox"));
    const ask = (method: "GET" | "HEAD") => gateway.call(account, taskPath(output.task_id), { method });
    const [got, head] = [await ask("GET"), await ask("HEAD")];
    expect([head.status, head.headers.get("content-type"), await head.text()]).toEqual([
      200,
      got.headers.get("content-type"),
      "",
    ]);
    expect(head.headers.get("content-length")).toBe(String((await got.bytes()).length));
    // The two have used up what may be asked in a second, by either method.
    expect([(await ask("HEAD")).status, (await ask("GET")).status]).toEqual([429, 429]);
    const limit = "x-ratelimit-remaining-requests";
    expect(Number(head.headers.get(limit))).toBe(Number(got.headers.get(limit)) - 1);
    expect(
      (await gateway.call(account, `${taskPath(output.task_id)}/cancel`, { method: "HEAD" })).status,
    ).toBe(404);
  });

  test("is held at what was asked for, at the model's own choice, or at the most", async () => {
    const account = await rich();
    const quoted = async (parameters: object | undefined): Promise<number> => {
      const body = { model: "wan2.6-t2v", input: { prompt: "a" }, ...(parameters ? { parameters } : {}) };
      const response = await create(gateway, account, body, { "x-tollgate-cost-mode": "quote" });
      return ((await response.json()) as { max_cost_micros_usd: number }).max_cost_micros_usd;
    };
    expect(await quoted({ duration: 10, size: "1280*720" })).toBe(1_000_000);
    expect(await quoted({ duration: 10, size: "960*960" })).toBe(1_000_000);
    expect(await quoted({ duration: 10, resolution: "1080P" })).toBe(1_500_000);
    expect(await quoted({ duration: 2, resolution: "480P" })).toBe(200_000);
    expect(await quoted(undefined)).toBe(750_000);
    expect(await quoted({ duration: -1, resolution: "720P" })).toBe(1_500_000);
    expect(await quoted({ duration: 5, size: "huge" })).toBe(750_000);
    // A vendor may heed either of two, so the higher is held.
    expect(await quoted({ duration: 5, size: "1920*1080", resolution: "720P" })).toBe(750_000);
    expect(await quoted({ duration: 5, size: "1280*720", resolution: "1080P" })).toBe(750_000);
    expect(await quoted({ duration: 5, size: "1280*720", resolution: "480P" })).toBe(500_000);
  });

  test("that looks at other videos is held for them, in whatever letters they are said to be videos", async () => {
    const account = await rich();
    const quoted = async (medium: object): Promise<number> => {
      const body = { ...video("a"), input: { prompt: "a", media: [medium] } };
      const response = await create(gateway, account, body, { "x-tollgate-cost-mode": "quote" });
      return ((await response.json()) as { max_cost_micros_usd: number }).max_cost_micros_usd;
    };
    expect(await quoted({ type: "first_frame", url: "u" })).toBe(500_000);
    expect(await quoted({ type: "reference_video", url: "u" })).toBe(2_000_000);
    expect(await quoted({ Type: "reference_video", url: "u" })).toBe(2_000_000);
    expect(await quoted({ type: "first_frame", TYPE: "Video", url: "u" })).toBe(2_000_000);
  });

  test("whose length the model may choose is quoted as what it usually is, and the most", async () => {
    const body = { ...video("a"), parameters: { duration: -1, resolution: "720P" } };
    const response = await create(gateway, await rich(), body, { "x-tollgate-cost-mode": "quote" });
    expect(await response.json()).toMatchObject({
      estimate_kind: "estimate",
      estimated_cost_micros_usd: 500_000,
      max_cost_micros_usd: 1_500_000,
      may_exceed_estimate: true,
    });
  });
});

describe("creating a task", () => {
  test("needs the header that says it is asynchronous, once", async () => {
    const account = await rich();
    const bare = (headers: Record<string, string>) =>
      gateway.post(account, createPath, video(quick), headers);
    const before = await creations();
    for (const headers of [{}, { "x-tollgate-async": "disable" }, { "x-tollgate-async": "enable, enable" }]) {
      const response = await bare(headers as Record<string, string>);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: "current user api does not support synchronous calls",
        code: "invalid_parameters",
      });
    }
    expect(await creations()).toBe(before);
  });

  test("twenty at once on one key: three begin, the others are told to come back", async () => {
    const account = await rich();
    const before = await creations();
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => create(gateway, account, video(stuck))),
    );
    const refused = responses.filter(({ status }) => status === 429);
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(3);
    expect(refused).toHaveLength(17);
    for (const response of refused) {
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      expect(await response.json()).toMatchObject({
        error: { type: "rate_limit_error", code: "quota_exceeded", limit: { limit: 3, remaining: 0 } },
      });
    }
    expect((await creations()) - before).toBe(3);
    expect((await gateway.balance(account)).held).toBe(3 * videoMicros);
    // Those that were refused count as no requests; this look does.
    const { limits } = (await (await gateway.call(account, "/v1/limits")).json()) as {
      limits: { name: string; limit: number; remaining: number }[];
    };
    const requests = limits.find(({ name }) => name === "requests_per_minute");
    expect((requests?.limit ?? 0) - (requests?.remaining ?? 0)).toBe(4);
    // Another key of nobody's concern is free to begin.
    expect((await create(gateway, await rich(), video(quick))).status).toBe(200);
  });

  test("again under its idempotency key gives the same task, also when it has ended; another body is 409", async () => {
    const account = await rich();
    const key = { "idempotency-key": "one-video" };
    const before = await creations();
    const first = await createTask(gateway, account, video(quick), key);
    const again = await createTask(gateway, account, video(quick), key);
    expect(again).toEqual(first);
    await reaches(account, first.output.task_id, "SUCCEEDED");
    // An answer to a creation has no word for an end; whoever asks about the task hears of it.
    const after = await createTask(gateway, account, video(quick), key);
    expect(after.output).toEqual({ task_id: first.output.task_id, task_status: "RUNNING" });
    const other = await create(gateway, account, video("another"), key);
    expect(other.status).toBe(409);
    expect(await other.json()).toMatchObject({ error: { code: "idempotency_key_reused" } });
    expect((await creations()) - before).toBe(1);
    expect((await gateway.balance(account)).balance).toBe(20_000_000 - videoMicros);
  });

  test("again under its idempotency key, when its result is gone, is the same task, which says so", async () => {
    const account = await rich();
    const key = { "idempotency-key": "one-short-lived-video" };
    const hourMs = 60 * 60 * 1000;
    const expires = Math.floor((clock.wallMs() + hourMs) / 1000);
    await gateway.sandbox.fault({
      path_contains: "/tasks/",
      json_patch: { output: { video_url: `https://videos.example/1.mp4?Expires=${expires}&Signature=x` } },
      times: 10,
    });
    const first = await createTask(gateway, account, video(quick), key);
    await reaches(account, first.output.task_id, "SUCCEEDED");
    clock.forward(2 * hourMs);
    const again = await createTask(gateway, account, video(quick), key);
    expect(again.output.task_id).toBe(first.output.task_id);
    expect((await poll(gateway, account, first.output.task_id)).output.task_status).toBe("UNKNOWN");
    expect((await gateway.balance(account)).balance).toBe(20_000_000 - videoMicros);
  });

  test("fifty at once under one idempotency key make one task", async () => {
    const account = await rich();
    const before = await creations();
    const responses = await Promise.all(
      Array.from({ length: 50 }, () =>
        create(gateway, account, video(quick), { "idempotency-key": "fifty" }),
      ),
    );
    const ids = new Set<string>();
    for (const response of responses) {
      expect([200, 409]).toContain(response.status);
      const body = (await response.json()) as { output?: { task_id: string } };
      if (body.output) ids.add(body.output.task_id);
    }
    expect(ids.size).toBe(1);
    expect((await creations()) - before).toBe(1);
    const { balance, held } = await gateway.balance(account);
    expect(20_000_000 - balance + held).toBe(videoMicros);
  });

  test("that the vendor refuses is passed on, costs nothing and takes no place", async () => {
    const account = await rich();
    for (let tries = 0; tries < 4; tries++) {
      const response = await create(gateway, account, video("[refused] a"));
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: "DataInspectionFailed" });
    }
    expect(await gateway.balance(account)).toEqual({ balance: 20_000_000, held: 0 });
  });

  test("is 402 when the hold does not fit, and nothing is sent", async () => {
    const account = await gateway.openAccount({ creditUsd: "0.49" });
    const before = await creations();
    const response = await create(gateway, account, video(quick));
    expect(response.status).toBe(402);
    expect(await creations()).toBe(before);
    expect(await gateway.balance(account)).toEqual({ balance: 490_000, held: 0 });
  });

  test("within a cap works, beyond it is 402", async () => {
    const account = await rich();
    const capped = (usd: string) =>
      create(gateway, account, video(quick), { "x-tollgate-max-price-usd": usd });
    const before = await creations();
    const refused = await capped("0.49");
    expect(refused.status).toBe(402);
    expect(await refused.json()).toMatchObject({ error: { code: "estimated_price_exceeds_max_price" } });
    expect([await gateway.balance(account), (await creations()) - before]).toEqual([
      { balance: 20_000_000, held: 0 },
      0,
    ]);
    expect((await capped("0.5")).status).toBe(200);
    expect([await gateway.balance(account), (await creations()) - before]).toEqual([
      { balance: 20_000_000, held: videoMicros },
      1,
    ]);
  });
});

describe("asking about a task", () => {
  test("shows another account's task as it shows one that never was", async () => {
    const [owner, stranger] = [await rich(), await rich()];
    const { output } = await createTask(gateway, owner, video(stuck));
    const random = crypto.randomUUID();
    const asStranger = await poll(gateway, stranger, output.task_id);
    const never = await poll(gateway, stranger, random);
    expect(asStranger.output).toEqual({ task_id: output.task_id, task_status: "UNKNOWN" });
    expect(never.output).toEqual({ task_id: random, task_status: "UNKNOWN" });
    const cancel = await gateway.post(stranger, `${taskPath(output.task_id)}/cancel`, {});
    expect(((await cancel.json()) as typeof never).output.task_status).toBe("UNKNOWN");
    expect((await poll(gateway, owner, output.task_id)).output.task_status).toBe("PENDING");
  });

  test("shows an id of whatever letters as one that never was", async () => {
    const account = await rich();
    for (const taskId of ["no.such.task", "task:1", "a b", "ünknown", "a/b", "x".repeat(129)]) {
      const path = taskPath(encodeURIComponent(taskId));
      for (const response of [
        await gateway.call(account, path),
        await gateway.post(account, `${path}/cancel`, {}),
      ]) {
        expect(response.status).toBe(200);
        expect(await response.json()).toMatchObject({ output: { task_id: taskId, task_status: "UNKNOWN" } });
      }
    }
  });

  test("is not needed to see on the receipt who was asked for it", async () => {
    const account = await rich();
    const { request_id } = await createTask(gateway, account, video(stuck));
    const { data } = (await (await gateway.call(account, "/v1/requests")).json()) as { data: object[] };
    expect([await gateway.receipt(account, request_id), ...data]).toMatchObject([
      { settled_at: null, attempts: [{ outcome: "answered", status: 200 }] },
      { settled_at: null, attempts: [{ outcome: "answered", status: 200 }] },
    ]);
  });

  test("is free, and leaves no receipt", async () => {
    const account = await rich();
    const { output } = await createTask(gateway, account, video(stuck));
    const before = await gateway.balance(account);
    await poll(gateway, account, output.task_id);
    expect(await gateway.balance(account)).toEqual(before);
    const list = (await (await gateway.call(account, "/v1/requests")).json()) as { data: object[] };
    expect(list.data).toHaveLength(1);
  });

  test("shows UNKNOWN when the result can no longer be fetched", async () => {
    const account = await rich();
    const { output } = await createTask(gateway, account, video(quick));
    await reaches(account, output.task_id, "SUCCEEDED");
    clock.forward(25 * 60 * 60 * 1000);
    expect((await poll(gateway, account, output.task_id)).output).toEqual({
      task_id: output.task_id,
      task_status: "UNKNOWN",
    });
  });

  test("as a query is 500 unsupported uri, for whoever has a key", async () => {
    const account = await rich();
    const response = await gateway.call(account, "/apis/v1/services/aigc/tasks?task_id=abc");
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({
      code: "unsupported_uri",
      message: "unsupported uri",
      request_id: response.headers.get("x-request-id"),
    });
    const stranger = await fetch(`${gateway.url}/apis/v1/services/aigc/tasks?task_id=abc`);
    expect(stranger.status).toBe(401);
  });
});

test("the async header follows the provider's name", async () => {
  const named = await openTestGateway({ config: "names: { provider: Acme }" });
  try {
    const account = await named.openAccount();
    const send = (headers: Record<string, string>) => named.post(account, createPath, video(quick), headers);
    expect((await send(asynchronous)).status).toBe(400);
    expect((await send({ "x-acme-async": "enable" })).status).toBe(200);
  } finally {
    await named.close();
  }
});

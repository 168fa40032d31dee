// Vendors that lie, fall silent or contradict themselves about tasks: only a clear word ends one, and once.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { create, createTask, poll, quick, shiftedClock, stuck, video, videoMicros } from "./task-caller.ts";

const dayMs = 86_400_000;
let clock: ReturnType<typeof shiftedClock>;
let gateway: TestGateway;
let account: TestAccount;

/** To be called in a group of tests; each of them has a gateway, an account and a clock. */
function useGateway(): void {
  beforeEach(async () => {
    clock = shiftedClock();
    gateway = await openTestGateway({ clock });
    account = await gateway.openAccount();
  });
  afterEach(async () => {
    try {
      expect(await gateway.audit()).toEqual([]);
    } finally {
      await gateway.close();
    }
  });
}

const polled = { vendor: "dashscope", path_contains: "/tasks/" };
const created = { vendor: "dashscope", path_contains: "/video-synthesis" };
/** What an account was charged, what is held of it, and how many calls of its usage log have this status. */
const figuresOf = (at: TestGateway, owner: TestAccount) => ({
  charged: async (): Promise<number> => 2_000_000 - (await at.balance(owner)).balance,
  held: async (): Promise<number> => (await at.balance(owner)).held,
  listed: async (status: string): Promise<number> => {
    const page = await (await at.call(owner, `/v1/requests?status=${status}`)).json();
    return (page as { data: object[] }).data.length;
  },
});
const charged = (): Promise<number> => figuresOf(gateway, account).charged();
const held = (): Promise<number> => figuresOf(gateway, account).held();
const asks = async (): Promise<number> =>
  (await gateway.sandbox.book()).filter(({ path }) => path.includes("/tasks/")).length;

/** Waits until the vendor was asked once more, and has answered unless it hung up. */
const askedOnce = async (before: number, hangsUp = false): Promise<void> => {
  clock.forward(1_000_000);
  await until(async () => (await asks()) > before);
  if (!hangsUp) await gateway.sandbox.settled();
  await Bun.sleep(20);
};

describe("what is no verdict", () => {
  useGateway();

  const silences: Readonly<Record<string, object>> = {
    "a 404": { status: 404, body: "{}" },
    "a 500": { status: 500, body: '{"code":"InternalError","message":"x","request_id":"r"}' },
    "a 429": { status: 429, body: "{}" },
    "a refused key": { status: 401, body: '{"code":"InvalidApiKey"}' },
    "a page of HTML": { status: 200, body: "<html>FAILED</html>", content_type: "text/html" },
    "an empty object": { status: 200, body: "{}" },
    "another task's failure": {
      status: 200,
      body: '{"output":{"task_id":"another","task_status":"FAILED"}}',
    },
    "a state that does not exist": { json_patch: { output: { task_status: "EXPLODED" } } },
    "a success without a link": { json_patch: { output: { video_url: null } } },
    "a script for a link": { json_patch: { output: { video_url: "javascript:alert(1)" } } },
    "a cut connection": { mode: "close" },
    "half an answer": { mode: "partial" },
    UNKNOWN: { json_patch: { output: { task_status: "UNKNOWN" } } },
  };
  for (const [name, fault] of Object.entries(silences)) {
    test(`${name} keeps the hold, and the success that comes later is charged once`, async () => {
      await gateway.sandbox.fault({ ...polled, ...fault, times: 1 });
      const { output } = await createTask(gateway, account, video(quick));
      await askedOnce(0, name === "a cut connection");
      expect([await held(), await charged()]).toEqual([videoMicros, 0]);
      clock.forward(1_000_000);
      await until(async () => (await held()) === 0);
      expect(await charged()).toBe(videoMicros);
      expect((await poll(gateway, account, output.task_id)).output.task_status).toBe("SUCCEEDED");
    });
  }

  test("a vendor that stays silent is asked ever more rarely, and at the deadline the hold goes back", async () => {
    await gateway.sandbox.fault({ ...polled, status: 503, body: "{}", times: 1_000 });
    const { output, request_id: requestId } = await createTask(gateway, account, video(quick));
    let asked = 0;
    // An hour in steps of five seconds; asked every three to ten seconds it would be hundreds of questions.
    for (let step = 0; step < 720; step++) {
      clock.forward(5_000);
      if (step % 24 === 0) {
        await poll(gateway, account, output.task_id);
        asked = await asks();
      }
    }
    expect(asked).toBeGreaterThan(4);
    expect(asked).toBeLessThan(20);
    expect(await held()).toBe(videoMicros);
    clock.forward(dayMs);
    await until(async () => (await held()) === 0);
    expect(await charged()).toBe(0);
    expect((await poll(gateway, account, output.task_id)).output).toEqual({
      task_id: output.task_id,
      task_status: "UNKNOWN",
    });
    const receipt = (await (await gateway.call(account, `/v1/requests/${requestId}`)).json()) as object;
    expect(receipt).toMatchObject({ status: "released", outcome: "unknown", charged_micros_usd: 0 });
  });

  test("a clock that is set back by an hour freezes nothing: the vendor is asked on, and the success is charged", async () => {
    const { output } = await createTask(gateway, account, video(quick));
    clock.forward(-3_600_000);
    await until(async () => (await held()) === 0);
    expect(await charged()).toBe(videoMicros);
    expect((await poll(gateway, account, output.task_id)).output.task_status).toBe("SUCCEEDED");
  });

  test("a deadline that passes while the vendor is asked waits for its word", async () => {
    // Longer than the pause between two looks at deadlines.
    await gateway.sandbox.fault({ ...polled, latency_ms: 1_500, times: 1 });
    const { output } = await createTask(gateway, account, video(quick));
    clock.forward(dayMs + 1_000);
    await until(async () => (await held()) === 0);
    expect(await charged()).toBe(videoMicros);
    expect((await poll(gateway, account, output.task_id)).output.task_status).toBe("SUCCEEDED");
  });

  test("a deadline that passed while nobody could ask waits until the vendor was asked once more", async () => {
    const others = await Promise.all(Array.from({ length: 20 }, () => gateway.openAccount()));
    // More than may be asked about between two looks at deadlines.
    const creating = others.flatMap((other) => [1, 2, 3].map(() => createTask(gateway, other, video(quick))));
    await Promise.all(creating);
    clock.forward(3 * dayMs);
    for (const other of others) {
      await until(async () => (await gateway.balance(other)).held === 0);
      expect((await gateway.balance(other)).balance).toBe(2_000_000 - 3 * videoMicros);
    }
  });

  test("a task that the vendor forgot shows UNKNOWN; a success after that still settles", async () => {
    await gateway.sandbox.fault({ ...polled, json_patch: { output: { task_status: "UNKNOWN" } }, times: 3 });
    const { output } = await createTask(gateway, account, video(quick));
    for (let times = 0; times < 3; times++) await askedOnce(times);
    const unknown = await poll(gateway, account, output.task_id);
    expect(unknown.output.task_status).toBe("UNKNOWN");
    expect(await held()).toBe(videoMicros);
    clock.forward(1_000_000);
    await until(async () => (await held()) === 0);
    expect(await charged()).toBe(videoMicros);
  });

  test("an end stands, whatever the vendor says afterwards", async () => {
    const { output } = await createTask(gateway, account, video(quick));
    clock.forward(4_000);
    await until(async () => (await held()) === 0);
    await gateway.sandbox.fault({ ...polled, json_patch: { output: { task_status: "FAILED" } }, times: 10 });
    const before = await asks();
    clock.forward(4_000);
    expect((await poll(gateway, account, output.task_id)).output.task_status).toBe("SUCCEEDED");
    expect([await asks(), await charged()]).toEqual([before, videoMicros]);
  });
});

describe("usage that is not true", () => {
  useGateway();

  const cases: readonly (readonly [string, object, number])[] = [
    ["ten times as long", { output_video_duration: 50, duration: 50 }, videoMicros],
    ["dearer than held", { output_video_duration: 5, SR: 1080 }, videoMicros],
    ["shorter than asked for", { output_video_duration: 3 }, 300_000],
    ["an explicit zero", { output_video_duration: 0, duration: 0 }, 0],
    ["negative", { output_video_duration: -1, duration: -1 }, videoMicros],
    ["absurd", { output_video_duration: 1e30 }, videoMicros],
    ["a text", { output_video_duration: "5" }, videoMicros],
    ["missing", { output_video_duration: null, duration: null, SR: null }, videoMicros],
  ];
  for (const [name, usage, micros] of cases) {
    test(`${name} is charged ${micros}, never more than was held`, async () => {
      await gateway.sandbox.fault({ ...polled, json_patch: { usage }, times: 10 });
      await createTask(gateway, account, video(quick));
      clock.forward(4_000);
      await until(async () => (await held()) === 0);
      expect(await charged()).toBe(micros);
    });
  }
});

describe("a report that is not what it should be", () => {
  useGateway();

  test("is shown in whole figures, and priced by a resolution that exists", async () => {
    const usage = { output_video_duration: 5, duration: 5, SR: 0, video_count: 1.5 };
    await gateway.sandbox.fault({ ...polled, json_patch: { usage }, times: 10 });
    const dear = video(quick, { duration: 5, size: "1920*1080" });
    const { output } = await createTask(gateway, account, dear);
    clock.forward(4_000);
    await until(async () => (await held()) === 0);
    expect(await charged()).toBe(750_000);
    expect((await poll(gateway, account, output.task_id)).usage).toEqual({
      output_video_duration: 5,
      video_count: 1,
      SR: 1080,
    });
  });

  test("is kept and told only as far as anybody reads", async () => {
    const flood = "why not? ".repeat(100_000);
    await gateway.sandbox.fault({
      ...polled,
      json_patch: { output: { code: flood, message: flood, orig_prompt: flood } },
      times: 10,
    });
    const { output } = await createTask(gateway, account, video(`${quick} [fails]`));
    clock.forward(4_000);
    await until(async () => (await held()) === 0);
    const { code = "", message = "" } = (await poll(gateway, account, output.task_id)).output;
    expect([code.length, message.length]).toEqual([200, 2_000]);
    expect([flood.startsWith(code), flood.startsWith(message)]).toEqual([true, true]);
    const [{ bytes } = { bytes: 0 }] = await gateway.data.query<{ bytes: number }>(
      "SELECT length(report) AS bytes FROM task",
    );
    expect(bytes).toBeLessThan(25_000);
  });
});

describe("a creation in doubt", () => {
  const doubts: Readonly<Record<string, object>> = {
    "a cut connection": { mode: "close" },
    garbage: { status: 200, body: "ok" },
    "a proxy's 504": { status: 504, body: "<html>Gateway Time-out</html>", content_type: "text/html" },
    "a 408": { status: 408, body: "{}" },
    "a proxy's 524": { status: 524, body: '{"code":"Timeout","message":"x","request_id":"r"}' },
    "a 200 without an id": { status: 200, body: '{"output":{"task_status":"PENDING"}}' },
    "a 200 that says no word of a task": { status: 200, body: '{"request_id":"r"}' },
    "a 200 that says no and a task's state": {
      status: 200,
      body: '{"code":"InvalidParameter","output":{"task_status":"PENDING"}}',
    },
    "a 200 that says that time ran out": { status: 200, body: '{"code":"RequestTimeOut","message":"x"}' },
  };
  // Each waits for the deadline of its own, so they wait together.
  const openOwn = async () => {
    const clock = shiftedClock();
    const gateway = await openTestGateway({ clock });
    const account = await gateway.openAccount();
    return { gateway, account, clock, ...figuresOf(gateway, account) };
  };
  for (const [name, fault] of Object.entries(doubts)) {
    test.concurrent(`${name} is told as a failure, never sent again, held until the deadline and takes no place`, async () => {
      const { gateway, account, clock, held, charged, listed } = await openOwn();
      try {
        await gateway.sandbox.fault({ ...created, ...fault, times: 1 });
        const once = { "idempotency-key": "once" };
        const response = await create(gateway, account, video(stuck), once);
        expect(response.status).toBe(502);
        expect(await held()).toBe(videoMicros);
        expect(await gateway.receipt(account, response)).toMatchObject({
          status: "unknown",
          settled_at: null,
          explanation: expect.stringContaining("not known") as unknown,
        });
        expect([await listed("unknown"), await listed("dispatched"), await listed("held")]).toEqual([
          1, 0, 0,
        ]);
        const again = await create(gateway, account, video(stuck), once);
        expect([again.status, await again.json()]).toMatchObject([
          409,
          {
            error: { code: "outcome_unknown", retryable: false },
            original: { status: "unknown", charged_micros_usd: 0 },
          },
        ]);
        expect((await gateway.sandbox.book()).filter(({ path }) => path.includes("synthesis"))).toHaveLength(
          1,
        );
        expect(gateway.logged.some((line) => line.includes("nobody knows whether a task was created"))).toBe(
          true,
        );
        const others = await Promise.all([1, 2, 3].map(() => create(gateway, account, video(stuck))));
        expect(others.map(({ status }) => status)).toEqual([200, 200, 200]);
        clock.forward(dayMs);
        await until(async () => (await held()) === 0);
        expect(await charged()).toBe(0);
        expect([await listed("unknown"), (await gateway.receipt(account, response)).status]).toEqual([
          0,
          "released",
        ]);
        // Whoever repeats it then hears the same: there is no task that could be asked about.
        const late = await create(gateway, account, video(stuck), once);
        expect([late.status, await late.json()]).toMatchObject([
          409,
          { error: { code: "outcome_unknown" }, original: { status: "unknown", charged_micros_usd: 0 } },
        ]);
        expect(await gateway.audit()).toEqual([]);
      } finally {
        await gateway.close();
      }
    });
  }
});

describe("a creation in doubt", () => {
  useGateway();

  const oddBeginnings: Readonly<Record<string, object>> = {
    "a state nobody knows": { task_status: "QUEUED" },
    "no state": { task_status: null },
    "a state in other letters": { task_status: "pending" },
    "an end without a result": { task_status: "SUCCEEDED" },
  };
  for (const [name, output] of Object.entries(oddBeginnings)) {
    test(`is none when the vendor gives an id with ${name}: the task is asked about, and charged once`, async () => {
      await gateway.sandbox.fault({ ...created, json_patch: { output }, times: 1 });
      const begun = await createTask(gateway, account, video(quick));
      expect(begun.output.task_status).toBe("PENDING");
      clock.forward(4_000);
      await until(async () => (await held()) === 0);
      expect(await charged()).toBe(videoMicros);
      expect((await poll(gateway, account, begun.output.task_id)).output.task_status).toBe("SUCCEEDED");
    });
  }

  for (const [name, fault, status] of [
    ["a 400", { status: 400, body: '{"code":"InvalidParameter","message":"no","request_id":"r"}' }, 400],
    ["a 500", { status: 500, body: '{"code":"InternalError","message":"no","request_id":"r"}' }, 500],
    ["a 429", { status: 429, body: "{}", headers: { "retry-after": "7" } }, 429],
    ["a refused key", { status: 401, body: "{}" }, 503],
    ["a 200 that only says no", { status: 200, body: '{"code":"InvalidParameter","message":"no"}' }, 400],
    [
      "a 200 that says no beside an output of null",
      { status: 200, body: '{"code":"InvalidParameter","message":"no","output":null}' },
      400,
    ],
    [
      "a 200 that says no beside an empty output, without a message",
      { status: 200, body: '{"code":"DataInspectionFailed","output":{}}' },
      400,
    ],
    [
      "a 200 that says it is busy",
      { status: 200, body: '{"code":"Throttling.RateQuota","message":"no"}' },
      429,
    ],
    ["a 200 about the operator's debts", { status: 200, body: '{"code":"Arrearage","message":"no"}' }, 503],
  ] as const) {
    test(`${name} is no doubt: the hold goes back at once`, async () => {
      await gateway.sandbox.fault({ ...created, ...fault, times: 1 });
      const response = await create(gateway, account, video(quick));
      expect(response.status).toBe(status);
      expect([await held(), await charged()]).toEqual([0, 0]);
    });
  }
});

describe("a crowd of curious clients", () => {
  useGateway();

  test("sees the vendor asked once in three seconds, and pays nothing", async () => {
    const { output } = await createTask(gateway, account, video(stuck));
    await gateway.gateway.stop();
    const path = `/apis/v1/services/aigc/tasks/${output.task_id}`;
    const statuses = new Map<number, number>();
    // A hundred polls in each of ten seconds, on a clock that is put forward.
    for (let second = 0; second < 10; second++) {
      const responses = await Promise.all(Array.from({ length: 100 }, () => gateway.call(account, path)));
      for (const response of responses) {
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
        if (response.status !== 429) continue;
        expect(response.headers.get("retry-after")).toBe("1");
        expect(await response.json()).toMatchObject({
          error: { type: "rate_limit_error", code: "rate_limit_exceeded", limit: { limit: 2 } },
        });
      }
      clock.forward(1_000);
    }
    expect(statuses).toEqual(
      new Map([
        [200, 20],
        [429, 980],
      ]),
    );
    expect(await asks()).toBeLessThanOrEqual(4);
    expect(await charged()).toBe(0);
  });
});

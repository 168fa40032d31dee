// Video tasks in front of the vendor that makes them: what leaves, how often it is asked, and how it takes creations.

import { describe, expect, test } from "bun:test";
import { openDashScopeDouble } from "../doubles/dashscope.ts";
import { headerValues } from "../doubles/http-wire.ts";
import type { ScriptedAnswer } from "../doubles/scripted-answer.ts";
import { parseConfig } from "../../gateway/src/config/load-config.ts";
import { loadCatalogue } from "../../gateway/src/operation/catalogue.ts";
import { catalogueFolder } from "../support/project-folder.ts";
import { openTestGateway, type TestAccount } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import {
  asynchronous,
  create,
  createPath,
  createTask,
  poll,
  taskPath,
  video,
  videoMicros,
} from "./task-caller.ts";
import { richMicros, json, key, untouched, useVideoVendor } from "./video-vendor.ts";

const { clock, vendor, attacker, gateway, openAt, rich, vendorId, reaches } = await useVideoVendor();

const last = () => {
  const request = vendor.requests.at(-1);
  if (!request) throw new Error("the vendor was not asked");
  return request;
};

describe("what the vendor is told", () => {
  test("of a creation: the body as it came, its own header and key, and nothing of the caller's", async () => {
    const account = await rich();
    const body = `{"input" : {"prompt":"a f\\u006fx"}, "model":"wan2.6-t2v","parameters":{"seed":12345678901234567890,"duration":5}}`;
    const response = await gateway.post(account, createPath, body, { ...asynchronous, cookie: "a=b" });
    expect(response.status).toBe(200);
    const { method, target, headers, body: sent } = last();
    expect([method, target]).toEqual(["POST", `/api/v1${createPath.slice("/apis/v1".length)}`]);
    expect(new TextDecoder().decode(sent)).toBe(body);
    expect(headerValues(headers, "x-dashscope-async")).toEqual(["enable"]);
    expect(headerValues(headers, "authorization")).toEqual([`Bearer ${key}`]);
    for (const name of ["cookie", "x-tollgate-async"]) expect(headerValues(headers, name)).toEqual([]);
    expect(JSON.stringify(headers)).not.toContain(account.key);

    const { output } = (await response.json()) as { output: { task_id: string } };
    vendor.move(vendorId(), "FAILED");
    await reaches(account, output.task_id, "FAILED");
  });

  test("of a task: its own id on its own path, with no body", async () => {
    const account = await rich();
    const { output } = await createTask(gateway, account, video("a fox"));
    const id = vendorId();
    expect(output.task_id).not.toBe(id);
    expect(
      (await gateway.call(account, `${taskPath(output.task_id)}/cancel`, { method: "POST" })).status,
    ).toBe(200);
    const asked = vendor.requests.filter(({ target }) => target.includes(id));
    expect(asked.map(({ method, target, body }) => [method, target, body.length])).toContainEqual([
      "POST",
      `/api/v1/tasks/${id}/cancel`,
      0,
    ]);
    await reaches(account, output.task_id, "CANCELED");
    expect(last().target).toBe(`/api/v1/tasks/${id}`);
    expect(await gateway.balance(account)).toEqual(untouched);
  });
});

describe("while somebody else asks about it", () => {
  const claimElsewhere = async (taskId: string) => {
    const { tasks } = gateway.store;
    // Whoever asked about other tasks just now leaves the vendor's pace to this one.
    clock.forward(1_000);
    const nowMs = clock.wallMs();
    const claimed = await tasks.claim({ taskId, nowMs, leaseMs: 30_000, notAskedSinceMs: nowMs });
    if (!claimed) throw new Error("The task could not be claimed.");
    const { fence, errors, missing, report } = claimed;
    const nextPollAtMs = nowMs + 10_000;
    return () => tasks.note({ taskId, fence, state: "PENDING", report, errors, missing, nextPollAtMs });
  };
  const cancel = async (account: TestAccount, taskId: string) =>
    (await (await gateway.post(account, `${taskPath(taskId)}/cancel`, {})).json()) as {
      output: { task_status: string };
    };

  test("a task that its vendor cancels is told as CANCELED, not as they heard of it before", async () => {
    const account = await rich();
    const { task_id: taskId } = (await createTask(gateway, account, video("a fox"))).output;
    const noteElsewhere = await claimElsewhere(taskId);
    const canceled = cancel(account, taskId);
    await until(() => vendor.requests.some(({ target }) => target.endsWith(`${vendorId()}/cancel`)));
    await Bun.sleep(50);
    expect(await noteElsewhere()).toBe(true);
    expect((await canceled).output.task_status).toBe("CANCELED");
    expect(await gateway.balance(account)).toEqual(untouched);
  });

  test("nobody waits for them for ever, and the vendor is asked by them alone", async () => {
    const account = await rich();
    const { task_id: taskId } = (await createTask(gateway, account, video("a fox"))).output;
    const noteElsewhere = await claimElsewhere(taskId);
    expect((await cancel(account, taskId)).output.task_status).toBe("PENDING");
    expect(last().target).toEndWith(`${vendorId()}/cancel`);
    await noteElsewhere();
    await reaches(account, taskId, "CANCELED");
  });
});

test("the vendor is asked about tasks no more often than it allows, however many callers are curious", async () => {
  const slow = await openTestGateway({
    clock,
    config: `upstreams: { video: { protocol: dashscope, url: "${vendor.url}", key: "${key}", poll_qps: 1 } }`,
  });
  try {
    // Nobody but the callers asks.
    await slow.gateway.stop();
    const account = await rich(slow);
    const tasks = [];
    for (let times = 0; times < 3; times++) tasks.push(await createTask(slow, account, video("a red fox")));
    const asked = vendor.requests.length;
    clock.forward(5_000);
    await Promise.all(tasks.map(({ output }) => poll(slow, account, output.task_id)));
    expect(vendor.requests.length - asked).toBe(1);

    clock.forward(5_000);
    const cancels = await Promise.all(
      tasks.map(({ output }) => slow.call(account, `${taskPath(output.task_id)}/cancel`, { method: "POST" })),
    );
    // The one that was asked about runs by now.
    expect(cancels.filter(({ ok }) => ok)).toHaveLength(2);
    const questions = vendor.requests.slice(asked + 1).filter(({ method }) => method === "GET");
    expect(questions).toHaveLength(1);
  } finally {
    await slow.close();
  }
});

test("the operator is told once of tasks whose upstream the configuration lost, and they end when it is back", async () => {
  const named = (name: string): string =>
    `upstreams: { ${name}: { protocol: dashscope, url: "${vendor.url}", key: "${key}" } }`;
  const at = await openTestGateway({ clock, config: named("video") });
  const reload = async (name: string) =>
    at.gateway.reload(
      await loadCatalogue([catalogueFolder]),
      parseConfig(named(name), "the next configuration", {}),
      at.sandbox.url,
    );
  const told = (): string[] =>
    at.logged.filter((line) =>
      line.includes("tasks are open at an upstream that is not configured any more"),
    );
  try {
    const account = await rich(at);
    const { output } = await createTask(at, account, video("a fox"));
    await reload("renamed");
    clock.forward(60_000);
    await until(() => told().length > 0);
    expect(told().join()).toContain('"upstream":"video"');
    clock.forward(60_000);
    await Bun.sleep(1_200);
    expect(told()).toHaveLength(1);
    expect((await poll(at, account, output.task_id)).output.task_status).toBe("PENDING");
    await reload("video");
    await reaches(account, output.task_id, "SUCCEEDED", at);
    expect(await at.balance(account)).toEqual({ balance: richMicros - videoMicros, held: 0 });
  } finally {
    await at.close();
  }
});

test("the operator is told once, and why, of an upstream that says nothing of tasks, until it does again", async () => {
  const withKey = (word: string): string =>
    `upstreams: { video: { protocol: dashscope, url: "${vendor.url}", key: "${word}" } }`;
  const at = await openTestGateway({ clock, config: withKey(key) });
  const reload = async (word: string) =>
    at.gateway.reload(
      await loadCatalogue([catalogueFolder]),
      parseConfig(withKey(word), "the next configuration", {}),
      at.sandbox.url,
    );
  const told = (): string[] =>
    at.logged.filter((line) => line.includes("an upstream says nothing of open tasks"));
  try {
    const account = await rich(at);
    const tasks = [
      await createTask(at, account, video("a fox")),
      await createTask(at, account, video("a fox")),
    ];
    await reload("sk-of-nobody-000000000000");
    const asked = vendor.requests.length;
    await until(() => {
      clock.forward(1_000);
      return told().length > 0;
    });
    expect(vendor.requests.length - asked).toBeGreaterThanOrEqual(4);
    expect(told().join()).toContain('"upstream":"video","because":"key_rejected","status":401');
    clock.forward(20 * 60_000);
    await Bun.sleep(500);
    expect(told()).toHaveLength(1);
    await reload(key);
    for (const { output } of tasks) await reaches(account, output.task_id, "SUCCEEDED", at);
    expect(await at.balance(account)).toEqual({ balance: richMicros - 2 * videoMicros, held: 0 });
  } finally {
    await at.close();
  }
});

describe("a creation", () => {
  test("that the vendor refuses keeps its status and body, and costs nothing", async () => {
    const account = await rich();
    const response = await create(gateway, account, video("forbidden"));
    expect([response.status, await response.json()]).toEqual([
      400,
      {
        code: "DataInspectionFailed",
        message: "Input data may contain inappropriate content.",
        request_id: expect.any(String) as unknown,
      },
    ]);
    expect(await gateway.balance(account)).toEqual(untouched);
  });

  test("that the vendor throttles is our 429, and costs nothing", async () => {
    const account = await rich();
    vendor.answerNext({
      ...json(429, { code: "Throttling", message: "slow down", request_id: "1" }),
      headers: { "content-type": "application/json", "retry-after": "7" },
    } as ScriptedAnswer);
    const response = await create(gateway, account, video("a fox"));
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(await response.json()).toMatchObject({ error: { code: "upstream_rate_limit" } });
    expect(await gateway.balance(account)).toEqual(untouched);
  });

  test("with a key that the vendor rejects tells the caller nothing about it", async () => {
    const at = await openAt(vendor.url, "sk-wrong-0000000000000000");
    const account = await rich(at);
    const response = await create(at, account, video("a fox"));
    const text = await response.text();
    expect(response.status).toBe(503);
    expect(text).toContain("provider_unavailable");
    expect(text).not.toContain("API-key");
    expect(await at.balance(account)).toEqual(untouched);
    await at.close();
  });

  test("at a vendor where the operator owes money goes to the next, and nobody is told of the debt", async () => {
    const poor = await openDashScopeDouble({ key });
    const debt = {
      code: "Arrearage",
      message: "make sure your account is in good standing",
      request_id: "1",
    };
    const at = await openTestGateway({
      clock,
      config: `
upstreams:
  poor: { protocol: dashscope, url: "${poor.url}", key: "${key}" }
  solvent: { protocol: dashscope, url: "${vendor.url}", key: "${key}" }
operations: { video.synthesis.create: { via: [poor, solvent] } }`,
    });
    const account = await rich(at);
    poor.answerNext(json(400, debt));
    const { output } = await createTask(at, account, video("a fox"));
    await reaches(account, output.task_id, "SUCCEEDED", at);
    expect(poor.tasks()).toEqual([]);
    expect(await at.balance(account)).toEqual({ balance: richMicros - videoMicros, held: 0 });
    await at.close();

    const alone = await openAt(poor.url);
    const caller = await rich(alone);
    poor.answerNext(json(400, debt));
    const response = await create(alone, caller, video("a fox"));
    const text = await response.text();
    expect([response.status, text.includes("provider_unavailable")]).toEqual([503, true]);
    expect(text).not.toContain("standing");
    expect(await alone.balance(caller)).toEqual(untouched);
    await alone.close();
    await poor.close();
  });

  test("that is answered with the id of another's task is in doubt, and shows nothing of that task", async () => {
    const [owner, other] = [await rich(), await rich()];
    const first = await createTask(gateway, owner, video("a secret fox"));
    const id = vendorId();
    for (const state of ["PENDING", "SUCCEEDED"] as const) {
      vendor.answerNext(json(200, { request_id: "1", output: { task_id: id, task_status: state } }));
      const once = { "idempotency-key": `replayed-${state}` };
      const response = await create(gateway, other, video("a fox"), once);
      expect([state, response.status]).toEqual([state, 502]);
      const again = await create(gateway, other, video("a fox"), once);
      expect([again.status, await again.json()]).toMatchObject([409, { error: { code: "outcome_unknown" } }]);
      vendor.move(id, "SUCCEEDED");
      await reaches(owner, first.output.task_id, "SUCCEEDED");
    }
    expect(await gateway.balance(owner)).toEqual({ balance: richMicros - videoMicros, held: 0 });
    expect(await gateway.balance(other)).toEqual({ balance: richMicros, held: 2 * videoMicros });
    expect(gateway.logged.join("\n")).toContain("the id of another task");
  });

  test("that is answered by a redirect follows it nowhere", async () => {
    const account = await rich();
    vendor.answerNext({ kind: "redirect", status: 307, location: `${attacker.url}${createPath}` });
    expect((await create(gateway, account, video("a fox"))).status).toBe(502);
    expect([attacker.connections(), attacker.bytes()]).toEqual([0, 0]);
  });

  test("of which nobody knows whether it succeeded keeps its hold, and is not sent again", async () => {
    for (const lost of [
      { kind: "hang", afterWork: true },
      { kind: "reset", afterWork: true },
      { kind: "truncated" },
      { kind: "not-json", body: "<html>", contentType: "text/html" },
      {
        kind: "not-json",
        body: `{"output":{"task_id":"1"},"for":"${key}"}`,
        contentType: "application/json",
      },
    ] as const satisfies readonly ScriptedAnswer[]) {
      const account = await rich();
      const before = vendor.requests.length;
      vendor.answerNext(lost);
      const response = await create(gateway, account, video("a fox"), { "idempotency-key": "once" });
      expect([lost.kind, response.status]).toEqual([lost.kind, 502]);
      expect([lost.kind, await gateway.balance(account)]).toEqual([
        lost.kind,
        { balance: richMicros, held: videoMicros },
      ]);
      // The repetition is told just that.
      const again = await create(gateway, account, video("a fox"), { "idempotency-key": "once" });
      expect([lost.kind, again.status]).toEqual([lost.kind, 409]);
      expect(await again.json()).toMatchObject({ error: { code: "outcome_unknown" } });
      expect(vendor.requests.slice(before).filter(({ method }) => method === "POST")).toHaveLength(1);
    }
  });
});

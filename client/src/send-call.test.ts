import { afterEach, describe, expect, test } from "bun:test";
import { TollgateError } from "./errors.ts";
import { readWhole, sendCall } from "./send-call.ts";
import {
  billedGet,
  billedPost,
  freeGet,
  openScriptedGateway,
  type Script,
  type Scripted,
  type ScriptedGateway,
} from "../scripted-gateway.ts";
import type { OutgoingCall } from "./transport.ts";

let gateway: ScriptedGateway;
afterEach(() => gateway.close());

const run = async (script: Script, call: OutgoingCall): Promise<TollgateError | "answered"> => {
  gateway = await openScriptedGateway(script);
  try {
    await sendCall(call, gateway.transport, readWhole);
    return "answered";
  } catch (error) {
    if (!(error instanceof TollgateError)) throw error;
    return error;
  }
};

const refused = (status: number, code: string, more: object = {}): Scripted => ({
  status,
  body: { error: { code, message: code, ...more }, request_id: "req_1" },
});
const receipt = (status: string, charged: number, outcome = "unknown") => ({
  request_id: "req_1",
  status,
  outcome,
  charged_micros_usd: charged,
});
/** The books know of no such call, so many times. */
const unheard = (times: number): undefined[] => Array.from({ length: times }, () => undefined);
const fine: Scripted = { status: 200, body: { ok: true }, headers: { "x-tollgate-cost-micros-usd": "5" } };

describe("what must change before it is asked again is never sent twice", () => {
  const never: readonly (readonly [number, string, TollgateError["kind"]])[] = [
    [400, "invalid_parameters", "parameters"],
    [401, "invalid_api_key", "credentials"],
    [402, "insufficient_balance", "budget"],
    [402, "estimated_price_exceeds_max_price", "budget"],
    [403, "link_required", "forbidden"],
    [403, "approval_required", "forbidden"],
    [404, "unknown_endpoint", "parameters"],
    [413, "payload_too_large", "parameters"],
    [415, "unsupported_media_type", "parameters"],
    [422, "unprocessable", "parameters"],
    [409, "idempotency_key_reused", "conflict"],
    [500, "unsupported_uri", "unavailable"],
    [503, "billing_config_invalid", "unavailable"],
  ];
  for (const [status, code, kind] of never) {
    test(`${status} ${code}`, async () => {
      for (const call of [billedPost("k"), billedGet, freeGet]) {
        const error = await run({ answers: [refused(status, code)] }, call);
        expect(error).toMatchObject({ kind, code, status, moneyMoved: "no", attempts: 1 });
        expect(gateway.calls).toHaveLength(1);
        expect(gateway.waitsMs).toEqual([]);
        await gateway.close();
      }
    });
  }

  test("503 that says it is not retryable", async () => {
    const error = await run(
      { answers: [refused(503, "provider_unavailable", { retryable: false })] },
      freeGet,
    );
    expect(error).toMatchObject({ kind: "unavailable", attempts: 1 });
  });

  test("429 that says it is not to be sent again, such as of a vendor's account without credit", async () => {
    const empty: Scripted = {
      status: 429,
      body: { error: { code: "upstream_rate_limit", message: "busy" } },
      headers: { "retry-after": "60", "x-should-retry": "false" },
    };
    for (const call of [billedPost("k"), billedGet, freeGet]) {
      const error = await run({ answers: [empty] }, call);
      expect(error).toMatchObject({
        kind: "rate_limit",
        moneyMoved: "no",
        attempts: 1,
        retryAfterSeconds: 60,
      });
      expect(gateway.waitsMs).toEqual([]);
      await gateway.close();
    }
  });
});

describe("a limit is waited for", () => {
  const busy: Scripted = {
    ...(refused(429, "rate_limit_exceeded") as object),
    status: 429,
    headers: { "retry-after": "2" },
  };

  test("Retry-After first, then doubling, with the same key each time", async () => {
    expect(await run({ answers: [busy, busy, busy, fine] }, billedPost("one"))).toBe("answered");
    expect(gateway.waitsMs).toEqual([2_000, 4_000, 8_000]);
    expect(gateway.calls.map((call) => call.idempotencyKey)).toEqual(["one", "one", "one", "one"]);
    expect(new Set(gateway.calls.map((call) => call.body)).size).toBe(1);
    expect(gateway.lookUps).toEqual([]);
  });

  test("jitter stays within a quarter and never below Retry-After", async () => {
    for (const [random, expected] of [
      [() => 0, [2_000, 3_000, 6_000]],
      [() => 0.999_999, [2_500, 5_000, 10_000]],
    ] as const) {
      await run({ answers: [busy, busy, busy, fine], random }, billedPost("one"));
      expect(gateway.waitsMs).toEqual([...expected]);
      await gateway.close();
    }
  });

  test("no delay of ours is longer than thirty seconds", async () => {
    const slow: Scripted = { status: 429, body: {}, headers: { "retry-after": "20" } };
    const error = await run({ answers: [slow], random: () => 0.999_999 }, freeGet);
    expect(error).toMatchObject({ kind: "rate_limit", moneyMoved: "no", attempts: 5, retryAfterSeconds: 20 });
    expect(gateway.waitsMs).toEqual([25_000, 30_000, 30_000, 30_000]);
  });

  test("a wait the caller did not agree to is handed to the caller", async () => {
    const error = await run(
      { answers: [{ status: 429, body: {}, headers: { "retry-after": "3600" } }] },
      freeGet,
    );
    expect(error).toMatchObject({ kind: "rate_limit", retryAfterSeconds: 3600, attempts: 1 });
    expect(gateway.waitsMs).toEqual([]);
  });
});

describe("a transient failure", () => {
  const trouble: readonly Scripted[] = [
    "cut",
    "gone",
    refused(500, "internal"),
    refused(502, "provider_request_failed"),
    refused(503, "billing_dependency_timeout", { retryable: true }),
  ];
  const nameOf = (answer: Scripted): string =>
    typeof answer === "string" ? `connection ${answer}` : String(answer.status);

  for (const answer of trouble) {
    test(`of a free call is repeated: ${nameOf(answer)}`, async () => {
      expect(await run({ answers: [answer, answer, fine] }, freeGet)).toBe("answered");
      expect(gateway.waitsMs).toEqual([500, 1_000]);
      expect(gateway.lookUps).toEqual([]);
    });

    test(`of a billed call is repeated under its key only when the books know of no such call: ${nameOf(answer)}`, async () => {
      expect(await run({ answers: [answer, fine] }, billedPost("mine"))).toBe("answered");
      expect(gateway.calls.map((call) => call.idempotencyKey)).toEqual(["mine", "mine"]);
      expect(gateway.lookUps.map((asked) => asked.path)).toEqual(["/v1/requests?idempotency_key=mine"]);
    });

    test(`of a billed call that was charged is never repeated: ${nameOf(answer)}`, async () => {
      const error = await run({ answers: [answer], receipts: [receipt("settled", 7)] }, billedPost("mine"));
      expect(error).toMatchObject({
        kind: "answer_lost",
        moneyMoved: "yes",
        chargedMicrosUsd: 7,
        requestId: "req_1",
        idempotencyKey: "mine",
      });
      expect(gateway.calls).toHaveLength(1);
    });

    test(`of a billed call that ended unpaid is reported, not repeated: ${nameOf(answer)}`, async () => {
      const error = await run({ answers: [answer], receipts: [receipt("released", 0)] }, billedPost("mine"));
      expect(error).toMatchObject({ moneyMoved: "no", chargedMicrosUsd: 0 });
      expect(gateway.calls).toHaveLength(1);
    });
  }

  test("of a billed call that succeeded for nothing, as under a free plan, is told as one that was made", async () => {
    const free = receipt("settled", 0, "succeeded");
    for (const call of [billedPost("mine"), billedGet]) {
      const error = await run({ answers: ["cut"], receipts: [free] }, call);
      expect(error).toMatchObject({
        kind: "answer_lost",
        moneyMoved: "no",
        chargedMicrosUsd: 0,
        attempts: 1,
      });
      expect(String(error)).toContain("nothing was charged");
      await gateway.close();
    }
    const late = await run({ answers: ["gone"], receipts: [...unheard(5), free] }, billedPost("mine"));
    expect(late).toMatchObject({ kind: "answer_lost", moneyMoved: "no", chargedMicrosUsd: 0, attempts: 5 });
  });

  test("of a billed call that still runs is waited for", async () => {
    const receipts = [receipt("dispatched", 0), receipt("dispatched", 0), receipt("settled", 9)];
    const error = await run({ answers: ["cut"], receipts }, billedPost("mine"));
    expect(error).toMatchObject({ kind: "answer_lost", moneyMoved: "yes", chargedMicrosUsd: 9 });
    expect(gateway.lookUps).toHaveLength(3);
    expect(gateway.waitsMs).toEqual([500, 1_000]);
  });

  test("of a billed call that runs on and on is reported as unknown, not as unpaid", async () => {
    const error = await run({ answers: ["cut"], receipts: [receipt("dispatched", 0)] }, billedPost("mine"));
    expect(error).toMatchObject({ moneyMoved: "unknown", chargedMicrosUsd: undefined, attempts: 1 });
    expect(gateway.lookUps).toHaveLength(30);
  });

  test("stays in doubt when a later attempt is refused for longer than the caller waits", async () => {
    const busy: Scripted = { status: 429, body: {}, headers: { "retry-after": "3600" } };
    const error = await run({ answers: ["gone", busy], receipts: [undefined] }, billedPost("k"));
    expect(error).toMatchObject({ kind: "rate_limit", moneyMoved: "unknown", attempts: 2 });
  });

  test("of a create that brings the same answer again is repeated although it was made", async () => {
    const create = { ...billedPost("task"), repeatsAnswer: true };
    const answers: Scripted[] = ["cut", fine];
    const free = receipt("settled", 0, "succeeded");
    for (const made of [receipt("settled", 3), free, receipt("dispatched", 0)]) {
      expect(await run({ answers, receipts: [made] }, create)).toBe("answered");
      expect(gateway.calls.map((call) => call.idempotencyKey)).toEqual(["task", "task"]);
      await gateway.close();
    }
  });

  test("of a billed GET without a trace is not repeated, and is reported as unknown", async () => {
    const error = await run({ answers: ["gone"] }, billedGet);
    expect(error).toMatchObject({ kind: "connection", moneyMoved: "unknown", attempts: 1 });
    expect(gateway.calls).toHaveLength(1);
  });

  test("that kept the request from leaving is repeated, and costs nothing for sure", async () => {
    for (const call of [billedPost("k"), billedGet, freeGet]) {
      gateway = await openScriptedGateway({ answers: [] });
      await gateway.close();
      const { transport } = gateway;
      const failed = sendCall(call, transport, readWhole);
      expect(await failed.catch((error: unknown) => error)).toMatchObject({
        kind: "connection",
        moneyMoved: "no",
        chargedMicrosUsd: 0,
        attempts: 5,
      });
      expect(gateway.waitsMs).toEqual([500, 1_000, 2_000, 4_000]);
    }
  });

  test("that never ends is given up after so many attempts, with a last look into the books", async () => {
    const nothing = undefined;
    for (const [last, expected] of [
      [receipt("settled", 8), { kind: "answer_lost", moneyMoved: "yes", chargedMicrosUsd: 8 }],
      [nothing, { kind: "connection", moneyMoved: "no", chargedMicrosUsd: 0 }],
      ["gone", { kind: "connection", moneyMoved: "unknown", chargedMicrosUsd: undefined }],
    ] as const) {
      const receipts = [...unheard(5), last];
      const error = await run({ answers: ["gone"], receipts }, billedPost("k"));
      expect(error).toMatchObject({ ...expected, attempts: 5 });
      expect(gateway.calls).toHaveLength(5);
      expect(new Set(gateway.calls.map((call) => call.idempotencyKey))).toEqual(new Set(["k"]));
      await gateway.close();
    }
  });

  test("of a billed call is not repeated while the books cannot be asked", async () => {
    const error = await run({ answers: ["gone"], receipts: ["gone"] }, billedPost("k"));
    expect(error).toMatchObject({ kind: "connection", moneyMoved: "unknown", attempts: 1 });
    expect(gateway.calls).toHaveLength(1);
    expect(gateway.lookUps).toHaveLength(5);
  });

  test("counts an attempt without an answer in time as one without an answer", async () => {
    gateway = await openScriptedGateway({ answers: ["never", fine] });
    const transport = { ...gateway.transport, attemptTimeoutMs: 1_000 };
    const sent = await sendCall(billedPost("k"), transport, readWhole);
    expect(sent.attempts).toBe(2);
  });

  test("of a billed GET is asked again when the books say that it failed, not when they are in doubt", async () => {
    const answers = [refused(502, "provider_request_failed"), fine];
    const failed = await run({ answers, receipts: [receipt("released", 0, "failed")] }, billedGet);
    expect(failed).toBe("answered");
    expect(gateway.lookUps.map((asked) => asked.path)).toEqual(["/v1/requests/req_1"]);
    await gateway.close();
    const doubtful = await run({ answers, receipts: [receipt("released", 0, "unknown")] }, billedGet);
    expect(doubtful).toMatchObject({ kind: "unavailable", moneyMoved: "no", attempts: 1 });
    expect(gateway.calls).toHaveLength(1);
  });
});

describe("a conflict", () => {
  const conflict = (code: string, original: object): Scripted => ({
    status: 409,
    body: { error: { code, message: code }, original, request_id: "req_2" },
  });

  test("with a call that still runs is waited for, then told from the books", async () => {
    const running = conflict("request_in_progress", {});
    const error = await run({ answers: [running], receipts: [receipt("settled", 4)] }, billedPost("k"));
    expect(error).toMatchObject({ kind: "answer_lost", chargedMicrosUsd: 4 });
    expect(gateway.calls).toHaveLength(1);
    await gateway.close();
    const free = receipt("settled", 0, "succeeded");
    const unpaid = await run({ answers: [running], receipts: [free] }, billedPost("k"));
    expect(unpaid).toMatchObject({ kind: "answer_lost", moneyMoved: "no", chargedMicrosUsd: 0 });
  });

  test("with our own earlier attempt says what that cost", async () => {
    const answers = [
      "cut",
      conflict("request_already_completed", { request_id: "req_1", charged_micros_usd: 6 }),
    ] as const;
    const error = await run({ answers }, billedPost("k"));
    expect(error).toMatchObject({ kind: "answer_lost", moneyMoved: "yes", chargedMicrosUsd: 6, attempts: 2 });
  });

  test("with our own earlier attempt at what is free says that it was made, and that nothing was charged", async () => {
    const free = { ...billedPost("k"), billed: false };
    const original = { request_id: "req_first", status: "settled", charged_micros_usd: 0 };
    const completed = conflict("request_already_completed", original);
    const lost = await run({ answers: ["cut", completed] }, free);
    expect(lost).toMatchObject({
      kind: "answer_lost",
      code: "request_already_completed",
      requestId: "req_first",
      moneyMoved: "no",
      chargedMicrosUsd: 0,
      attempts: 2,
    });
    expect(String(lost)).toContain("nothing was charged");
    await gateway.close();
    // Somebody else had the key.
    const taken = await run({ answers: [completed] }, free);
    expect(taken).toMatchObject({ kind: "conflict", requestId: "req_first", moneyMoved: "no", attempts: 1 });
  });

  test("with our own earlier attempt that failed is not taken for an answer that was lost", async () => {
    const original = { request_id: "req_first", status: "released", charged_micros_usd: 0 };
    const answers = ["cut", conflict("request_already_completed", original)] as const;
    const error = await run({ answers }, billedPost("k"));
    expect(error).toMatchObject({ kind: "conflict", requestId: "req_first", moneyMoved: "no", attempts: 2 });
  });

  test("about what is free costs nothing, also when its outcome is not known", async () => {
    const answers = [conflict("outcome_unknown", {})];
    const error = await run({ answers }, { ...billedPost("k"), billed: false });
    expect(error).toMatchObject({ kind: "conflict", moneyMoved: "no", chargedMicrosUsd: 0 });
    expect(gateway.lookUps).toEqual([]);
  });

  test("whose outcome nobody knows stays unknown, unless the books have closed it", async () => {
    const answers = [conflict("outcome_unknown", { charged_micros_usd: 0 })];
    const receipts = [receipt("unknown", 0)];
    const open = await run({ answers, receipts }, billedPost("k"));
    expect(open).toMatchObject({ kind: "conflict", moneyMoved: "unknown" });
    await gateway.close();
    const closed = await run({ answers, receipts: [receipt("released", 0)] }, billedPost("k"));
    expect(closed).toMatchObject({ kind: "conflict", moneyMoved: "no", chargedMicrosUsd: 0 });
  });
});

describe("a gateway whose certificate is not trusted", () => {
  const untrusted = () => Promise.reject(Object.assign(new Error("no"), { code: "CERT_HAS_EXPIRED" }));
  const send = (transport: ScriptedGateway["transport"]): Promise<unknown> =>
    sendCall(billedPost("k"), transport, readWhole).catch((error: unknown) => error);

  test("is asked once, and nothing is spent", async () => {
    gateway = await openScriptedGateway({ answers: [fine] });
    const error = await send({ ...gateway.transport, fetch: untrusted });
    expect(error).toMatchObject({
      kind: "connection",
      code: "connection",
      moneyMoved: "no",
      chargedMicrosUsd: 0,
      attempts: 1,
    });
    expect(String(error)).toContain("CERT_HAS_EXPIRED");
    expect(gateway.waitsMs).toEqual([]);
  });

  test("leaves an earlier attempt that was in doubt in doubt", async () => {
    gateway = await openScriptedGateway({ answers: ["gone"] });
    const { fetch } = gateway.transport;
    let sent = 0;
    const once: typeof fetch = (url, init) => {
      if (init.method === "POST") sent++;
      return sent < 2 ? fetch(url, init) : untrusted();
    };
    const error = await send({ ...gateway.transport, fetch: once });
    expect(error).toMatchObject({ kind: "connection", moneyMoved: "unknown", attempts: 2 });
  });
});

describe("a caller that stops", () => {
  const stopOn = async (signal: AbortSignal, answers: readonly Scripted[]): Promise<unknown> => {
    gateway = await openScriptedGateway({ answers });
    const stopped = sendCall({ ...billedPost("k"), signal }, gateway.transport, readWhole);
    return stopped.catch((error: unknown) => error);
  };

  test("in the middle of a call is let go at once, and told that money may have moved", async () => {
    const error = await stopOn(AbortSignal.timeout(30), ["never"]);
    expect(error).toMatchObject({ kind: "aborted", moneyMoved: "unknown", idempotencyKey: "k" });
  });

  test("before the call began has spent nothing", async () => {
    const error = await stopOn(AbortSignal.abort(), [fine]);
    expect(error).toMatchObject({ kind: "aborted", moneyMoved: "no" });
    expect(gateway.calls).toEqual([]);
  });

  test("while a limit is waited for has spent nothing", async () => {
    gateway = await openScriptedGateway({ answers: [refused(429, "rate_limit_exceeded")] });
    const stop = new AbortController();
    const sleep = (): Promise<void> => {
      stop.abort();
      return Promise.reject(new Error("stopped"));
    };
    const transport = { ...gateway.transport, clock: { ...gateway.transport.clock, sleep } };
    const stopped = sendCall({ ...billedPost("k"), signal: stop.signal }, transport, readWhole);
    expect(await stopped.catch((error: unknown) => error)).toMatchObject({
      kind: "aborted",
      moneyMoved: "no",
      attempts: 1,
    });
  });
});

test("an answer is read by its content type, never on hope", async () => {
  const html = { "content-type": "text/html" };
  const error = await run({ answers: [{ status: 404, body: "<h1>no</h1>", headers: html }] }, freeGet);
  expect(error).toMatchObject({ status: 404, body: "<h1>no</h1>", code: "parameters", moneyMoved: "no" });
});

describe("a refusal without a message that can be found", () => {
  const said = async (body: unknown, contentType = "application/json"): Promise<string> => {
    const headers = { "content-type": contentType };
    const error = await run({ answers: [{ status: 422, body, headers }] }, freeGet);
    await gateway.close();
    return error === "answered" ? error : error.message;
  };

  test("is told as it came", async () => {
    expect(await said({ detail: "top_n is too large" })).toBe(
      'The gateway answered 422: {"detail":"top_n is too large"}',
    );
    expect(await said("<h1>\u001b[2Jno\n\nway</h1>", "text/html")).toBe(
      "The gateway answered 422: <h1> [2Jno way</h1>",
    );
  });

  test("is told in short where it is long, and by its status where it is empty", async () => {
    const long = await said({ detail: "long ".repeat(1_000) });
    expect(long).toStartWith('The gateway answered 422: {"detail":"long long');
    expect(long).toEndWith("…");
    expect(long.length).toBeLessThan(600);
    expect(await said("", "text/plain")).toBe("The gateway answered 422.");
    expect(await said({})).toBe("The gateway answered 422.");
  });
});

// A call that may or may not have been made: the books are asked, and money is spent once.

import { describe, expect, test } from "bun:test";
import {
  billedGet,
  billedPost,
  fine,
  freeGet,
  receipt,
  refused,
  type Scripted,
} from "../scripted-gateway.ts";
import { useScriptedGateway } from "../use-scripted-gateway.ts";
import { readWhole, sendCall } from "./send-call.ts";

const scripted = useScriptedGateway();
const { run } = scripted;

/** The books know of no such call, so many times. */
const unheard = (times: number): undefined[] => Array.from({ length: times }, () => undefined);

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
      expect(scripted.gateway.waitsMs).toEqual([500, 1_000]);
      expect(scripted.gateway.lookUps).toEqual([]);
    });

    test(`of a billed call is repeated under its key only when the books know of no such call: ${nameOf(answer)}`, async () => {
      expect(await run({ answers: [answer, fine] }, billedPost("mine"))).toBe("answered");
      expect(scripted.gateway.calls.map((call) => call.idempotencyKey)).toEqual(["mine", "mine"]);
      expect(scripted.gateway.lookUps.map((asked) => asked.path)).toEqual([
        "/v1/requests?idempotency_key=mine",
      ]);
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
      expect(scripted.gateway.calls).toHaveLength(1);
    });

    test(`of a billed call that ended unpaid is reported, not repeated: ${nameOf(answer)}`, async () => {
      const error = await run({ answers: [answer], receipts: [receipt("released", 0)] }, billedPost("mine"));
      expect(error).toMatchObject({ moneyMoved: "no", chargedMicrosUsd: 0 });
      expect(scripted.gateway.calls).toHaveLength(1);
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
      await scripted.gateway.close();
    }
    const late = await run({ answers: ["gone"], receipts: [...unheard(5), free] }, billedPost("mine"));
    expect(late).toMatchObject({ kind: "answer_lost", moneyMoved: "no", chargedMicrosUsd: 0, attempts: 5 });
  });

  test("of a billed call that still runs is waited for", async () => {
    const receipts = [receipt("dispatched", 0), receipt("dispatched", 0), receipt("settled", 9)];
    const error = await run({ answers: ["cut"], receipts }, billedPost("mine"));
    expect(error).toMatchObject({ kind: "answer_lost", moneyMoved: "yes", chargedMicrosUsd: 9 });
    expect(scripted.gateway.lookUps).toHaveLength(3);
    expect(scripted.gateway.waitsMs).toEqual([500, 1_000]);
  });

  test("of a billed call that runs on and on is reported as unknown, not as unpaid", async () => {
    const error = await run({ answers: ["cut"], receipts: [receipt("dispatched", 0)] }, billedPost("mine"));
    expect(error).toMatchObject({ moneyMoved: "unknown", chargedMicrosUsd: undefined, attempts: 1 });
    expect(scripted.gateway.lookUps).toHaveLength(30);
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
      expect(scripted.gateway.calls.map((call) => call.idempotencyKey)).toEqual(["task", "task"]);
      await scripted.gateway.close();
    }
  });

  test("of a billed GET without a trace is not repeated, and is reported as unknown", async () => {
    const error = await run({ answers: ["gone"] }, billedGet);
    expect(error).toMatchObject({ kind: "connection", moneyMoved: "unknown", attempts: 1 });
    expect(scripted.gateway.calls).toHaveLength(1);
  });

  test("that kept the request from leaving is repeated, and costs nothing for sure", async () => {
    for (const call of [billedPost("k"), billedGet, freeGet]) {
      await scripted.open({ answers: [] });
      await scripted.gateway.close();
      const { transport } = scripted.gateway;
      const failed = sendCall(call, transport, readWhole);
      expect(await failed.catch((error: unknown) => error)).toMatchObject({
        kind: "connection",
        moneyMoved: "no",
        chargedMicrosUsd: 0,
        attempts: 5,
      });
      expect(scripted.gateway.waitsMs).toEqual([500, 1_000, 2_000, 4_000]);
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
      expect(scripted.gateway.calls).toHaveLength(5);
      expect(new Set(scripted.gateway.calls.map((call) => call.idempotencyKey))).toEqual(new Set(["k"]));
      await scripted.gateway.close();
    }
  });

  test("of a billed call is not repeated while the books cannot be asked", async () => {
    const error = await run({ answers: ["gone"], receipts: ["gone"] }, billedPost("k"));
    expect(error).toMatchObject({ kind: "connection", moneyMoved: "unknown", attempts: 1 });
    expect(scripted.gateway.calls).toHaveLength(1);
    expect(scripted.gateway.lookUps).toHaveLength(5);
  });

  test("counts an attempt without an answer in time as one without an answer", async () => {
    await scripted.open({ answers: ["never", fine] });
    const transport = { ...scripted.gateway.transport, attemptTimeoutMs: 1_000 };
    const sent = await sendCall(billedPost("k"), transport, readWhole);
    expect(sent.attempts).toBe(2);
  });

  test("of a billed GET is asked again when the books say that it failed, not when they are in doubt", async () => {
    const answers = [refused(502, "provider_request_failed"), fine];
    const failed = await run({ answers, receipts: [receipt("released", 0, "failed")] }, billedGet);
    expect(failed).toBe("answered");
    expect(scripted.gateway.lookUps.map((asked) => asked.path)).toEqual(["/v1/requests/req_1"]);
    await scripted.gateway.close();
    const doubtful = await run({ answers, receipts: [receipt("released", 0, "unknown")] }, billedGet);
    expect(doubtful).toMatchObject({ kind: "unavailable", moneyMoved: "no", attempts: 1 });
    expect(scripted.gateway.calls).toHaveLength(1);
  });
});

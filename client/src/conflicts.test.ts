// A call whose idempotency key was used before.

import { describe, expect, test } from "bun:test";
import { billedPost, receipt, type Scripted } from "../scripted-gateway.ts";
import { useScriptedGateway } from "../use-scripted-gateway.ts";

const scripted = useScriptedGateway();
const { run } = scripted;

describe("a conflict", () => {
  const conflict = (code: string, original: object): Scripted => ({
    status: 409,
    body: { error: { code, message: code }, original, request_id: "req_2" },
  });

  test("with a call that still runs is waited for, then told from the books", async () => {
    const running = conflict("request_in_progress", {});
    const error = await run({ answers: [running], receipts: [receipt("settled", 4)] }, billedPost("k"));
    expect(error).toMatchObject({ kind: "answer_lost", chargedMicrosUsd: 4 });
    expect(scripted.gateway.calls).toHaveLength(1);
    await scripted.gateway.close();
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
    await scripted.gateway.close();
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
    expect(scripted.gateway.lookUps).toEqual([]);
  });

  test("whose outcome nobody knows stays unknown, unless the books have closed it", async () => {
    const answers = [conflict("outcome_unknown", { charged_micros_usd: 0 })];
    const receipts = [receipt("unknown", 0)];
    const open = await run({ answers, receipts }, billedPost("k"));
    expect(open).toMatchObject({ kind: "conflict", moneyMoved: "unknown" });
    await scripted.gateway.close();
    const closed = await run({ answers, receipts: [receipt("released", 0)] }, billedPost("k"));
    expect(closed).toMatchObject({ kind: "conflict", moneyMoved: "no", chargedMicrosUsd: 0 });
  });
});

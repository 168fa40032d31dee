// Where several upstreams serve a model, a call that goes on with what one of them has kept goes to that one.

import { describe, expect, test } from "bun:test";
import type { TestAccount, TestGateway } from "../support/test-gateway.ts";
import { useRoutedCalls } from "./routed-calls.ts";
import { error, price, upstream } from "./two-upstreams.ts";

const { model, health, open, draw, meetAnew, gateway: inOrder } = await useRoutedCalls();

const path = "/v1/responses";
const asked = { model: "gpt-x", input: "Say it!?", max_output_tokens: 100 };
const byWeight = `
upstreams:
${upstream("oa-a", "openai", model.a.url)}
${upstream("oa-b", "openai", model.b.url)}
models:
  gpt-x: { ${price} }
  gpt-y: { via: [{ oa-b: gpt-x }], ${price} }
`;
/** All that the model can read is held for a call that goes on with anything. */
const rich = { creditUsd: "100" };
const drawn = { "oa-a": 0, "oa-b": 0.9 } as const;

async function ask(
  at: TestGateway,
  account: TestAccount,
  body: object,
): Promise<{ readonly upstreams: readonly string[]; readonly status: number; readonly id: string }> {
  const answer = await at.post(account, path, body);
  const text = await answer.text();
  const { attempts } = await at.receipt(account, answer);
  const id = text.match(/"id": ?"(resp[^"]+)"/)?.[1] ?? "";
  return { upstreams: attempts.map(({ upstream: name }) => name), status: answer.status, id };
}

describe("a call that goes on with an answer goes to who keeps it", () => {
  test.each([
    ["oa-a", "oa-b", false],
    ["oa-b", "oa-a", false],
    ["oa-a", "oa-b", true],
    ["oa-b", "oa-a", true],
  ] as const)("%s, though %s is drawn, streamed %p", async (keeper, other, stream) => {
    const at = await open(byWeight);
    const account = await at.openAccount(rich);
    draw([drawn[keeper]]);
    const first = await ask(at, account, { ...asked, stream });
    expect([first.status, first.upstreams]).toEqual([200, [keeper]]);
    for (let turn = 0; turn < 3; turn++) {
      draw([drawn[other]]);
      const next = await ask(at, account, { ...asked, stream, previous_response_id: first.id });
      expect([next.status, next.upstreams]).toEqual([200, [keeper]]);
    }
    draw([drawn[other]]);
    expect((await ask(at, account, asked)).upstreams).toEqual([other]);
    await at.close();
  });

  test("also while it rests, and nobody else is told what only that one can go on with", async () => {
    const account = await inOrder.openAccount(rich);
    // The doubles give the same ids, one as the other.
    const another = await inOrder.openAccount(rich);
    const { id } = await ask(inOrder, account, asked);
    for (let failures = 0; failures < 5; failures++) {
      model.a.answerNext(error(500));
      expect((await ask(inOrder, another, asked)).upstreams).toEqual(["oa-a", "oa-b"]);
    }
    expect(health.isResting("oa-a")).toBe(true);
    expect((await ask(inOrder, another, asked)).upstreams).toEqual(["oa-b"]);
    model.a.answerNext(error(503));
    const failed = await ask(inOrder, account, { ...asked, previous_response_id: id });
    expect([failed.status, failed.upstreams]).toEqual([503, ["oa-a"]]);
    const next = await ask(inOrder, account, { ...asked, previous_response_id: id });
    expect([next.status, next.upstreams]).toEqual([200, ["oa-a"]]);
    meetAnew();
  });

  test("and to any other where that one does not serve the model, which is its vendor's to refuse", async () => {
    const at = await open(byWeight);
    const account = await at.openAccount(rich);
    draw([drawn["oa-a"]]);
    const { id } = await ask(at, account, asked);
    const next = await ask(at, account, { ...asked, model: "gpt-y", previous_response_id: id });
    expect([next.status, next.upstreams]).toEqual([200, ["oa-b"]]);
    await at.close();
  });
});

test("one that goes on with what nobody got here goes wherever any other goes", async () => {
  const at = await open(byWeight);
  const account = await at.openAccount(rich);
  for (const [name, number] of Object.entries(drawn)) {
    draw([number]);
    const next = await ask(at, account, { ...asked, previous_response_id: "resp_of_old" });
    expect([next.status, next.upstreams]).toEqual([200, [name]]);
  }
  await at.close();
});

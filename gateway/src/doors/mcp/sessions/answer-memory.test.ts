import { describe, expect, test } from "bun:test";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { createAnswerMemory } from "./answer-memory.ts";

const mib = 1024 * 1024;

function open() {
  let nowMs = 0;
  let bought = 0;
  const memory = createAnswerMemory(() => nowMs);
  const buy = async (text = "x"): Promise<CallToolResult> => {
    bought++;
    return { content: [{ type: "text", text }] };
  };
  return { memory, buy, bought: () => bought, wait: (ms: number) => (nowMs += ms) };
}

test("a repetition within ten minutes gets the first answer, a later one is a new request", async () => {
  const { memory, buy, bought, wait } = open();
  const first = await memory.once("a", () => buy());
  wait(9 * 60_000);
  expect(await memory.once("a", () => buy())).toBe(first);
  wait(60_000);
  await memory.once("b", () => buy());
  await memory.once("a", () => buy());
  expect(bought()).toBe(3);
});

test("an answer is remembered from when it came, however long a person was asked before", async () => {
  const { memory, buy, bought, wait } = open();
  const { promise: decided, resolve: decide } = Promise.withResolvers<void>();
  const asking = memory.once("a", async () => {
    await decided;
    return buy();
  });
  wait(11 * 60_000);
  decide();
  const first = await asking;
  wait(9 * 60_000);
  expect(await memory.once("a", () => buy())).toBe(first);
  wait(60_000);
  await memory.once("a", () => buy());
  expect(bought()).toBe(2);
});

test("repetitions share one run, also while it goes on", async () => {
  const { memory, buy, bought } = open();
  const slowly = async (): Promise<CallToolResult> => {
    await Bun.sleep(10);
    return buy();
  };
  const all = await Promise.all(Array.from({ length: 5 }, () => memory.once("a", slowly)));
  expect(new Set(all).size).toBe(1);
  expect(bought()).toBe(1);
});

test("a failure is not remembered: whoever asks after it is answered anew", async () => {
  const { memory, buy, bought } = open();
  const failing = memory.once("a", () => Promise.reject(new Error("out of order")));
  const beside = memory.once("a", () => buy());
  const ends = await Promise.allSettled([failing, beside]);
  expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await memory.once("a", () => buy());
  expect(bought()).toBe(1);
});

describe("a refusal", () => {
  const error = (code: string) => ({ code, message: "", retryable: false, charged: "no" });
  const refused = { status: "refused", error: error("insufficient_balance") };
  const failed = { status: "failed", error: error("upstream_error") };
  const declined = { status: "refused", error: error("approval_declined") };
  const answer = (structuredContent: object): CallToolResult => ({
    content: [],
    structuredContent: { ...structuredContent },
  });

  test.each([
    ["of a use", refused],
    ["of every call of a batch", { results: [refused, refused] }],
    ["of a batch as a whole", { results: [], error: error("rate_limit_exceeded") }],
  ])("%s is shared while it runs, and not remembered", async (_, told) => {
    const { memory, buy, bought } = open();
    const refusing = memory.once("a", () => Promise.resolve(answer(told)));
    expect(await memory.once("a", () => buy())).toBe(await refusing);
    expect(bought()).toBe(0);
    await memory.once("a", () => buy());
    expect(bought()).toBe(1);
  });

  test.each([
    ["beside anything that was bought", { results: [refused, { status: "completed" }] }],
    ["beside anything that was begun and failed", { results: [refused, failed] }],
    ["by the person who was asked", declined],
  ])("%s is remembered", async (_, told) => {
    const { memory, buy, bought } = open();
    const first = await memory.once("a", () => Promise.resolve(answer(told)));
    expect(await memory.once("a", () => buy())).toBe(first);
    expect(bought()).toBe(0);
  });
});

test("what is remembered is bounded, and the oldest is forgotten first", async () => {
  const { memory, buy, bought } = open();
  for (let n = 0; n < 40; n++) await memory.once(`big ${n}`, () => buy("x".repeat(mib)));
  expect(bought()).toBe(40);
  await memory.once("big 39", () => buy());
  expect(bought()).toBe(40);
  await memory.once("big 0", () => buy());
  expect(bought()).toBe(41);
});

import { expect, test } from "bun:test";
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

test("what is remembered is bounded, and the oldest is forgotten first", async () => {
  const { memory, buy, bought } = open();
  for (let n = 0; n < 40; n++) await memory.once(`big ${n}`, () => buy("x".repeat(mib)));
  expect(bought()).toBe(40);
  await memory.once("big 39", () => buy());
  expect(bought()).toBe(40);
  await memory.once("big 0", () => buy());
  expect(bought()).toBe(41);
});

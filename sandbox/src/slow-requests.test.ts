// One process plays all vendors, for everybody who tries the gateway: no request may keep the others waiting. Four times as
// much takes about four times as long; what grows with the square takes sixteen times as long.

import { expect, test } from "bun:test";
import { rank } from "./ranking.ts";
import { createTestSandbox } from "./test-sandbox.ts";
import { readMessages } from "./vendors/anthropic/messages.ts";

const repeat = <Item>(count: number, item: (at: number) => Item): readonly Item[] =>
  Array.from({ length: count }, (_, at) => item(at));

const response = (input: readonly object[]) => ({ model: "any", input });
const user = (content: unknown) => ({ role: "user", content });
const chat = (messages: readonly object[], more: object = {}) => ({ model: "any", messages, ...more });

const requests: Readonly<Record<string, readonly [path: string, count: number, (count: number) => object]>> =
  {
    "items of a response": [
      "/openai/responses",
      10_000,
      (count) => response(repeat(count, () => ({ role: "user", content: "a" }))),
    ],
    "calls in a response": [
      "/openai/responses",
      10_000,
      (count) => response(repeat(count, () => ({ type: "function_call", name: "f", arguments: "{}" }))),
    ],
    "tools that a long text does not name": [
      "/openai/chat/completions",
      2000,
      (count) =>
        chat([user("f".repeat(100 * count))], {
          tools: repeat(count, (at) => ({ type: "function", function: { name: `g${at}`, parameters: {} } })),
        }),
    ],
  };

test.each(Object.entries(requests))(
  "%s take time by their number",
  async (_name, [path, count, bodyOf]) => {
    const { ask } = createTestSandbox();
    const leastMs = async (body: object): Promise<number> => {
      const tries: number[] = [];
      for (let n = 0; n < 3; n++) {
        const startedMs = performance.now();
        const { status } = await ask("POST", path, { body });
        tries.push(performance.now() - startedMs);
        expect(status).toBe(200);
      }
      return Math.min(...tries);
    };
    const once = await leastMs(bodyOf(count));
    expect(await leastMs(bodyOf(4 * count))).toBeLessThan(11 * once + 50);
  },
  120_000,
);

test("results in the opposite order of their calls take time by their number", () => {
  const leastMs = (count: number): number => {
    const uses = repeat(count, (at) => ({ type: "tool_use", id: `t${at}`, name: "f", input: {} }));
    const results = uses
      .map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "x" }))
      .toReversed();
    const messages = [{ role: "assistant", content: uses }, user(results)];
    const tries = repeat(3, () => {
      const startedMs = performance.now();
      expect(readMessages(messages, "any")).not.toHaveProperty("refused");
      return performance.now() - startedMs;
    });
    return Math.min(...tries);
  };
  const once = leastMs(4000);
  expect(leastMs(16_000)).toBeLessThan(11 * once + 50);
});

test("words that are all alike take not much longer to rank by than others", () => {
  const rankMs = (word: (at: number) => string): number => {
    const startedMs = performance.now();
    rank(repeat(3000, word).join(" "), [repeat(3000, (at) => `${word(at)}s`).join(" ")]);
    return performance.now() - startedMs;
  };
  const spread = (at: number): string => (at * 2_654_435_761).toString(36);
  const others = Math.min(rankMs(spread), rankMs(spread));
  expect(rankMs((at) => `abcdefgh${at.toString(36)}`)).toBeLessThan(10 * others + 100);
});

test("a prompt is marked in as many places as the vendor takes", async () => {
  const { ask } = createTestSandbox();
  const marked = (count: number) =>
    chat([user(repeat(count, () => ({ type: "text", text: "a", cache_control: { type: "ephemeral" } })))], {
      max_tokens: 10,
    });
  expect((await ask("POST", "/anthropic/messages", { body: marked(4) })).status).toBe(200);
  const { status, text } = await ask("POST", "/anthropic/messages", { body: marked(5) });
  expect([status, text.includes("A maximum of 4 blocks with cache_control")]).toEqual([400, true]);
});

// Items of a streamed response that come whole, without a piece before them: they were delivered, so they are paid for
// although their vendor never comes to say what they used.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { begunStream } from "../support/died-stream.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";

let answer: () => Response;
let vendor: Bun.Server<undefined>;
let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  vendor = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => answer() });
  gateway = await openTestGateway({
    config: `
sandbox: off
upstreams:
  openai: { protocol: openai, url: "${vendor.url.origin}", key: "sk-operator-openai-000000000000", on_caller_left: abort }
models:
  caller-of-tools: { via: [openai], price: { input: 2, output: 10 }, max_output_tokens: 10000 }
`,
  });
  account = await gateway.openAccount({ tier: "enterprise", creditUsd: "1000" });
});

afterAll(async () => {
  expect(await gateway.audit()).toEqual([]);
  await gateway.close();
  await vendor.stop(true);
});

const path = "/v1/responses";
const body = { model: "caller-of-tools", input: "Write it down.", stream: true };

const written = "word".repeat(1_000);
const callOf = (text: string) => ({ id: "fc_1", type: "function_call", name: "write", arguments: text });
const messageOf = (text: string) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [] }],
});
const sealed = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAAA" };
const found = { id: "fs_1", type: "file_search_call", queries: ["it"], results: [{ text: written }] };

/** Items in which the model said nothing, and nothing was done for it. */
const nothings: readonly [string, object][] = [
  ["an empty message", { id: "msg_1", type: "message", role: "assistant", content: [] }],
  ["a message without a letter", messageOf("")],
  [
    "tools that could not be listed",
    { id: "mcpl_1", type: "mcp_list_tools", tools: [], error: "unreachable" },
  ],
  [
    "tools that were listed",
    { id: "mcpl_1", type: "mcp_list_tools", tools: [{ examples: [{ text: "word" }] }] },
  ],
  ["a search that failed", { id: "ws_1", type: "web_search_call", status: "failed" }],
  ["a thought that is neither told nor sealed", { ...sealed, encrypted_content: null }],
  [
    "an image that did not come",
    { id: "ig_1", type: "image_generation_call", status: "failed", result: null },
  ],
];

const begun = { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } };
const done = (item: object, at = 0) => ({ type: "response.output_item.done", output_index: at, item });
const pieces = (count: number, at = 0, of = "output_text") =>
  Array.from({ length: count }, () => ({ type: `response.${of}.delta`, output_index: at, delta: "word" }));

/** The vendor says these, and no more. */
const receiptAfter = async (...events: readonly object[]) => {
  const said = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  answer = () => new Response(said, { headers: { "content-type": "text/event-stream" } });
  const response = await gateway.post(account, path, body);
  await response.text();
  return gateway.receipt(account, response);
};

describe("a streamed response that is cut", () => {
  test.each([
    ["a whole call", [done(callOf(written))], 1_000],
    ["a whole message", [done(messageOf(written))], 1_000],
    ["two of them", [done(callOf(written)), done(messageOf(written), 1)], 2_000],
    ["two of them that bear one number", [done(callOf(written)), done(messageOf(written))], 2_000],
    ["a text whose end alone was told", [{ type: "response.output_text.done", text: written }], 1_000],
    ["a whole message and pieces of the next", [done(messageOf(written)), ...pieces(500, 1)], 1_500],
    ["pieces and the message that they came to", [...pieces(1_000), done(messageOf(written))], 1_000],
    [
      "pieces of a message, its text and itself, and a whole call",
      [
        ...pieces(1_000),
        { type: "response.output_text.done", text: written },
        { type: "response.content_part.done", part: { type: "output_text", text: written } },
        done(messageOf(written)),
        done(callOf(written), 1),
      ],
      2_000,
    ],
    [
      "pieces of two messages that came at once",
      [
        ...pieces(500),
        ...pieces(400, 1),
        done(messageOf("word".repeat(500))),
        ...pieces(100, 1),
        done(messageOf("word".repeat(500)), 1),
      ],
      1_000,
    ],
    [
      "pieces of a thought that its end does not repeat, and a whole call",
      [...pieces(1_000, 0, "reasoning_text"), done(sealed), done(callOf(written), 1)],
      2_000,
    ],
    [
      "pieces of a thought and of a message at once, a whole call, and the message",
      [
        ...pieces(300, 0, "reasoning_text"),
        ...pieces(400, 1),
        ...pieces(200, 0, "reasoning_text"),
        ...pieces(100, 1),
        done(sealed),
        done(callOf(written), 2),
        done(messageOf("word".repeat(600)), 1),
      ],
      2_100,
    ],
    [
      "pieces of items that all bear one number, and their ends",
      [
        ...pieces(500, 0, "reasoning_text"),
        ...pieces(500),
        done(sealed),
        done(messageOf("word".repeat(500))),
      ],
      1_000,
    ],
  ])("after %s costs what was said, once", async (_what, events, output) => {
    const receipt = await receiptAfter(begun, ...events);
    expect(receipt).toMatchObject({
      outcome: "failed",
      usage: { output_tokens: output },
      usage_source: "estimated",
    });
    const { input_tokens: input = 0 } = receipt.usage;
    expect(input).toBeGreaterThan(0);
    expect(receipt.charged_micros_usd).toBe(input * 2 + output * 10);
  });

  test.each([
    ["a thought that is sealed", sealed],
    ["what a search found", found],
  ])("after %s costs what it was asked with", async (_what, item) => {
    const receipt = await receiptAfter(begun, done(item));
    expect(receipt).toMatchObject({ outcome: "failed", usage_source: "estimated" });
    expect(receipt.charged_micros_usd).toBe((receipt.usage["input_tokens"] ?? 0) * 2);
    expect(receipt.charged_micros_usd).toBeGreaterThan(0);
  });

  test("before it said anything costs nothing", async () => {
    const empty = { type: "response.output_text.done", text: "" };
    expect(await receiptAfter(begun, empty)).toMatchObject({ outcome: "failed", charged_micros_usd: 0 });
  });

  test.each(nothings)("after %s costs nothing", async (_what, item) => {
    expect(await receiptAfter(begun, done(item))).toMatchObject({ outcome: "failed", charged_micros_usd: 0 });
  });
});

test.each(nothings)("a response that failed with %s in it costs nothing", async (_what, item) => {
  for (const usage of [null, { input_tokens: 40, output_tokens: 0 }])
    for (const before of [[], [done(item)]]) {
      const response = {
        id: "resp_1",
        status: "failed",
        error: { code: "server_error" },
        output: [item],
        usage,
      };
      expect(await receiptAfter(begun, ...before, { type: "response.failed", response })).toMatchObject({
        outcome: "failed",
        charged_micros_usd: 0,
      });
    }
});

test("a response whose last event alone holds its items, and no figures, costs what they say", async () => {
  const response = { id: "resp_1", status: "completed", output: [messageOf(written), callOf(written)] };
  for (const events of [[], [done(messageOf(written))], [done(messageOf(written)), done(callOf(written), 1)]])
    expect(await receiptAfter(begun, ...events, { type: "response.completed", response })).toMatchObject({
      outcome: "succeeded",
      usage: { output_tokens: 2_000 },
    });
});

test("a caller who takes a whole item and leaves has paid for it", async () => {
  answer = () => begunStream(begun, done(callOf(written)));
  const leaving = new AbortController();
  const response = await gateway.call(account, path, {
    method: "POST",
    body: JSON.stringify(body),
    signal: leaving.signal,
  });
  const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader();
  let taken = "";
  while (!taken.includes(written)) taken += new TextDecoder().decode((await reader?.read())?.value);
  leaving.abort();
  await until(async () => (await gateway.balance(account)).held === 0);
  expect(await gateway.receipt(account, response)).toMatchObject({
    status: "settled",
    usage: { output_tokens: 1_000 },
  });
});

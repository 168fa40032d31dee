// Agents add instructions to a conversation as it goes on: Claude Code as the system among its messages, others as a developer.
// Moved to the beginning they would change the prompt from there on, and its cache would never be read again.

import { afterAll, expect, test } from "bun:test";
import { testDispatch, testModel, testUpstream } from "../../gateway/src/operation/test-upstream.ts";
import { openai } from "../../gateway/src/upstreams/protocols/openai.ts";
import { openAnthropicDouble } from "../doubles/anthropic.ts";
import { openGeminiDouble } from "../doubles/gemini.ts";
import type { ModelDouble } from "../doubles/model-book.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import { sentTo } from "../support/model-gateway.ts";
import { openSandbox } from "../support/sandbox.ts";
import { openTestGateway } from "../support/test-gateway.ts";

const key = "an-operator-key-of-tests";
const claudes = ["claude-opus-4-8", "claude-sonnet-5"];
const anthropic = await openAnthropicDouble({ key, models: claudes });
const servers = await openOpenAiDouble({ key, models: ["qwen-own", "gpt-x"] });
const gemini = await openGeminiDouble({ key, models: ["gemini-x"] });
const price =
  "{ price: { input: 1, cache_read: 0.1, cache_write: 1.25, output: 2 }, max_output_tokens: 100 }";
const gateway = await openTestGateway({
  config: `
sandbox: off
upstreams:
  anthropic: { protocol: anthropic, url: "${anthropic.url}", key: ${key}, models: [claude-opus-4-8, claude-sonnet-5] }
  servers: { protocol: openai, url: "${servers.url}", key: ${key}, models: [qwen-own] }
  gemini: { protocol: gemini, url: "${gemini.url}", key: ${key}, models: [gemini-x] }
models: { claude-opus-4-8: ${price}, claude-sonnet-5: ${price}, qwen-own: ${price}, gemini-x: ${price} }
`,
});
afterAll(async () => {
  expect(await gateway.audit()).toEqual([]);
  await gateway.close();
  await Promise.all([anthropic, servers, gemini].map((double) => double.close()));
});

const tools = [{ type: "function", function: { name: "look_up", parameters: { type: "object" } } }];
const called = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "call_1", type: "function", function: { name: "look_up", arguments: "{}" } }],
};
const asked = [
  { role: "system", content: "You are helpful." },
  { role: "user", content: "How is it in Rome?" },
  { role: "developer", content: "Ten turns are left." },
];
const goesOn = [
  ...asked,
  called,
  { role: "developer", content: "Nine turns are left." },
  { role: "tool", tool_call_id: "call_1", content: "Sunny." },
  { role: "developer", content: "Be brief." },
];

/** The same conversation as Claude Code says it. */
const claudeCodes = {
  max_tokens: 64,
  system: "You are helpful.",
  tools: [{ name: "look_up", input_schema: { type: "object" } }],
  messages: [
    { role: "user", content: "How is it in Rome?" },
    { role: "system", content: "Ten turns are left." },
    { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look_up", input: {} }] },
    { role: "system", content: "Nine turns are left." },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "Sunny." }] },
    { role: "system", content: [{ type: "text", text: "Be brief." }] },
  ],
};

/** What the vendor reads of it, whole and streamed alike. */
async function heard(double: ModelDouble, path: string, body: object): Promise<Record<string, unknown>> {
  const account = await gateway.openAccount();
  for (const stream of [false, true]) {
    const response = await gateway.post(account, path, { ...body, stream });
    expect([response.status, response.ok ? "" : await response.text()]).toEqual([200, ""]);
    await response.text();
  }
  return sentTo(double);
}

const ofUser = (...content: object[]) => ({ role: "user", content });

test("Claude is told added instructions behind the user's turn, and its prompt only grows", async () => {
  const model = "claude-opus-4-8";
  const first = await heard(anthropic, "/v1/chat/completions", { model, tools, messages: asked });
  const second = await heard(anthropic, "/v1/chat/completions", { model, tools, messages: goesOn });
  const told = [
    ofUser({ type: "text", text: "How is it in Rome?" }),
    { role: "system", content: [{ type: "text", text: "Ten turns are left." }] },
  ];
  expect(first).toMatchObject({ system: "You are helpful.", messages: told });
  expect(second).toMatchObject({
    system: "You are helpful.",
    messages: [
      ...told,
      { role: "assistant" },
      ofUser({ type: "tool_result", content: "Sunny." }),
      { role: "system", content: [{ text: "Nine turns are left." }, { text: "Be brief." }] },
    ],
  });
});

test("who adds instructions turn by turn pays for each turn of Claude's prompt once", async () => {
  const sandbox = await openSandbox();
  const cached = await openTestGateway({
    sandbox,
    config: `
upstreams: { claude: { protocol: anthropic, url: "${sandbox.url}/anthropic", key: sandbox, models: [claude-opus-5] } }
models: { claude-opus-5: ${price} }
`,
  });
  try {
    const account = await cached.openAccount();
    const usageOf = async (messages: object[]) => {
      const body = { model: "claude-opus-5", max_tokens: 50, messages };
      const response = await cached.post(account, "/v1/chat/completions", body);
      expect([response.status, response.ok ? "" : await response.text()]).toEqual([200, ""]);
      await response.text();
      return (await cached.receipt(account, response)).usage;
    };
    const rules = "Rules of the house, and how to look things up in it. ".repeat(80);
    const turn = (question: string) => [
      { role: "user", content: `${question} ${rules}`, cache_control: { type: "ephemeral" } },
      { role: "developer", content: "Fewer turns are left." },
    ];
    const begun = [{ role: "system", content: rules }, ...turn("First.")];
    const first = await usageOf(begun);
    const second = await usageOf([...begun, { role: "assistant", content: "Yes." }, ...turn("Second.")]);
    expect(first?.["cache_write_tokens"]).toBeGreaterThan(1_600);
    expect(second?.["cache_read_tokens"]).toBe(first?.["cache_write_tokens"]);
    expect(await cached.audit()).toEqual([]);
  } finally {
    await cached.close();
    sandbox.stop();
  }
});

const instructions = ["You are helpful.", "Ten turns are left.", "Nine turns are left.", "Be brief."];

test.each([
  ["a Claude that refuses them elsewhere", anthropic, "claude-sonnet-5", "/v1/chat/completions"],
  ["a server whose template refuses them elsewhere", servers, "qwen-own", "/v1/messages"],
  ["Gemini, which has no other place for them", gemini, "gemini-x", "/v1/messages"],
] as const)("%s is told all instructions first", async (_, double, model, path) => {
  const said = path === "/v1/messages" ? claudeCodes : { tools, messages: goesOn };
  await heard(double, path, { model, ...said });
  expect(double.asked.at(-1)?.system.split(/\n+/)).toEqual(instructions);
  expect(double.asked.at(-1)?.turns.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
});

test("OpenAI itself is told Claude Code's in their place, behind the results of calls, and takes them so", async () => {
  const sent = bodyForOpenAiItself(claudeCodes);
  expect(JSON.parse(sent)).toMatchObject({
    messages: [
      { role: "system", content: "You are helpful." },
      { role: "user", content: "How is it in Rome?" },
      { role: "system", content: "Ten turns are left." },
      { role: "assistant", tool_calls: [{ id: "toolu_1" }] },
      { role: "tool", tool_call_id: "toolu_1", content: "Sunny." },
      { role: "system", content: "Nine turns are left." },
      { role: "system", content: "Be brief." },
    ],
  });
  const answer = await fetch(`${servers.url}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: sent,
  });
  expect([answer.status, answer.ok ? "" : await answer.text()]).toEqual([200, ""]);
});

/** Only the address says that a vendor is OpenAI, and no double can stand there. */
function bodyForOpenAiItself(body: object): string {
  const rawBody = Buffer.from(JSON.stringify(body));
  const request = openai.exchanges.chat?.request(
    testDispatch({
      upstream: testUpstream({ url: "https://api.openai.com/v1" }),
      service: { exchange: "chat", path: "", dialect: "anthropic" },
      input: { rawBody, body, params: {}, query: {}, rawQuery: "" },
      model: testModel("gpt-x"),
    }),
  );
  if (!request || "answer" in request) throw new Error("nothing is sent");
  return Buffer.from(request.body ?? "").toString();
}

test("a reminder of Claude Code's for one answer is told for that one alone", async () => {
  const clear_at = "next_user_message";
  const messages = [
    { role: "user", content: "How is it in Rome?" },
    { role: "system", clear_at, content: "Ten turns are left." },
    { role: "assistant", content: "Sunny." },
    { role: "user", content: "And in Oslo?" },
    { role: "system", clear_at, content: "Nine turns are left." },
  ];
  for (const [model, double] of [
    ["qwen-own", servers],
    ["gemini-x", gemini],
  ] as const) {
    await heard(double, "/v1/messages", { model, max_tokens: 64, messages });
    expect(double.asked.at(-1)).toMatchObject({
      system: "Nine turns are left.",
      turns: [{ text: "How is it in Rome?" }, { text: "Sunny." }, { text: "And in Oslo?" }],
    });
  }
});

test("a count of tokens is of the conversation as the model is told it", async () => {
  const path = "/v1/messages/count_tokens";
  const account = await gateway.openAccount();
  const spoken = [
    { role: "user", content: "How is it in Rome?" },
    { role: "system", content: "Ten turns are left." },
  ];
  for (const model of ["claude-opus-4-8", "qwen-own", "gemini-x"]) {
    const count = async (messages: object[]): Promise<number> => {
      const response = await gateway.post(account, path, { model, messages });
      expect(response.status).toBe(200);
      return ((await response.json()) as { input_tokens: number }).input_tokens;
    };
    expect(await count(spoken)).toBeGreaterThan(await count(spoken.slice(0, 1)));
  }
});

test("what an assistant began is gone on with by no other vendor's model, also behind an instruction", async () => {
  const messages = [
    { role: "user", content: "How is it in Rome?" },
    { role: "assistant", content: "It is" },
    { role: "system", content: "Be brief." },
  ];
  const body = { model: "qwen-own", max_tokens: 64, messages };
  const response = await gateway.post(await gateway.openAccount(), "/v1/messages", body);
  expect([response.status, await response.text()]).toEqual([
    400,
    expect.stringContaining("messages") as string,
  ]);
});

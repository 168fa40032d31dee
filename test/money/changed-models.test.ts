// A conversation that goes on with another vendor's model: what one vendor put into the history for itself comes back to it,
// and no other vendor is shown it. The vendors' doubles refuse what they did not sign, as the vendors do.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type Anthropic from "@anthropic-ai/sdk";
import type { Content, Part } from "@google/genai";
import type OpenAI from "openai";
import { openAnthropicDouble } from "../doubles/anthropic.ts";
import { validSignature as claudes } from "../doubles/anthropic-message.ts";
import { openGeminiDouble } from "../doubles/gemini.ts";
import { validSignature as geminis } from "../doubles/gemini-content.ts";
import type { ModelDouble } from "../doubles/model-book.ts";
import type { ScriptedReply } from "../doubles/model-reply.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { sentTo } from "../support/model-gateway.ts";
import { createAnthropicClient } from "../streams/anthropic-client.ts";
import { createGoogleClient } from "../streams/google-client.ts";
import { createOpenAiClient } from "../streams/openai-client.ts";

const key = "sk-key-000000";
const models = ["gpt-x", "claude-x", "gemini-3-x", "gemini-2.5-x"] as const;
type Model = (typeof models)[number];

let gateway: TestGateway;
let vendors: Readonly<Record<Model, ModelDouble>>;
let apiKey: string;
let reply: ScriptedReply;

beforeAll(async () => {
  const said = { key, models: [...models], reply: () => reply };
  const openai = await openOpenAiDouble(said);
  const claude = await openAnthropicDouble(said);
  const gemini = await openGeminiDouble(said);
  vendors = { "gpt-x": openai, "claude-x": claude, "gemini-3-x": gemini, "gemini-2.5-x": gemini };
  const price = "price: { input: 1, output: 1 }, max_output_tokens: 9000";
  gateway = await openTestGateway({
    config: `
upstreams:
  openai: { protocol: openai, url: "${openai.url}", key: ${key} }
  claude: { protocol: anthropic, url: "${claude.url}", key: ${key} }
  gemini: { protocol: gemini, url: "${gemini.url}", key: ${key} }
models:
  gpt-x: { via: [openai], ${price} }
  claude-x: { via: [claude], ${price} }
  gemini-3-x: { via: [gemini], ${price} }
  gemini-2.5-x: { via: [gemini], ${price} }
tiers: { enterprise: { rpm: 10000, tpm: 100000000 } }
operations: { models.generate_content: { rpm: 10000 }, models.stream_generate_content: { rpm: 10000 } }
sandbox: off
`,
  });
  apiKey = (await gateway.openAccount({ tier: "enterprise", creditUsd: "100" })).key;
});

afterAll(async () => {
  expect(await gateway.audit()).toEqual([]);
  await gateway.close();
  for (const double of new Set(Object.values(vendors))) await double.close();
});

/** A history in the caller's own dialect, kept as its official client gave it. */
interface Talk {
  /** Asks the model, and keeps its answer. */
  readonly ask: (model: Model) => Promise<void>;
  /** Answers all calls of the last turn. */
  readonly answerCalls: () => void;
}

const dialects: Readonly<Record<string, (streamed: boolean) => Talk>> = {
  anthropic: anthropicTalk,
  gemini: geminiTalk,
  openai: openaiTalk,
};

const thinkingCall: ScriptedReply = {
  reasoning: "I should look.",
  toolCalls: [
    { id: "call_1", name: "look_up", arguments: '{"city":"Rome"}' },
    { id: "call_2", name: "look_up", arguments: '{"city":"Oslo"}' },
  ],
};

/** What OpenAI itself is not shown depends on its address, which no double has. */
const ways = Object.keys(dialects).flatMap((dialect) => {
  const others = models.filter((model) => dialect !== "openai" || model !== "gpt-x");
  return [false, true].flatMap((streamed) =>
    others.flatMap((first) => others.map((second) => [dialect, streamed, first, second] as const)),
  );
});

describe("a conversation goes from one model to another and back, in the middle of calls", () => {
  test.each(ways)("%s, streamed %p: %s, then %s", async (dialect, streamed, first, second) => {
    const talk = dialects[dialect]?.(streamed);
    for (const model of [first, second, first, second, first]) {
      reply = thinkingCall;
      await talk?.ask(model);
      talk?.answerCalls();
    }
    reply = { text: "Done." };
    await talk?.ask(second);
    expect(JSON.stringify(sentTo(vendors[second]))).not.toContain("tollgate");
  });
});

test("calls whose ids Anthropic does not take are gone on with by Claude, and keep their ids for the caller", async () => {
  for (const streamed of [false, true]) {
    const talk = anthropicTalk(streamed);
    const ids = ["functions.look_up:0", "functions.look_up:1"];
    reply = { toolCalls: ids.map((id) => ({ id, name: "look_up", arguments: "{}" })) };
    await talk.ask("gpt-x");
    talk.answerCalls();
    reply = thinkingCall;
    await talk.ask("claude-x");
    talk.answerCalls();
    await talk.ask("gpt-x");
    const { messages } = sentTo(vendors["gpt-x"]) as { messages: readonly object[] };
    expect(messages.slice(1, 4)).toMatchObject([
      { tool_calls: ids.map((id) => ({ id })) },
      ...ids.map((id) => ({ tool_call_id: id })),
    ]);
  }
});

test("what a vendor signed comes back to it through another's dialect", async () => {
  for (const streamed of [false, true]) {
    for (const [talk, model, signature] of [
      [geminiTalk(streamed), "claude-x", claudes],
      [anthropicTalk(streamed), "gemini-3-x", geminis],
      [openaiTalk(streamed), "gemini-3-x", geminis],
    ] as const) {
      reply = thinkingCall;
      await talk.ask(model);
      talk.answerCalls();
      await talk.ask(model);
      expect(JSON.stringify(sentTo(vendors[model]))).toContain(signature);
    }
  }
});

test("what Gemini signed is not shown to another vendor of OpenAI's dialect", async () => {
  const talk = openaiTalk(false);
  const functionCall = { id: "call_1", name: "look_up", args: { city: "Rome" } };
  const content = { role: "model", parts: [{ functionCall, thoughtSignature: geminis }] };
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
  const body = JSON.stringify({ candidates: [{ content, finishReason: "STOP" }], usageMetadata });
  vendors["gemini-3-x"].answerNext({ status: 200, body });
  await talk.ask("gemini-3-x");
  talk.answerCalls();
  reply = { text: "Done." };
  await talk.ask("gpt-x");
  const sent = JSON.stringify(sentTo(vendors["gpt-x"]));
  expect(sent).toContain("tool_calls");
  expect(sent).not.toContain("extra_content");
});

test("a thought that Claude sealed comes back to it from a caller of Gemini's dialect", async () => {
  const talk = geminiTalk(false);
  const content = [
    { type: "redacted_thinking", data: "sealed+/==" },
    { type: "tool_use", id: "toolu_1", name: "look_up", input: { city: "Rome" } },
  ];
  const usage = { input_tokens: 1, output_tokens: 1 };
  const body = JSON.stringify({ id: "msg_1", type: "message", content, stop_reason: "tool_use", usage });
  vendors["claude-x"].answerNext({ status: 200, body });
  await talk.ask("claude-x");
  talk.answerCalls();
  reply = { text: "Done." };
  await talk.ask("claude-x");
  const { messages, thinking } = sentTo(vendors["claude-x"]);
  expect(messages).toMatchObject([{}, { content }, {}]);
  expect(thinking).toMatchObject({ type: "enabled" });
});

/** Sends these bytes to the model in its own dialect, and gives those that its vendor got. */
async function passedOn(model: Model, path: string, written: string): Promise<string> {
  reply = { text: "Done." };
  const response = await gateway.call({ key: apiKey }, path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: written,
  });
  expect(response.status).toBe(200);
  return Buffer.from(vendors[model].requests.at(-1)?.body ?? []).toString();
}

test("a body without anything foreign is the very bytes that came", async () => {
  const written =
    '{"model":"claude-x", "max_tokens":9, "messages":[ {"role":"user","content":"tollgateunsigned0000 \\u0041"}]}';
  expect(await passedOn("claude-x", "/v1/messages", written)).toBe(written);
});

/** Anthropic wants them beside calls. */
const tools = ',"tools":[{"name":"f","input_schema":{"type":"object"}}]';

test("what stands beside something foreign stays as it was written", async () => {
  const rest = '{"type":"tool_use","id":"a","name":"f","input":{"n":90071992547409931234,"s":"\\u0041, ]"}}';
  const result = '{"role":"user", "content":[{"type":"tool_result","tool_use_id":"a"}]}';
  const foreign = '{"type":"thinking","thinking":"","signature":"tollgateunsigned0000"}';
  const write = (blocks: string): string =>
    `{"model":"claude-x","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[${blocks}]},${result}]${tools}}`;
  expect(await passedOn("claude-x", "/v1/messages", write(`${foreign} , ${rest}`))).toBe(write(rest));
});

test("beside an id that Anthropic does not take, everything stays as it was written", async () => {
  const odd = '"id":"functions.f\\u003a0"';
  const write = (id: string, answered: string): string =>
    `{"model":"claude-x","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use",${id},"name":"f","input":{"n":90071992547409931234,${odd},"type":"tool_use"}},{"type":"tool_use","id":"b","name":"f","input":{ }}]},{"role":"user","content":[{"type":"tool_result",${answered},"content":"tool_use functions.f:0"},{"type":"tool_result","tool_use_id":"b"}]}]${tools}}`;
  const hash = new Bun.CryptoHasher("sha256").update("functions.f:0").digest("hex").slice(0, 32);
  expect(await passedOn("claude-x", "/v1/messages", write(odd, '"tool_use_id":"functions.f:0"'))).toBe(
    write(`"id":"toolu_${hash}"`, `"tool_use_id":"toolu_${hash}"`),
  );
});

test("a call that nobody signed says so to a Gemini that asks, in Google's word, and nothing to one that does not", async () => {
  const call = '"functionCall":{"name":"f","args":{"n":90071992547409931234}}';
  const write = (part: string): string =>
    `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{${part}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}],"generationConfig":{"maxOutputTokens":9}}`;
  const written = write(`"thoughtSignature":"tollgateunsigned0000",${call}`);
  const sent = (model: Model): Promise<string> =>
    passedOn(model, `/v1beta/models/${model}:generateContent`, written);
  expect(await sent("gemini-3-x")).toBe(
    write(`"thoughtSignature":"skip_thought_signature_validator",${call}`),
  );
  expect(await sent("gemini-2.5-x")).toBe(write(call));
});

describe("what only looks foreign inside a caller's own data stays", () => {
  test("in the input of a tool, sent to Claude", async () => {
    const looks = '{"type":"thinking","thinking":"","signature":"tollgateunsigned0000"}';
    const written = `{"model":"claude-x", "max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"doc":${looks},"docs":[${looks}]}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}],"tools":[{"name":"f","input_schema":{"type":"object","default":${looks}}}]}`;
    expect(await passedOn("claude-x", "/v1/messages", written)).toBe(written);
  });

  test("in the arguments and the response of a function, sent to Gemini", async () => {
    const looks = '{"thought":true,"text":"","thoughtSignature":"tollgateunsigned0000"}';
    const written = `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"parts":[${looks}],"doc":${looks}}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"parts":[${looks}],"doc":${looks}}}}]}], "generationConfig":{"maxOutputTokens":9}}`;
    expect(await passedOn("gemini-2.5-x", "/v1beta/models/gemini-2.5-x:generateContent", written)).toBe(
      written,
    );
  });
});

describe("thinking in the midst of a turn of Claude's", () => {
  const thought = `{"type":"thinking","thinking":"Hm","signature":"${claudes}"}`;
  const foreign = '{"type":"thinking","thinking":"","signature":"tollgateunsigned0000"}';
  const call = (id: string): string => `{"type":"tool_use","id":"toolu_${id}","name":"f","input":{}}`;
  const result = (id: string): string =>
    `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_${id}"},{"type":"text","text":"Go on."}]}`;
  const write = (first: string, second: string, thinking: string): string =>
    `{"model":"claude-x","max_tokens":4000,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[${first}]},${result("1")},{"role":"assistant","content":[${second}]},${result("2")}]${tools}${thinking}}`;
  const enabled = ',"thinking":{"type":"enabled","budget_tokens":2000}';

  test("stays where the turn began with a thought, though later calls have none: the very bytes that came", async () => {
    const written = write(`${thought}, ${call("1")}`, call("2"), enabled);
    expect(await passedOn("claude-x", "/v1/messages", written)).toBe(written);
  });

  test("stays where another vendor's model only went on with a turn that began with a thought", async () => {
    const written = write(`${thought}, ${call("1")}`, `${foreign},${call("2")}`, enabled);
    expect(await passedOn("claude-x", "/v1/messages", written)).toBe(
      write(`${thought}, ${call("1")}`, call("2"), enabled),
    );
  });

  test("goes where another vendor's model began the turn", async () => {
    const written = write(`${foreign}, ${call("1")}`, call("2"), enabled);
    expect(await passedOn("claude-x", "/v1/messages", written)).toBe(write(call("1"), call("2"), ""));
  });

  test("is the caller's own matter in a history without anything of ours", async () => {
    const written = write(call("1"), call("2"), enabled);
    vendors["claude-x"].answerNext({ status: 200, body: "{}" });
    await gateway.call({ key: apiKey }, "/v1/messages", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: written,
    });
    expect(Buffer.from(vendors["claude-x"].requests.at(-1)?.body ?? []).toString()).toBe(written);
  });
});

const question = "Look up both.";
const schema = { type: "object" as const, properties: { city: { type: "string" as const } } };

function anthropicTalk(streamed: boolean): Talk {
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: question }];
  let last: readonly Anthropic.ContentBlock[] = [];
  return {
    ask: async (model) => {
      const client = createAnthropicClient(gateway.url, apiKey);
      const request = {
        model,
        max_tokens: 4000,
        messages,
        tools: [{ name: "look_up", input_schema: schema }],
        thinking: { type: "enabled" as const, budget_tokens: 2000 },
      };
      const { content } = streamed
        ? await client.messages.stream(request).finalMessage()
        : await client.messages.create(request);
      last = content;
      messages.push({ role: "assistant", content });
    },
    answerCalls: () => {
      const calls = last.filter((block) => block.type === "tool_use");
      messages.push({
        role: "user",
        content: calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "sunny" })),
      });
    },
  };
}

function geminiTalk(streamed: boolean): Talk {
  const contents: Content[] = [{ role: "user", parts: [{ text: question }] }];
  let last: readonly Part[] = [];
  return {
    ask: async (model) => {
      const client = createGoogleClient(gateway.url, apiKey);
      const request = {
        model,
        contents,
        config: {
          maxOutputTokens: 4000,
          tools: [{ functionDeclarations: [{ name: "look_up", parametersJsonSchema: schema }] }],
          thinkingConfig: { thinkingBudget: 2000, includeThoughts: true },
        },
      };
      const chunks = streamed
        ? await Array.fromAsync(await client.models.generateContentStream(request))
        : [await client.models.generateContent(request)];
      last = chunks.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
      contents.push({ role: "model", parts: [...last] });
    },
    answerCalls: () => {
      const parts = last.flatMap(({ functionCall: { id = "", name = "" } = {} }) =>
        name === "" ? [] : [{ functionResponse: { id, name, response: { output: "sunny" } } }],
      );
      contents.push({ role: "user", parts });
    },
  };
}

function openaiTalk(streamed: boolean): Talk {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: question }];
  let last: OpenAI.ChatCompletionMessage | undefined;
  return {
    ask: async (model) => {
      const client = createOpenAiClient(gateway.url, apiKey);
      const request = {
        model,
        messages,
        max_completion_tokens: 4000,
        tools: [{ type: "function" as const, function: { name: "look_up", parameters: schema } }],
        reasoning_effort: "low" as const,
      };
      const { choices } = streamed
        ? await client.chat.completions.stream(request).finalChatCompletion()
        : await client.chat.completions.create(request);
      last = choices[0]?.message;
      if (last) messages.push(last);
    },
    answerCalls: () => {
      for (const { id } of last?.tool_calls ?? [])
        messages.push({ role: "tool", tool_call_id: id, content: "sunny" });
    },
  };
}

// What callers of one dialect say of thinking, to the models of other vendors that know it otherwise.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { validSignature } from "../doubles/anthropic-message.ts";
import { openAnthropicDouble } from "../doubles/anthropic.ts";
import { openGeminiDouble } from "../doubles/gemini.ts";
import type { ModelDouble } from "../doubles/model-book.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { vercelModels } from "../streams/vercel-client.ts";
import { keys, sentTo } from "../support/model-gateway.ts";

const openaiModels = ["gpt-5.4", "gpt-5.5", "gpt-5.6-terra", "gpt-6-astra", "gpt-6.1-sol", "deepseek-v4"];
const thoughtful = { reasoning: "Let me think.", text: "Paris" };
const weather = { id: "toolu_1", name: "get_weather", arguments: "{}" };
const claudeModels = [
  "claude-opus-5",
  "claude-haiku-5-5",
  "claude-opus-5-5",
  "claude-sonnet-5-5",
  "claude-fable-5-1",
];
const geminiModels = ["gemini-3.6-flash", "gemini-3.7-flash", "gemini-3.8-flash", "gemini-3.5-flash-lite"];

let openai: ModelDouble;
let claude: ModelDouble;
let gemini: ModelDouble;
let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  openai = await openOpenAiDouble({ key: keys.openai, models: openaiModels, reply: thoughtful });
  claude = await openAnthropicDouble({
    key: keys.anthropic,
    models: claudeModels,
    reply: ({ messages, tools = [] }) =>
      JSON.stringify(tools).includes(weather.name) && !JSON.stringify(messages).includes(weather.id)
        ? { ...thoughtful, text: "", toolCalls: [weather] }
        : thoughtful,
  });
  gemini = await openGeminiDouble({ key: keys.gemini, models: geminiModels, reply: "Paris" });
  const priced = (upstream: string, models: readonly string[]): string =>
    models.map((model) => `  ${model}: { via: [${upstream}], price: { input: 1, output: 2 } }\n`).join("");
  gateway = await openTestGateway({
    config: `
upstreams:
  openai: { protocol: openai, url: "${openai.url}", key: "${keys.openai}" }
  claude: { protocol: anthropic, url: "${claude.url}", key: "${keys.anthropic}" }
  gemini: { protocol: gemini, url: "${gemini.url}", key: "${keys.gemini}" }
models:
${priced("openai", openaiModels)}${priced("claude", claudeModels)}${priced("gemini", geminiModels)}`,
  });
  account = await gateway.openAccount();
});

afterAll(async () => {
  expect(await gateway.audit()).toEqual([]);
  for (const double of [openai, claude, gemini]) expect(double.violations).toEqual([]);
  await gateway.close();
  await Promise.all([openai.close(), claude.close(), gemini.close()]);
});

const message = { max_tokens: 4000, messages: [{ role: "user", content: "The capital of France?" }] };
const completion = { messages: message.messages };
const contents = { contents: [{ role: "user", parts: [{ text: "The capital of France?" }] }] };

describe("Claude's agents, who always bring tools and ask for thinking,", () => {
  const agent = { ...message, tools: [{ name: "look_up", input_schema: { type: "object" } }] };

  test.each(["gpt-5.4", "gpt-5.5", "gpt-5.6-terra"])("are answered by %s", async (model) => {
    for (const thinking of [
      { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
      { thinking: { type: "enabled", budget_tokens: 2000 } },
      { thinking: { type: "disabled" } },
      {},
    ]) {
      const response = await gateway.post(account, "/v1/messages", { model, ...agent, ...thinking });
      expect(response.status).toBe(200);
    }
  });

  test.each(["gpt-6-astra", "gpt-6.1-sol"])(
    "are told that %s calls tools elsewhere only, and nothing is sent",
    async (model) => {
      const sent = openai.requests.length;
      const response = await gateway.post(account, "/v1/messages", { model, ...agent });
      expect(response.status).toBe(400);
      expect(await response.text()).toContain("/v1/responses");
      expect(openai.requests).toHaveLength(sent);
    },
  );

  test("have GPT-5.6 think where they bring none", async () => {
    const asked = { thinking: { type: "adaptive" }, output_config: { effort: "high" } };
    await gateway.post(account, "/v1/messages", { model: "gpt-5.6-terra", ...message, ...asked });
    expect(sentTo(openai)["reasoning_effort"]).toBe("high");
  });

  test("have GPT-5.6 think as much as it can where they ask for that", async () => {
    const asked = { thinking: { type: "adaptive" }, output_config: { effort: "max" } };
    const body = { model: "gpt-5.6-terra", ...message, ...asked };
    expect((await gateway.post(account, "/v1/messages", body)).status).toBe(200);
    expect(sentTo(openai)["reasoning_effort"]).toBe("max");
  });
});

describe("a caller who wants no thinking", () => {
  test.each(claudeModels)("is answered by %s in the dialects of others", async (model) => {
    const wants = { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } };
    const answers = [
      await gateway.post(account, "/v1/chat/completions", { model, ...completion, reasoning_effort: "none" }),
      await gateway.post(account, `/v1beta/models/${model}:generateContent`, { ...contents, ...wants }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });

  test.each(geminiModels)("is answered by %s in the dialects of others", async (model) => {
    const wants = { thinking: { type: "disabled" } };
    const answers = [
      await gateway.post(account, "/v1/chat/completions", { model, ...completion, reasoning_effort: "none" }),
      await gateway.post(account, "/v1/messages", { model, ...message, ...wants }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });

  test("may say so in the words of Qwen and Anthropic, which other vendors are told in theirs", async () => {
    for (const [model, vendor] of [
      ["claude-opus-5", claude],
      ["gemini-3.6-flash", gemini],
    ] as const) {
      const sent = [];
      const anthropics = { thinking: { type: "disabled" } };
      for (const wish of [{ enable_thinking: false }, anthropics, { reasoning_effort: "none" }, {}]) {
        const body = { model, ...completion, ...wish };
        expect((await gateway.post(account, "/v1/chat/completions", body)).status).toBe(200);
        sent.push(sentTo(vendor));
      }
      const [byQwensWord, byAnthropics, byOpenAis, unsaid] = sent;
      expect([byQwensWord, byAnthropics]).toEqual([byOpenAis, byOpenAis]);
      expect(byQwensWord).not.toEqual(unsaid);
    }
  });

  test("and one who wants some may say in Anthropic's word how much", async () => {
    const thinking = { type: "enabled", budget_tokens: 2_000 };
    const body = { model: "claude-opus-5", ...completion, thinking };
    expect((await gateway.post(account, "/v1/chat/completions", body)).status).toBe(200);
    expect(sentTo(claude)["output_config"]).toEqual({ effort: "low" });
  });

  test("up front is answered by models that know nothing between", async () => {
    const body = { model: "gpt-5.6-terra", ...message, thinking: { type: "between_tools" } };
    expect((await gateway.post(account, "/v1/messages", body)).status).toBe(200);
    expect(sentTo(openai)["reasoning_effort"]).toBe("none");
  });
});

describe("a caller who says how a Claude model that chooses by itself shall choose its words", () => {
  test("is answered where that is what it does anyway", async () => {
    for (const model of claudeModels) {
      const body = { model, ...completion, temperature: 1, top_p: 1 };
      expect((await gateway.post(account, "/v1/chat/completions", body)).status).toBe(200);
    }
  });

  test("is else refused by name, and nothing is sent", async () => {
    const sent = claude.requests.length;
    for (const model of claudeModels) {
      const body = { model, ...completion, temperature: 0.2, top_p: 0.9 };
      const response = await gateway.post(account, "/v1/chat/completions", body);
      expect(response.status).toBe(400);
      expect(await response.text()).toContain("temperature: this model takes none but 1");
    }
    expect(claude.requests).toHaveLength(sent);
  });
});

describe("a caller who demands that a tool is called", () => {
  const tool = { name: "look_up", parameters: { type: "object", properties: {} } };
  const demands = [
    { tool_choice: "required" },
    { tool_choice: { type: "function", function: { name: "look_up" } } },
  ];
  const ask = (model: string, demand: object): Promise<Response> =>
    gateway.post(account, "/v1/chat/completions", {
      model,
      ...completion,
      tools: [{ type: "function", function: tool }],
      ...demand,
    });

  test.each(["claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5-1"])(
    "is told that %s decides for itself, and nothing is sent or held",
    async (model) => {
      const sent = claude.requests.length;
      for (const demand of demands) {
        for (const thinking of [{}, { reasoning_effort: "none" }, { reasoning_effort: "high" }]) {
          const response = await ask(model, { ...demand, ...thinking });
          expect([response.status, await response.json()]).toMatchObject([
            400,
            { error: { param: "tool_choice", code: "invalid_parameters" } },
          ]);
        }
      }
      const { parameters, ...named } = tool;
      const geminis = await gateway.post(account, `/v1beta/models/${model}:generateContent`, {
        ...contents,
        tools: [{ functionDeclarations: [{ ...named, parametersJsonSchema: parameters }] }],
        toolConfig: { functionCallingConfig: { mode: "ANY" } },
      });
      expect(geminis.status).toBe(400);
      expect(await geminis.text()).toContain("toolConfig.functionCallingConfig: ");
      expect(claude.requests).toHaveLength(sent);
      expect((await ask(model, { tool_choice: "auto" })).status).toBe(200);
    },
  );

  test.each(["claude-opus-5", "claude-haiku-5-5"])(
    "is answered by %s, asked to think or not",
    async (model) => {
      for (const demand of demands) {
        for (const thinking of [{}, { reasoning_effort: "high" }])
          expect((await ask(model, { ...demand, ...thinking })).status).toBe(200);
      }
    },
  );

  test.each(["deepseek-v4", "gpt-5.6-terra"])(
    "is answered by %s in Anthropic's dialect, which thinks otherwise",
    async (model) => {
      for (const choice of [{ type: "any" }, { type: "tool", name: "look_up" }]) {
        for (const thinking of [{}, { thinking: { type: "adaptive" }, output_config: { effort: "high" } }]) {
          const response = await gateway.post(account, "/v1/messages", {
            model,
            ...message,
            ...thinking,
            tools: [{ name: "look_up", input_schema: tool.parameters }],
            tool_choice: choice,
          });
          expect(response.status).toBe(200);
        }
      }
    },
  );
});

test("who asks to see what is thought is shown it by Claude, which shows nothing unasked", async () => {
  const wants = { generationConfig: { thinkingConfig: { thinkingLevel: "HIGH", includeThoughts: true } } };
  const path = "/v1beta/models/claude-opus-5:generateContent";
  const answer = await gateway.post(account, path, { ...contents, ...wants });
  expect(await answer.json()).toMatchObject({
    candidates: [{ content: { parts: [{ text: "Let me think.", thought: true }, { text: "Paris" }] } }],
  });
});

test("what Claude thought comes back to it signed through @ai-sdk/google, whole as streamed", async () => {
  const options = {
    model: vercelModels.google(gateway.url, account.key)("claude-opus-5"),
    prompt: "Use get_weather.",
    maxRetries: 0,
    stopWhen: stepCountIs(2),
    tools: {
      [weather.name]: tool({ inputSchema: jsonSchema({ type: "object" }), execute: async () => "19" }),
    },
    providerOptions: { google: { thinkingConfig: { thinkingLevel: "high", includeThoughts: true } } },
  };
  const thinking = { type: "thinking", thinking: "Let me think.", signature: validSignature };
  const called = { role: "assistant", content: [thinking, { type: "tool_use", name: weather.name }] };
  const answered = { role: "user", content: [{ type: "tool_result" }] };
  await generateText(options);
  expect(sentTo(claude)).toMatchObject({ messages: [{}, called, answered] });
  await streamText(options).consumeStream();
  expect(sentTo(claude)).toMatchObject({ messages: [{}, called, answered] });
});

test.each(["a list", "one object"])(
  "a streamed call keeps its signed thought beside tools in %s",
  async (form) => {
    const declared = {
      functionDeclarations: [{ name: weather.name, parametersJsonSchema: { type: "object" } }],
    };
    const answer = await gateway.post(account, "/v1beta/models/claude-opus-5:streamGenerateContent?alt=sse", {
      contents: [{ role: "user", parts: [{ text: "Use get_weather." }] }],
      tools: form === "a list" ? [declared] : declared,
    });
    const said = await answer.text();
    expect(said).toContain("functionCall");
    expect(said).toContain(`"thought":true`);
  },
);

describe("who does not ask for thoughts gets an answer that begins with none", () => {
  const path = "/v1beta/models/claude-opus-5";

  test("from Claude, which thinks and signs unasked, whole", async () => {
    const answer = await gateway.post(account, `${path}:generateContent`, contents);
    expect(await answer.json()).toMatchObject({ candidates: [{ content: { parts: [{ text: "Paris" }] } }] });
  });

  test("from Claude, streamed", async () => {
    const answer = await gateway.post(account, `${path}:streamGenerateContent?alt=sse`, contents);
    const said = await answer.text();
    expect(said).toContain("Paris");
    expect(said).not.toContain("thought");
  });

  test("from vendors who show thoughts always, in either dialect", async () => {
    const body = { model: "deepseek-v4", ...message, thinking: { type: "disabled" } };
    const claudes = await gateway.post(account, "/v1/messages", body);
    expect(await claudes.json()).toMatchObject({ content: [{ type: "text", text: "Paris" }] });
    const geminis = await gateway.post(account, "/v1beta/models/deepseek-v4:generateContent", contents);
    expect(await geminis.json()).toMatchObject({ candidates: [{ content: { parts: [{ text: "Paris" }] } }] });
    const streamed = await gateway.post(account, "/v1/messages", { ...body, stream: true });
    expect(await streamed.text()).not.toContain("thinking_delta");
  });

  test("but who asks for them is shown them first", async () => {
    const body = { model: "deepseek-v4", ...message, thinking: { type: "adaptive" } };
    const answer = await gateway.post(account, "/v1/messages", body);
    expect(await answer.json()).toMatchObject({
      content: [
        { type: "thinking", thinking: "Let me think." },
        { type: "text", text: "Paris" },
      ],
    });
  });
});

// What a vendor, or a router that speaks like one, would do beyond what was priced: ask another model, run tools that it
// bills by use, write more than was held.

import { describe, expect, test } from "bun:test";
import { chatBody, chatPath } from "../support/purchases.ts";
import { eventStream, useScriptedVendor } from "../support/scripted-vendor.ts";

const {
  vendor: router,
  gateway,
  account,
} = await useScriptedVendor(
  (url) => `
sandbox: off
upstreams:
  router: { protocol: openai, url: "${url}", key: "sk-operator-router-0000000000000", models: [] }
  bolder: { protocol: openai, url: "${url}", key: "sk-operator-router-0000000000000", models: [], hosted_tools: allow }
  claude: { protocol: anthropic, url: "${url}", key: "sk-ant-operator-0000000000000000", models: [] }
  gemini: { protocol: gemini, url: "${url}", key: "goog-operator-00000000000000000", models: [] }
  studio: { protocol: openai, url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", key: "sk-operator-studio-0000000000000", models: [] }
  studio_messages: { protocol: anthropic, url: "https://dashscope-intl.aliyuncs.com/apps/anthropic/v1", key: "sk-operator-studio-0000000000000", models: [] }
  bounded: { protocol: openai, url: "${url}", key: "sk-operator-router-0000000000000", models: [], output_limit: max_completion_tokens }
models:
  cheap: { via: [{ router: "meta/llama-8b" }], price: { input: 1, output: 1 }, context_tokens: 10000 }
  cached: { via: [{ router: "meta/llama-8b" }], price: { input: 1, output: 1, cache_write: 1.25 }, context_tokens: 10000 }
  bold: { via: [bolder], price: { input: 1, output: 1 }, context_tokens: 10000 }
  drawn: { via: [router], price: { input: 1, output: 1 } }
  near: { via: [router], price: { input: 1 } }
  haiku: { via: [claude], price: { input: 1, output: 1 } }
  flash: { via: [gemini], price: { input: 1, output: 1 } }
  qwen3.7-max: { via: [studio], price: { input: 1, output: 1 }, max_output_tokens: 32768 }
  qwen-plus: { via: [studio], price: { input: 1, output: 1 }, max_output_tokens: 32768 }
  deepseek-r1: { via: [studio], price: { input: 1, output: 1 }, max_output_tokens: 32768 }
  qwen3.8-plus: { via: [studio_messages], price: { input: 1, output: 1 }, max_output_tokens: 32768 }
  own-thinker: { via: [{ router: qwen3-235b-a22b-thinking-2507 }], price: { input: 1, output: 1 }, max_output_tokens: 32768 }
  bounded-thinker: { via: [{ bounded: qwen3-32b }], price: { input: 1, output: 1 }, max_output_tokens: 32768 }
`,
  { tier: "enterprise", creditUsd: "100" },
);

const lastAsked = (): unknown => JSON.parse(router.asked.at(-1)?.body ?? "");

const completion = (members: object = {}) => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "meta/llama-8b",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  ...members,
});

const cheapChat = (more: object, model = "cheap") => chatBody({ model, max_tokens: 10, ...more });
const quote = { "x-tollgate-cost-mode": "quote" };

describe("is refused by name, and nothing is sent", () => {
  const refused: readonly (readonly [field: string, path: string, body: object])[] = [
    ["models", chatPath, cheapChat({ models: ["openai/o1-pro"] })],
    ["Models", chatPath, cheapChat({ Models: ["openai/o1-pro"] })],
    ["route", chatPath, cheapChat({ route: "fallback" })],
    ["provider", chatPath, cheapChat({ provider: { order: ["dear"] } })],
    ["preset", chatPath, cheapChat({ preset: "dear" })],
    ["fallbacks", chatPath, cheapChat({ fallbacks: ["gpt-5"] })],
    ["fallbacks", "/v1/messages", cheapChat({ fallbacks: "default" }, "haiku")],
    ["providerOptions", chatPath, cheapChat({ providerOptions: { gateway: { models: ["gpt-5"] } } })],
    ["best_of", chatPath, cheapChat({ best_of: 20, n: 1 })],
    ["use_beam_search", chatPath, cheapChat({ use_beam_search: true })],
    ["n_predict", chatPath, cheapChat({ n_predict: 100_000 })],
    ["num_return_sequences", chatPath, cheapChat({ num_return_sequences: 8 })],
    ["deferred", chatPath, cheapChat({ deferred: true })],
    ["deferred", chatPath, cheapChat({ deferred: true, stream: true })],
    ["Deferred", chatPath, cheapChat({ Deferred: true })],
    ["plugins", chatPath, cheapChat({ plugins: [{ id: "web" }] })],
    ["search_parameters", chatPath, cheapChat({ search_parameters: { mode: "on" } })],
    ["enable_search", chatPath, cheapChat({ enable_search: true })],
    ["enable_enhancement", chatPath, cheapChat({ enable_enhancement: true })],
    ["force_search_enhancement", chatPath, cheapChat({ force_search_enhancement: true })],
    ["enable_deep_search", chatPath, cheapChat({ enable_deep_search: true })],
    ["with_search_enhance", chatPath, cheapChat({ with_search_enhance: true })],
    ["speed", chatPath, cheapChat({ speed: "fast" })],
    ["speed", chatPath, cheapChat({ speed: "fast" }, "bold")],
    ["speed", "/v1/responses", { model: "cheap", input: "hello", speed: "fast" }],
    ["inference_geo", chatPath, cheapChat({ inference_geo: "us" })],
    ["inference_geo", "/v1beta/models/flash:generateContent", { contents: "hello", inference_geo: "us" }],
    ["web_search_options", chatPath, cheapChat({ web_search_options: {} })],
    ["web_search", chatPath, cheapChat({ web_search: { enable: true } })],
    ["web_search", chatPath, cheapChat({ web_search: { enable: false, Enable: true } })],
    ["web_search", chatPath, cheapChat({ web_search: {} })],
    ["Web_Search", chatPath, cheapChat({ Web_Search: { enable: true } })],
    ["venice_parameters", chatPath, cheapChat({ venice_parameters: { enable_web_search: "on" } })],
    ["venice_parameters", chatPath, cheapChat({ venice_parameters: { enable_web_search: "auto" } })],
    ["venice_parameters", chatPath, cheapChat({ venice_parameters: { enable_web_scraping: true } })],
    [
      "venice_parameters",
      chatPath,
      cheapChat({ venice_parameters: { enable_web_search: "off", Enable_Web_Search: "on" } }),
    ],
    ["multi_agent", "/v1/responses", { model: "cheap", input: "hello", multi_agent: { enabled: true } }],
    ["multi_agent", "/v1/responses", { model: "bold", input: "hello", multi_agent: {} }],
    [
      "multi_agent",
      "/v1/responses",
      { model: "cheap", input: "hello", multi_agent: { enabled: false, Enabled: true } },
    ],
    ["Multi_Agent", "/v1/responses", { model: "cheap", input: "hello", Multi_Agent: { enabled: true } }],
    ["models", "/v1/responses", { model: "cheap", input: "hello", models: ["gpt-5"] }],
    [
      "generationConfig.routingConfig",
      "/v1beta/models/flash:generateContent",
      { contents: "hello", generationConfig: { routingConfig: { manualMode: { modelName: "pro" } } } },
    ],
    ["models", "/v1/embeddings", { model: "near", input: "hello", models: ["dear"] }],
    ["fallbacks", "/v1/images/generations", { model: "drawn", prompt: "a fox", fallbacks: ["dear"] }],
  ];
  test.each(refused)("%s at %s: %j", async (field, path, body) => {
    const before = router.asked.length;
    const response = await gateway.post(account, path, body);
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining(`"${field}: `) as string,
    ]);
    expect(router.asked.length).toBe(before);
  });
});

test("passes where it asks for nothing", async () => {
  router.answer = () => Response.json(completion());
  const nothing = {
    models: [],
    route: null,
    provider: {},
    fallbacks: [],
    best_of: 2,
    n: 2,
    use_beam_search: false,
    num_return_sequences: 2,
    plugins: [],
    search_parameters: { mode: "off" },
    enable_search: false,
    enable_enhancement: false,
    force_search_enhancement: false,
    enable_deep_search: false,
    with_search_enhance: null,
    speed: "standard",
    inference_geo: "global",
    web_search: { enable: false, enable_citation: true },
    venice_parameters: { enable_web_search: "off", enable_web_scraping: false, disable_thinking: true },
    multi_agent: { enabled: false },
    deferred: false,
    transforms: ["middle-out"],
  };
  const response = await gateway.post(account, chatPath, cheapChat(nothing));
  expect(response.status).toBe(200);
  expect(lastAsked()).toMatchObject(nothing);
});

describe("never leaves in a body within the body", () => {
  const within = { models: ["openai/o1-pro"], google: { cached_content: "cachedContents/1" } };
  const around: readonly (readonly [path: string, body: object])[] = [
    [chatPath, cheapChat({})],
    [chatPath, cheapChat({}, "flash")],
    ["/v1/messages", cheapChat({}, "haiku")],
    ["/v1/responses", { model: "cheap", input: "hello" }],
    ["/v1beta/models/flash:generateContent", { contents: [{ role: "user", parts: [{ text: "hello" }] }] }],
    ["/v1/embeddings", { model: "near", input: "hello" }],
    ["/v1/images/generations", { model: "drawn", prompt: "a fox" }],
  ];
  test.each(around)("at %s: %j", async (path, body) => {
    router.answer = () => Response.json({});
    const before = router.asked.length;
    await (await gateway.post(account, path, { ...body, extra_body: within })).text();
    expect(router.asked.length).toBe(before + 1);
    expect(JSON.stringify(lastAsked())).not.toContain("o1-pro");

    const response = await gateway.post(account, path, { ...body, Extra_Body: within });
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining('"Extra_Body: differs from extra_body ') as string,
    ]);
    expect(router.asked.length).toBe(before + 1);
  });
});

test("passes where it runs tools that the operator allows, and holds all that the model can read", async () => {
  const tools = [
    { plugins: [{ id: "web" }] },
    { search_parameters: { mode: "on" } },
    { enable_search: true },
    { enable_enhancement: true },
    { force_search_enhancement: true },
    { enable_deep_search: true },
    { with_search_enhance: true },
    { web_search: { enable: true } },
    { venice_parameters: { enable_web_search: "auto" } },
  ];
  for (const more of tools) {
    const quoted = await gateway.post(account, chatPath, cheapChat(more, "bold"), quote);
    expect(await quoted.json()).toMatchObject({ max_cost_micros_usd: 10_010 });
  }
  expect((await gateway.post(account, chatPath, cheapChat({ models: ["o1"] }, "bold"), quote)).status).toBe(
    400,
  );
});

test("what a caller predicts is held as if it were written, for what proves wrong is billed so", async () => {
  const most = async (more: object): Promise<number> => {
    const response = await gateway.post(account, chatPath, cheapChat(more), quote);
    return ((await response.json()) as { max_cost_micros_usd: number }).max_cost_micros_usd;
  };
  const prediction = { type: "content", content: "word ".repeat(500) };
  expect(await most({ prediction })).toBeGreaterThan((await most({ metadata: prediction })) + 2_400);
});

test("what is thought beside an answer is held, for its limit does not bound that", async () => {
  const most = async (more: object): Promise<number> => {
    const response = await gateway.post(account, chatPath, cheapChat(more), quote);
    return ((await response.json()) as { max_cost_micros_usd: number }).max_cost_micros_usd;
  };
  const plain = await most({ metadata_for_length: true, n: 2 });
  const budget = await most({ enable_thinking: true, thinking_budget: 32_768, n: 2 });
  expect(budget).toBeGreaterThan(plain + 2 * 32_768);
  expect(await most({ enable_thinking: true, n: 2 })).toBeGreaterThan(plain + 500);
  expect(await most({ enable_thinking: false, thinking_budget: 32_768, n: 2 })).toBeLessThan(plain + 500);
  const wrong = await gateway.post(account, chatPath, cheapChat({ Thinking_Budget: 5 }), quote);
  expect(wrong.status).toBe(400);
});

describe("a model that thinks unasked, where a limit bounds its answer alone", () => {
  const messages = [{ role: "user", content: "hello" }];
  const older = { max_tokens: 10, messages };
  const newer = { max_completion_tokens: 10, messages };
  const off = { enable_thinking: false };
  const generate = (model: string) => `/v1beta/models/${model}:generateContent`;
  const contents = { contents: [{ parts: [{ text: "hello" }] }], generationConfig: { maxOutputTokens: 10 } };
  const response = { input: "hello", max_output_tokens: 10 };

  const held: readonly (readonly [model: string, path: string, body: object])[] = [
    ["qwen3.7-max", chatPath, older],
    ["qwen3.7-max", chatPath, { ...newer, prediction: { type: "content", content: "a" } }],
    ["qwen3.7-max", "/v1/responses", response],
    ["qwen-plus", chatPath, older],
    ["qwen-plus", chatPath, newer],
    ["qwen-plus", "/v1/messages", older],
    ["qwen-plus", generate("qwen-plus"), contents],
    ["qwen-plus", "/v1/responses", response],
    ["deepseek-r1", chatPath, newer],
    ["qwen3.8-plus", "/v1/messages", older],
    ["qwen3.8-plus", chatPath, { ...older, ...off }],
    ["own-thinker", chatPath, older],
    ["own-thinker", chatPath, { ...older, ...off }],
  ];
  test.each(held)("holds for its thoughts, too: %s at %s, %j", async (model, path, body) => {
    expect(await mostAt(path, { model, ...body })).toBeGreaterThan(32_768);
  });

  const plain: readonly (readonly [model: string, path: string, body: object])[] = [
    ["qwen3.7-max", chatPath, newer],
    ["qwen3.7-max", "/v1/messages", older],
    ["qwen3.7-max", generate("qwen3.7-max"), contents],
    ["qwen3.7-max", chatPath, { ...older, ...off }],
    ["qwen-plus", chatPath, { ...older, ...off }],
    ["bounded-thinker", chatPath, older],
    ["cheap", chatPath, older],
  ];
  test.each(plain)("holds for the answer where all is bounded: %s at %s, %j", async (model, path, body) => {
    expect(await mostAt(path, { model, ...body })).toBeLessThan(1_000);
  });

  test("holds for no more thoughts than its budget allows", async () => {
    const most = await mostAt(chatPath, { model: "qwen-plus", ...older, thinking_budget: 2_000 });
    expect(most).toBeGreaterThan(2_000);
    expect(most).toBeLessThan(3_000);
  });

  async function mostAt(path: string, body: object): Promise<number> {
    const quoted = await gateway.post(account, path, body, quote);
    return ((await quoted.json()) as { max_cost_micros_usd: number }).max_cost_micros_usd;
  }
});

test("what is written to a cache without a price of its own is told to the operator once", async () => {
  const told = (): string[] => gateway.logged.filter((line) => line.includes("a cache was written to"));
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const ask = async (cacheWriteTokens: number, model: string): Promise<void> => {
    const details = { prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: cacheWriteTokens } };
    router.answer = () => Response.json(completion({ usage: { ...usage, ...details } }));
    expect((await gateway.post(account, chatPath, cheapChat({}, model))).status).toBe(200);
  };
  await ask(0, "cheap");
  await ask(8, "cached");
  expect(told()).toEqual([]);
  await ask(8, "cheap");
  await ask(8, "cheap");
  expect(told()).toEqual([expect.stringContaining('"model":"cheap"') as string]);
});

describe("an answer of another model than was asked for", () => {
  const told = (): string[] => gateway.logged.filter((line) => line.includes("another model than was asked"));
  const chunk = (model: string): string =>
    `data: ${JSON.stringify({ id: "c", model, choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: "stop" }] })}\n\n` +
    `data: ${JSON.stringify({ id: "c", model, choices: [], usage: completion().usage })}\n\ndata: [DONE]\n\n`;

  test("is told to the operator once, and charged by the price of the one asked for", async () => {
    for (const model of [
      "meta/llama-8b",
      "llama-8b",
      "Meta/Llama-8b",
      "llama-8b-20260101",
      "llama-8b:free",
    ]) {
      router.answer = () => Response.json(completion({ model }));
      expect((await gateway.post(account, chatPath, cheapChat({}))).status).toBe(200);
    }
    expect(told()).toEqual([]);
    router.answer = () => Response.json(completion({ model: "openai/o1-pro" }));
    for (let calls = 0; calls < 3; calls++) {
      const response = await gateway.post(account, chatPath, cheapChat({}));
      expect(response.headers.get("x-tollgate-cost-micros-usd")).toBe("15");
    }
    expect(told()).toHaveLength(1);
    expect(JSON.parse(told()[0] ?? "")).toMatchObject({
      level: "warn",
      upstream: "router",
      model: "meta/llama-8b",
      answered: "openai/o1-pro",
    });
  });

  test("is told when it comes as a stream too", async () => {
    const before = told().length;
    router.answer = () => eventStream(chunk("bold-pro"));
    await (await gateway.post(account, chatPath, cheapChat({ stream: true }, "bold"))).text();
    expect(told().slice(before).join("")).toContain('"answered":"bold-pro"');
  });
});

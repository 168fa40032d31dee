import { expect, test } from "bun:test";
import { testDispatch, testModel, testUpstream } from "../../operation/test-upstream.ts";
import { limitChanges, withLimitWord } from "./output-limit.ts";

/** The word by which an upstream at this address is told the limit of a model. */
function wordAt(url: string, model = "gpt-4o"): string {
  const dispatch = testDispatch({ upstream: testUpstream({ url }), model: testModel(model) });
  return Object.keys(withLimitWord({ max_completion_tokens: 1 }, dispatch)).join();
}

test.each([
  "https://api.openai.com/v1",
  "https://eu.api.openai.com/v1",
  "https://desk.openai.azure.com/openai/v1",
  "https://desk.openai.azure.us/openai/v1",
  "https://desk.services.ai.azure.com/openai/v1",
  "https://desk.cognitiveservices.azure.com:443/openai",
])("at %s it is OpenAI's newer word", (url) => {
  expect(wordAt(url)).toBe("max_completion_tokens");
});

test.each([
  "http://127.0.0.1:11434/v1",
  "https://api.mistral.ai/v1",
  "https://desk.services.ai.azure.com/models",
  "https://api.openai.com.example/v1",
  "https://example.com/api.openai.com/v1",
])("at %s it is the older one", (url) => {
  expect(wordAt(url)).toBe("max_tokens");
});

const modelStudio = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1";

test.each([
  "qwen3.7-max",
  "qwen3.5-plus",
  "qwen4-max-preview",
  "kimi-k2.5",
  "glm-5",
  "MiniMax-M2.5",
  "deepseek-v4-pro",
])("at Model Studio it is the newer one for %s, whose thoughts the older does not bound", (model) => {
  expect(wordAt(modelStudio, model)).toBe("max_completion_tokens");
  expect(wordAt("https://aliyuncs.com.example/v1", model)).toBe("max_tokens");
  expect(limitChanges({ max_completion_tokens: 16 }, atModelStudio(model))).toEqual({});
  expect(limitChanges({ max_tokens: 16 }, atModelStudio(model))).toEqual({});
  expect(limitChanges({}, atModelStudio(model))).toEqual({ max_completion_tokens: 100 });
});

test.each([
  "qwen-plus",
  "qwen3-max",
  "qwen3-32b",
  "qwen3.5-flash",
  "kimi-k2-thinking",
  "glm-4.7",
  "deepseek-v3.2",
])("at Model Studio it is the older one for %s, which may pass over the newer", (model) => {
  expect(wordAt(modelStudio, model)).toBe("max_tokens");
});

test("what the operator says of the word holds at Model Studio, too", () => {
  const dispatch = testDispatch({
    upstream: testUpstream({ url: modelStudio, outputLimit: "max_tokens" }),
    model: testModel("qwen3.7-max"),
  });
  expect(withLimitWord({ max_completion_tokens: 1 }, dispatch)).toEqual({ max_tokens: 1 });
});

const atModelStudio = (model: string) =>
  testDispatch({ upstream: testUpstream({ url: modelStudio }), model: testModel(model) });

test.each([{ max_tokens: 7 }, { max_completion_tokens: 7 }, { max_tokens: null, max_completion_tokens: 7 }])(
  "at OpenAI itself a caller's own word stays: %j",
  (body) => {
    expect(limitChanges(body, atOpenAi)).toEqual({});
  },
);

test("at OpenAI itself a null gives way to the newer word, which its thinking models ask for", () => {
  expect(limitChanges({ max_tokens: null }, atOpenAi)).toEqual({
    max_completion_tokens: 100,
    max_tokens: undefined,
  });
});

const atOpenAi = testDispatch({
  upstream: testUpstream({ url: "https://api.openai.com/v1" }),
  model: testModel("o3"),
});

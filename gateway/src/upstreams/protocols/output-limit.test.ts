import { expect, test } from "bun:test";
import { testDispatch, testUpstream } from "../../operation/test-upstream.ts";
import { limitChanges, withLimitWord } from "./output-limit.ts";

/** The word by which an upstream at this address is told the limit of a model that does not think. */
function wordAt(url: string): string {
  const dispatch = testDispatch({ upstream: testUpstream({ url }), model: "gpt-4o" });
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
  model: "o3",
  unaskedOutputTokensMax: 100,
});

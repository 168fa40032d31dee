import { expect, test } from "bun:test";
import { upstream } from "./upstream-config.ts";

const written = { protocol: "openai", key: "an-operator-key-of-tests" };
const responsesAt = (url: string, more: object = {}): string | undefined =>
  upstream.parse({ ...written, url, ...more }).responses;
const streamUsageAt = (url: string, more: object = {}): string =>
  upstream.parse({ ...written, url, ...more }).streamUsage;

test("Mistral is not asked for the usage of a stream, which it refuses and tells unasked, unless the operator says so", () => {
  expect(streamUsageAt("https://api.mistral.ai/v1/")).toBe("never");
  expect(streamUsageAt("https://codestral.mistral.ai/v1")).toBe("never");
  expect(streamUsageAt("https://api.mistral.ai/v1", { stream_usage: "ask" })).toBe("ask");
  expect(streamUsageAt("https://api.openai.com/v1")).toBe("ask");
  expect(streamUsageAt("https://api.openai.com/v1", { stream_usage: "never" })).toBe("never");
});

test("Responses are translated for Mistral and Google, who do not know them, and for whom the operator says so", () => {
  const google = "https://generativelanguage.googleapis.com/v1beta/openai";
  expect(["https://api.mistral.ai/v1", google].map((url) => responsesAt(url))).toEqual([
    "translated",
    "translated",
  ]);
  expect(responsesAt(google, { responses: "native" })).toBe("native");
  expect(responsesAt("https://eu.api.openai.com/v1")).toBe("native");
  expect(responsesAt("http://127.0.0.1:8000/v1")).toBeUndefined();
  expect(responsesAt("http://127.0.0.1:8000/v1", { responses: "translated" })).toBe("translated");
});

test("an address that has already what is appended to it is refused: calls would find nothing there", () => {
  const isTaken = (url: string): boolean => upstream.safeParse({ ...written, url }).success;
  for (const call of [
    "v1/chat/completions",
    "v1/chat/completions/",
    "v1/responses",
    "v1/embeddings",
    "v1/messages",
    "v1/rerank",
    "v1beta/models/gemini-x:generateContent",
  ])
    expect([call, isTaken(`https://a.test/${call}`)]).toEqual([call, false]);
  for (const base of ["", "v1", "openai/deployments/gpt-x", "api/rerank-service", "rerank", "v1/models"])
    expect([base, isTaken(`https://a.test/${base}`)]).toEqual([base, true]);
});

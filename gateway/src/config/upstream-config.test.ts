import { expect, test } from "bun:test";
import { upstream } from "./upstream-config.ts";

const written = { protocol: "openai", key: "an-operator-key-of-tests" };
const streamUsageAt = (url: string, more: object = {}): string =>
  upstream.parse({ ...written, url, ...more }).streamUsage;

test("Mistral is not asked for the usage of a stream, which it refuses and tells unasked, unless the operator says so", () => {
  expect(streamUsageAt("https://api.mistral.ai/v1/")).toBe("never");
  expect(streamUsageAt("https://codestral.mistral.ai/v1")).toBe("never");
  expect(streamUsageAt("https://api.mistral.ai/v1", { stream_usage: "ask" })).toBe("ask");
  expect(streamUsageAt("https://api.openai.com/v1")).toBe("ask");
  expect(streamUsageAt("https://api.openai.com/v1", { stream_usage: "never" })).toBe("never");
});

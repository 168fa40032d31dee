// A call that cannot be translated costs nothing. Its caller is told why, in the caller's own words as far as they are short.

import { expect, test } from "bun:test";
import { models } from "../streams/model-vendors.ts";
import type { OpenAiError } from "../support/model-gateway.ts";
import { useDialects } from "./dialect-ways.ts";

const { gateway } = await useDialects();
const account = await gateway.openAccount({ creditUsd: "1000" });

const long = "x".repeat(1_000_000);
const refused: readonly (readonly [string, object])[] = [
  ["/v1/responses", { input: [{ type: long }] }],
  ["/v1/responses", { input: [{ role: "user", content: [{ type: "input_text", text: "Hi.", [long]: 1 }] }] }],
  ["/v1/responses", { input: "Hi.", reasoning: { effort: long } }],
  ["/v1/responses", { input: "Hi.", [long]: 1 }],
  ["/v1/chat/completions", { messages: [{ role: long, content: "Hi." }] }],
];

test.each(refused)("%s is refused in few words, however many it had", async (path, body) => {
  const response = await gateway.post(account, path, { model: models.anthropic, ...body });
  expect(response.status).toBe(400);
  const answer = await response.text();
  expect(answer.length).toBeLessThan(5_000);
  const { error } = JSON.parse(answer) as OpenAiError;
  expect(error.code).toBe("invalid_parameters");
  expect(error.message).toContain("xxx");
});

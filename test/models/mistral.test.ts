// Mistral's models take less than OpenAI's, whose dialect they speak: what callers of the other dialects say is told so that they take it.

import { afterAll, expect, test } from "bun:test";
import { last } from "../doubles/vendor-double.ts";
import { openOnlyModel } from "./only-model.ts";

const model = "devstral-medium";
const { vendor, gateway, close } = await openOnlyModel(model);
afterAll(close);

/** The messages that the vendor reads of what a caller posts. */
async function heardOf(path: string, body: object): Promise<readonly Record<string, unknown>[]> {
  const response = await gateway.post(await gateway.openAccount(), path, body);
  expect([response.status, response.ok ? "" : await response.text()]).toEqual([200, ""]);
  const sent = JSON.parse(Buffer.from(last(vendor).body).toString()) as {
    messages: Record<string, unknown>[];
  };
  return sent.messages;
}

const rolesOf = (messages: readonly Record<string, unknown>[]): readonly unknown[] =>
  messages.map(({ role }) => role);

test("Claude's agents, who remind the model behind every result, get an answer, whoever called before", async () => {
  const used = { type: "tool_use", name: "look_up", input: {} };
  const result = { type: "tool_result", content: "Sunny." };
  const reminder = { type: "text", text: "<system-reminder>Be brief.</system-reminder>" };
  const heard = await heardOf("/v1/messages", {
    model,
    max_tokens: 64,
    tools: [{ name: "look_up", input_schema: { type: "object" } }],
    messages: [
      { role: "user", content: "How is it in Rome?" },
      { role: "assistant", content: [{ ...used, id: "toolu_01A09q90qw90lq917835lq9" }] },
      { role: "user", content: [{ ...result, tool_use_id: "toolu_01A09q90qw90lq917835lq9" }, reminder] },
      { role: "assistant", content: [{ ...used, id: "D681PevKs" }] },
      { role: "user", content: [{ ...result, tool_use_id: "D681PevKs" }] },
    ],
  });
  expect(rolesOf(heard)).toEqual(["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]);
  expect(heard[4]).toEqual({ role: "user", content: reminder.text });
  expect(heard[6]).toMatchObject({ tool_call_id: "D681PevKs" });
});

test("calls without ids, which Gemini's callers may make, are answered one by one", async () => {
  const answered = ["f", "g"].map((name) => ({ functionResponse: { name, response: { output: name } } }));
  const heard = await heardOf(`/v1beta/models/${model}:generateContent`, {
    tools: [{ functionDeclarations: [{ name: "f" }, { name: "g" }] }],
    contents: [
      { role: "user", parts: [{ text: "Use both." }] },
      { role: "model", parts: [{ functionCall: { name: "f" } }, { functionCall: { name: "g" } }] },
      { role: "user", parts: answered },
    ],
  });
  expect(rolesOf(heard)).toEqual(["user", "assistant", "tool", "tool"]);
  const called = heard[1]?.["tool_calls"] as readonly { readonly id: string }[];
  expect(heard.slice(2).map((result) => [result["tool_call_id"], result["content"]])).toEqual([
    [called[0]?.id, "f"],
    [called[1]?.id, "g"],
  ]);
  expect(called[0]?.id).not.toBe(called[1]?.id);
});

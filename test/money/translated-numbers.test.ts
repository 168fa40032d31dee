// A call is held for by the bytes that its caller wrote. Where a vendor is told it in other words, its numbers are told as they
// were written: 1e20 is four bytes, and written out it is 21.

import { describe, expect, test } from "bun:test";
import type { Quote } from "../support/answers.ts";
import { useScriptedVendor } from "../support/scripted-vendor.ts";

const vendors = ["openai", "anthropic", "gemini"] as const;
type Vendor = (typeof vendors)[number];

const { vendor, gateway, account } = await useScriptedVendor((url) => {
  const line = (name: Vendor): string =>
    `{ protocol: ${name}, url: "${url}/${name}", key: "sk-operator-${name}-0000000000" }`;
  const price = "{ input: 1, output: 1 }";
  return `
sandbox: off
upstreams:
  openai: ${line("openai").replace("}", ", responses: translated }")}
  anthropic: ${line("anthropic")}
  gemini: ${line("gemini")}
models:
  of-openai: { via: [openai], price: ${price} }
  of-anthropic: { via: [anthropic], price: ${price} }
  of-gemini: { via: [gemini], price: ${price} }
`;
});

const answers: Readonly<Record<Vendor, object>> = {
  openai: {
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Yes." } }],
    usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
  },
  anthropic: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    stop_reason: "end_turn",
    content: [{ type: "text", text: "Yes." }],
    usage: { input_tokens: 5, output_tokens: 7 },
  },
  gemini: {
    responseId: "r",
    candidates: [{ index: 0, finishReason: "STOP", content: { role: "model", parts: [{ text: "Yes." }] } }],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 7, totalTokenCount: 12 },
  },
};
vendor.answer = ({ url }) =>
  Response.json(answers[vendors.find((name) => url.includes(`/${name}/`)) ?? "openai"]);

const written = ["1e20", "-1e20", "1E5", "1e-6", "1e+21", "1e400", "-0", "1.0", "1e20"];
/** Many enough that all else that translation adds is little beside them. */
const numbers = `[${Array.from({ length: 200 }, () => written.join(",")).join(",")}]`;
const args = `{"n":${numbers}}`;
// Where a schema should be stands no number, but who writes one pays for it as for the others.
const schema = `{"type":"object","properties":{"n":{"enum":${numbers},"anyOf":${numbers},"x-more":${numbers}},"m":1e20},"items":1e20,"maxLength":"1e20"}`;
const outputTokensMax = 50;

/** All is written by hand: whoever parsed it would have written the numbers out before the test began. */
const askedIn: Readonly<Record<Vendor | "responses", (model: string) => { path: string; body: string }>> = {
  openai: (model) => ({
    path: "/v1/chat/completions",
    body: `{"model":"${model}","max_tokens":${outputTokensMax},"messages":[{"role":"user","content":"Hi."},
      {"role":"assistant","tool_calls":[{"id":"call_0","type":"function","function":{"name":"f","arguments":${JSON.stringify(args)}}}]},
      {"role":"tool","tool_call_id":"call_0","content":"Done."}],
      "tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":${schema}}}]}`,
  }),
  anthropic: (model) => ({
    path: "/v1/messages",
    body: `{"model":"${model}","max_tokens":${outputTokensMax},"messages":[{"role":"user","content":"Hi."},
      {"role":"assistant","content":[{"type":"tool_use","id":"call_0","name":"f","input":${args}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_0","content":"Done."}]}],
      "tools":[{"name":"f","input_schema":${schema}}]}`,
  }),
  gemini: (model) => ({
    path: `/v1beta/models/${model}:generateContent`,
    body: `{"generationConfig":{"maxOutputTokens":${outputTokensMax}},"contents":[{"role":"user","parts":[{"text":"Hi."}]},
      {"role":"model","parts":[{"functionCall":{"id":"call_0","name":"f","args":${args}}}]},
      {"role":"user","parts":[{"functionResponse":{"id":"call_0","name":"f","response":${args}}}]}],
      "tools":[{"functionDeclarations":[{"name":"f","parameters":${schema}},{"name":"g","parametersJsonSchema":${schema}}]}]}`,
  }),
  responses: (model) => ({
    path: "/v1/responses",
    body: `{"model":"${model}","max_output_tokens":${outputTokensMax},"input":[{"role":"user","content":"Hi."},
      {"type":"function_call","call_id":"call_0","name":"f","arguments":${JSON.stringify(args)}},
      {"type":"function_call_output","call_id":"call_0","output":"Done."}],
      "tools":[{"type":"function","name":"f","parameters":${schema}}]}`,
  }),
};

async function post(
  path: string,
  body: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const headers = { "content-type": "application/json", ...more };
  const response = await gateway.call(account, path, { method: "POST", headers, body });
  expect(response.status, await response.clone().text()).toBe(200);
  return response;
}

const callers = ["openai", "anthropic", "gemini", "responses"] as const;

describe.each(vendors)("what is told to %s of a call with numbers written short", (native) => {
  test.each(callers)("is no more than was held for, where it was said in that of %s", async (spoken) => {
    const { path, body } = askedIn[spoken](`of-${native}`);
    const quote = (await (await post(path, body, { "x-tollgate-cost-mode": "quote" })).json()) as Quote;
    await post(path, body);
    const told = vendor.asked.at(-1)?.body ?? "";
    const held = quote.max_cost_micros_usd - outputTokensMax;
    expect(Buffer.byteLength(told)).toBeLessThanOrEqual(held);
    // Which is what its caller wrote, and what vendors say about tools.
    expect(held).toBe(body.length + 1_000);
    for (const number of written) expect(told).toContain(`,${number},`);
    expect(told).not.toContain("0000");
    expect(told).not.toContain("rawJSON");
  });
});

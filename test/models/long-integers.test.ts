// Ids of posts and orders are integers that no JavaScript number can hold, and models call tools with them. Whatever
// dialects lie between, the tool is called with every digit, and the model is told of it with every digit.

import { describe, expect, test } from "bun:test";
import { eventStream, useScriptedVendor } from "../support/scripted-vendor.ts";

const id = "1790000000000000001";
const lost = "1790000000000000000";
const args = `{"post":${id},"below":[-${id}],"share":0.25}`;

const dialects = ["openai", "anthropic", "gemini"] as const;
type DialectName = (typeof dialects)[number];

/** All is written by hand: whoever parsed it would have lost the digits before the test began. */
const whole: Readonly<Record<DialectName, string>> = {
  openai: `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls",
    "message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":
    {"name":"look_up","arguments":${JSON.stringify(args)}}}]}}],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}`,
  anthropic: `{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","stop_sequence":null,
    "content":[{"type":"tool_use","id":"call_1","name":"look_up","input":${args}}],"usage":{"input_tokens":5,"output_tokens":7}}`,
  gemini: `{"responseId":"r","modelVersion":"m","candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model",
    "parts":[{"functionCall":{"id":"call_1","name":"look_up","args":${args}}}]}}],
    "usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":7,"totalTokenCount":12}}`,
};

const event = (name: string, data: string): string => `event: ${name}\ndata: ${data}\n\n`;
const streamed: Readonly<Record<DialectName, string>> = {
  openai: `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"finish_reason":null,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"look_up","arguments":${JSON.stringify(args)}}}]}}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","delta":{}}],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}

data: [DONE]

`,
  // Anthropic itself sends the arguments in pieces; those who copy it send them whole, with the start of the block.
  anthropic: [
    event(
      "message_start",
      `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}`,
    ),
    event(
      "content_block_start",
      `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"call_1","name":"look_up","input":${args}}}`,
    ),
    event("content_block_stop", `{"type":"content_block_stop","index":0}`),
    event(
      "message_delta",
      `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":7}}`,
    ),
    event("message_stop", `{"type":"message_stop"}`),
  ].join(""),
  gemini: `data: ${whole.gemini.replaceAll("\n", " ")}\n\n`,
};

const tool = `"name":"look_up","description":"Looks up."`;
const asked: Readonly<
  Record<DialectName, (model: string, stream: boolean) => { path: string; body: string }>
> = {
  openai: (model, stream) => ({
    path: "/v1/chat/completions",
    body: `{"model":"${model}","stream":${stream},"messages":[{"role":"user","content":"Look up."},
      {"role":"assistant","tool_calls":[{"id":"call_0","type":"function","function":{"name":"look_up","arguments":${JSON.stringify(args)}}}]},
      {"role":"tool","tool_call_id":"call_0","content":"found ${id}"}],
      "tools":[{"type":"function","function":{${tool},"parameters":{"type":"object"}}}]}`,
  }),
  anthropic: (model, stream) => ({
    path: "/v1/messages",
    body: `{"model":"${model}","stream":${stream},"max_tokens":100,"messages":[{"role":"user","content":"Look up."},
      {"role":"assistant","content":[{"type":"tool_use","id":"call_0","name":"look_up","input":${args}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_0","content":"found ${id}"}]}],
      "tools":[{${tool},"input_schema":{"type":"object"}}]}`,
  }),
  gemini: (model, stream) => ({
    path: `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: `{"contents":[{"role":"user","parts":[{"text":"Look up."}]},
      {"role":"model","parts":[{"functionCall":{"id":"call_0","name":"look_up","args":${args}}}]},
      {"role":"user","parts":[{"functionResponse":{"id":"call_0","name":"look_up","response":{"found":${id}}}}]}],
      "tools":[{"functionDeclarations":[{${tool},"parameters":{"type":"OBJECT"}}]}]}`,
  }),
};

const price = "{ input: 1, output: 1 }";
const { vendor, gateway, account } = await useScriptedVendor((url) => {
  const line = (name: DialectName): string =>
    `{ protocol: ${name}, url: "${url}/${name}", key: "sk-operator-${name}-0000000000" }`;
  return `
sandbox: off
upstreams:
  openai: ${line("openai")}
  anthropic: ${line("anthropic")}
  gemini: ${line("gemini")}
models:
  of-openai: { via: [openai], price: ${price}, max_output_tokens: 1000 }
  of-anthropic: { via: [anthropic], price: ${price}, max_output_tokens: 1000 }
  of-gemini: { via: [gemini], price: ${price}, max_output_tokens: 1000 }
`;
});

let answersWhole = false;
vendor.answer = ({ url, body }) => {
  const dialect = dialects.find((name) => url.includes(`/${name}/`)) ?? "openai";
  const stream = !answersWhole && (url.includes("streamGenerate") || /"stream": ?true/.test(body));
  return stream
    ? eventStream(streamed[dialect])
    : new Response(whole[dialect], { headers: { "content-type": "application/json" } });
};

async function answerOf(spoken: DialectName, model: string, stream: boolean): Promise<string> {
  const { path, body } = asked[spoken](model, stream);
  const response = await gateway.call(account, path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return text;
}

const ways = dialects.flatMap((spoken) =>
  dialects.flatMap((native) => [false, true].map((stream) => ({ spoken, native, stream }))),
);

describe("long integers in the arguments of tools", () => {
  for (const { spoken, native, stream } of ways) {
    test(`keep their digits for ${spoken} callers of ${native}, ${stream ? "streamed" : "whole"}`, async () => {
      answersWhole = false;
      const text = await answerOf(spoken, `of-${native}`, stream);
      const heard = vendor.asked.at(-1)?.body ?? "";
      for (const told of [text, heard]) {
        expect(told).toContain(id);
        expect(told).toContain(`-${id}`);
        expect(told).not.toContain(lost);
      }
      // The call, its negative, and what the tool found.
      expect(heard.split(id)).toHaveLength(4);
    });
  }

  test("keep their digits where a vendor answers whole to who asked for a stream", async () => {
    answersWhole = true;
    for (const spoken of dialects) {
      for (const native of dialects) {
        const text = await answerOf(spoken, `of-${native}`, true);
        expect(text).toContain(id);
        expect(text).not.toContain(lost);
      }
    }
  });
});

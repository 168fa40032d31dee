// What a model calls a tool with comes as JSON from some vendors and is written again for callers of others. Nested without
// end, it could not be written, and would keep everybody else waiting until that is found out.

import { describe, expect, test } from "bun:test";
import { eventStream, useScriptedVendor } from "../support/scripted-vendor.ts";

const args = `{"a":${"[".repeat(130_000)}${"]".repeat(130_000)}}`;

const answers = {
  openai: `{"id":"c","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,
    "tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":${args}}}]}}],
    "usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}`,
  anthropic: `{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","stop_sequence":null,
    "content":[{"type":"tool_use","id":"call_1","name":"f","input":${args}}],"usage":{"input_tokens":5,"output_tokens":7}}`,
  gemini: `{"candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model","parts":[{"functionCall":
    {"id":"call_1","name":"f","args":${args}}}]}}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":7}}`,
} as const;

type Native = keyof typeof answers;

const { vendor, gateway, account, receiptOf } = await useScriptedVendor((url) => {
  const natives = Object.keys(answers);
  const upstream = (name: string): string =>
    `  ${name}: { protocol: ${name}, url: "${url}/${name}", key: "sk-operator-${name}-0000000000" }`;
  const model = (name: string): string =>
    `  of-${name}: { via: [${name}], price: { input: 1, output: 1 }, max_output_tokens: 1000 }`;
  return `sandbox: off\nupstreams:\n${natives.map(upstream).join("\n")}\nmodels:\n${natives.map(model).join("\n")}\n`;
});

/** In a dialect that the vendor does not speak. */
const ask = (native: Native, stream: boolean): Promise<Response> =>
  askAt(native === "openai" ? "/v1/messages" : "/v1/chat/completions", native, stream);

const askAt = (path: string, native: Native, stream: boolean): Promise<Response> => {
  const messages = [{ role: "user", content: "a" }];
  return gateway.post(account, path, { model: `of-${native}`, messages, stream, max_tokens: 100 });
};

/** Some send the arguments whole, with the start of the block. */
const start = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"f","input":${args}}}`;
const events = {
  openai: [
    `{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":${args}}}]}}]}`,
    `{"id":"c","choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":7}}`,
    "[DONE]",
  ],
  anthropic: [
    `{"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":5,"output_tokens":1}}}`,
    start,
    `{"type":"content_block_stop","index":0}`,
    `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`,
    `{"type":"message_stop"}`,
  ],
  gemini: [
    answers.gemini.replaceAll("\n", " "),
    `{"candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model","parts":[{"text":"b"}]}}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":7}}`,
  ],
} as const;

test.each(["openai", "anthropic", "gemini"] as const)(
  "a call that %s nests without end is passed over in its answer, which is paid for: callers can ask for such calls",
  async (native) => {
    vendor.answer = () => new Response(answers[native], { headers: { "content-type": "application/json" } });
    const response = await ask(native, false);
    expect(response.status).toBe(200);
    const told = await response.clone().text();
    expect(told.length).toBeLessThan(1_000);
    expect(told).not.toContain("call_1");
    expect(await receiptOf(response)).toMatchObject({ usage: { input_tokens: 5, output_tokens: 7 } });
  },
);

const streamOf = (data: readonly string[]): Response =>
  eventStream(data.map((each) => `data: ${each}\n\n`).join(""));

test.each([
  ["openai", '{"type":"message_stop"}'],
  ["anthropic", "[DONE]"],
  ["gemini", "[DONE]"],
] as const)(
  "an event in which %s nests arguments without end is passed over, and the stream goes on to its end",
  async (native, lastWord) => {
    vendor.answer = () => streamOf(events[native]);
    const response = await ask(native, true);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(`data: ${lastWord}\n\n`);
  },
);

/** Models nest a few hundred deep where their callers ask for it, and say with the call what it used. */
const deepArgs = `{"a":${"[".repeat(600)}${"]".repeat(600)}}`;
const wholeCalls = {
  openai: `{"id":"c","choices":[{"index":0,"finish_reason":"tool_calls","delta":{"tool_calls":[{"index":0,"id":"c",
    "function":{"name":"f","arguments":${deepArgs}}}]}}],"usage":{"prompt_tokens":5,"completion_tokens":7}}`,
  gemini: answers.gemini.replace(args, deepArgs),
} as const;

describe.each(["openai", "gemini"] as const)(
  "a stream of one event in which %s nests arguments",
  (native) => {
    const event = wholeCalls[native].replaceAll("\n", " ");
    const askAlike = (): Promise<Response> => {
      if (native === "openai") return askAt("/v1/chat/completions", native, true);
      const contents = [{ role: "user", parts: [{ text: "a" }] }];
      return gateway.post(account, "/v1beta/models/of-gemini:streamGenerateContent?alt=sse", { contents });
    };

    test("passes as it came to a caller of the same dialect, and is paid for by each", async () => {
      vendor.answer = () => streamOf([event]);
      const alike = await askAlike();
      expect(await alike.clone().text()).toContain(event);
      for (const response of [alike, await ask(native, true)]) {
        expect(await receiptOf(response)).toMatchObject({
          usage: { input_tokens: 5, output_tokens: 7 },
          usage_source: "provider",
        });
      }
    });

    test("is paid for by estimate where the vendor does not say what it used", async () => {
      vendor.answer = () => streamOf([event.replace(/,\s*"usage(Metadata)?":\{[^}]*\}/, "")]);
      const receipt = await receiptOf(await askAlike());
      expect(receipt.usage_source).toBe("estimated");
      expect(receipt.charged_micros_usd).toBeGreaterThan(0);
    });
  },
);

test.each(["openai", "anthropic", "gemini"] as const)(
  "an error nested without end with which a stream of %s begins is the end of that stream, and costs nothing",
  async (native) => {
    const error = `{"type":"error","error":{"type":"overloaded_error","code":503,"message":"m","details":${args}}}`;
    vendor.answer = () => streamOf([error]);
    const before = await gateway.balance(account);
    const response = await ask(native, true);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('"error":{');
    expect(await gateway.balance(account)).toEqual(before);
  },
);

describe("a response in which a model nests without end", () => {
  const output = `[{"type":"function_call","name":"f","arguments":"{}","more":${args}},
    {"type":"message","content":[{"type":"output_text","text":"Hello."}]}]`.replaceAll("\n", " ");
  const response = (usage: string): string =>
    `{"id":"resp_1","object":"response","status":"completed","model":"m","output":${output}${usage}}`;
  const used = ',"usage":{"input_tokens":5,"output_tokens":7}';
  const whole = (body: string) => () =>
    new Response(body, { headers: { "content-type": "application/json" } });
  const done = (body: string): string => `{"type":"response.completed","response":${body}}`;
  const respond = (stream: boolean): Promise<Response> =>
    gateway.post(account, "/v1/responses", {
      model: "of-openai",
      input: "a",
      stream,
      max_output_tokens: 100,
    });

  test.each([
    ["whole", false, whole(response(used)), "provider"],
    ["whole, without figures", false, whole(response("")), "estimated"],
    ["in a stream", true, () => streamOf([done(response(used))]), "provider"],
    ["in a stream, without figures", true, () => streamOf([done(response(""))]), "estimated"],
  ])("passes as it came, and is paid for: %s", async (_how, stream, answer, source) => {
    vendor.answer = answer;
    const got = await respond(stream);
    expect(got.status).toBe(200);
    expect(await got.clone().text()).toContain(args);
    expect(await receiptOf(got)).toMatchObject({ usage_source: source });
  });
});

// A vendor of OpenAI's dialect that refuses to be asked for its figures at the end of a stream can be sold all the same.

import { expect, test } from "bun:test";
import { asEvents, eventStream, useScriptedVendor } from "../support/scripted-vendor.ts";

const { vendor, gateway, account } = await useScriptedVendor((url) => {
  const strict = `protocol: openai, url: "${url}", key: sk-key-000000, models: []`;
  return `
upstreams:
  asked: { ${strict} }
  spared: { ${strict}, stream_usage: never }
models:
  mistral-asked: { via: [asked], price: { input: 1, output: 2 }, max_output_tokens: 1000 }
  mistral: { via: [spared], price: { input: 1, output: 2 }, max_output_tokens: 1000 }
sandbox: off
`;
});

const chunk = (members: object) => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  ...members,
});
const usage = { prompt_tokens: 500, completion_tokens: 200, total_tokens: 700 };

/** Whether the vendor tells its figures unasked. */
let tells = true;
vendor.answer = () => {
  if ("stream_options" in sent())
    return Response.json({ message: "Extra inputs are not permitted" }, { status: 422 });
  const said = { choices: [{ index: 0, delta: { role: "assistant", content: "Bonjour!" } }] };
  const last = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], ...(tells ? { usage } : {}) };
  return eventStream(`${asEvents([chunk(said), chunk(last)])}data: [DONE]\n\n`);
};

const sent = () => JSON.parse(vendor.asked.at(-1)?.body ?? "") as Record<string, unknown>;

const messages = [{ role: "user", content: "Hello." }];
const body = { model: "mistral", messages, max_tokens: 300, stream: true };

for (const [who, path, more] of [
  ["a caller of its own dialect", "/v1/chat/completions", {}],
  ["one who asks for the figures", "/v1/chat/completions", { stream_options: { include_usage: true } }],
  ["a caller of another dialect", "/v1/messages", {}],
] as const) {
  test(`such a vendor is not asked for ${who}, and billed by what it tells, or by what passed`, async () => {
    for (const [does, expected] of [
      [true, { usage_source: "provider", usage: { input_tokens: 500, output_tokens: 200 } }],
      [false, { usage_source: "estimated", usage: { output_tokens: 2 } }],
    ] as const) {
      tells = does;
      const response = await gateway.post(account, path, { ...body, ...more });
      expect(await response.text()).toContain("Bonjour!");
      expect(sent()).not.toContainKey("stream_options");
      expect(await gateway.receipt(account, response)).toMatchObject({ outcome: "succeeded", ...expected });
    }
  });
}

test("every other vendor is asked", async () => {
  const response = await gateway.post(account, "/v1/chat/completions", { ...body, model: "mistral-asked" });
  expect([response.status, sent()["stream_options"]]).toEqual([422, { include_usage: true }]);
});

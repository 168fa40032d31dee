// A vendor of OpenAI's dialect that refuses to be asked for its figures at the end of a stream can be sold all the same.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/harness.ts";

let vendor: Bun.Server<undefined>;
let gateway: TestGateway;
let account: TestAccount;
/** Whether the vendor tells its figures unasked. */
let tells = true;
let sent: Record<string, unknown> = {};

const chunk = (members: object): string =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", ...members })}\n\n`;
const usage = { prompt_tokens: 500, completion_tokens: 200, total_tokens: 700 };

beforeAll(async () => {
  vendor = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      sent = (await request.json()) as Record<string, unknown>;
      if ("stream_options" in sent)
        return Response.json({ message: "Extra inputs are not permitted" }, { status: 422 });
      const last = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], ...(tells ? { usage } : {}) };
      const said = chunk({ choices: [{ index: 0, delta: { role: "assistant", content: "Bonjour!" } }] });
      return new Response(`${said}${chunk(last)}data: [DONE]\n\n`, {
        headers: { "content-type": "text/event-stream" },
      });
    },
  });
  const strict = `protocol: openai, url: "${vendor.url.origin}", key: sk-key-000000, models: []`;
  gateway = await openTestGateway({
    config: `
upstreams:
  asked: { ${strict} }
  spared: { ${strict}, stream_usage: never }
models:
  mistral-asked: { via: [asked], price: { input: 1, output: 2 }, max_output_tokens: 1000 }
  mistral: { via: [spared], price: { input: 1, output: 2 }, max_output_tokens: 1000 }
sandbox: off
`,
  });
  account = await gateway.openAccount();
});

afterAll(async () => {
  expect(await gateway.audit()).toEqual([]);
  await gateway.close();
  await vendor.stop(true);
});

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
      expect(sent).not.toContainKey("stream_options");
      expect(await gateway.receipt(account, response)).toMatchObject({ outcome: "succeeded", ...expected });
    }
  });
}

test("every other vendor is asked", async () => {
  const response = await gateway.post(account, "/v1/chat/completions", { ...body, model: "mistral-asked" });
  expect([response.status, sent["stream_options"]]).toEqual([422, { include_usage: true }]);
});

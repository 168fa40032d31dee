import { expect, test } from "bun:test";
import { openAnthropicDouble } from "../doubles/anthropic.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import { openTestGateway } from "../support/test-gateway.ts";

const key = "an-operator-key-of-tests";

test("headers that belong to a dialect travel to an upstream of that dialect, and to no other", async () => {
  const claude = await openAnthropicDouble({ key });
  const gpt = await openOpenAiDouble({ key });
  const price = "price: { input: 1, output: 2 }, max_output_tokens: 100";
  const tollgate = await openTestGateway({
    config: `
upstreams:
  claude: { protocol: anthropic, url: "${claude.url}", key: ${key} }
  gpt: { protocol: openai, url: "${gpt.url}", key: ${key} }
models: { claude-x: { via: [claude], ${price} }, gpt-x: { via: [gpt], ${price} } }
`,
  });
  try {
    const account = await tollgate.openAccount();
    const asked = { max_tokens: 20, messages: [{ role: "user", content: "hello" }] };
    const headers = {
      "anthropic-beta": "some-feature-2026-01-01,another",
      "anthropic-version": "2023-06-01",
      "x-stainless-lang": "js",
      cookie: "a=b",
    };
    const sentTo = (double: typeof claude): Map<string, string> =>
      new Map((double.requests.at(-1)?.headers ?? []).map(([name, value]) => [name.toLowerCase(), value]));
    const post = async (path: string, model: string, body: object): Promise<void> => {
      const response = await tollgate.post(account, path, { ...body, model }, headers);
      expect({ path, model, status: response.status }).toEqual({ path, model, status: 200 });
    };
    const expectOursOnly = (): void => {
      expect(sentTo(claude).get("anthropic-beta")).toBe("some-feature-2026-01-01,another");
      expect(sentTo(claude).get("anthropic-version")).toBe("2023-06-01");
      for (const double of [claude, gpt]) {
        for (const name of ["x-stainless-lang", "cookie"]) expect(sentTo(double).has(name)).toBe(false);
      }
      expect([...sentTo(gpt).keys()].filter((name) => name.startsWith("anthropic"))).toEqual([]);
    };
    for (const model of ["claude-x", "gpt-x"]) await post("/v1/messages", model, asked);
    expectOursOnly();

    await post("/v1/messages/count_tokens", "claude-x", { messages: asked.messages });
    expect(claude.requests.at(-1)?.target).toEndWith("/messages/count_tokens");
    expectOursOnly();
  } finally {
    await tollgate.close();
    await claude.close();
    await gpt.close();
  }
});

// Refusals of what the caller asked for that vendors say with a status about the operator's key: they are the caller's to
// mend, nobody else is asked, and no alarm is raised.

import { expect, test } from "bun:test";
import { createKeeper } from "../doubles/exchange.ts";
import { openVendorDouble, type VendorDouble } from "../doubles/vendor-double.ts";
import { openTestGateway } from "../support/test-gateway.ts";

const keep = createKeeper();
const headers = { "Content-Type": "application/json" };
const key = "operator-000000000000000000";

const models = `models: { m: { via: [first, second], price: { input: 3, output: 15 }, max_output_tokens: 1000, context_tokens: 8192 } }`;
const chat = { model: "m", max_tokens: 20, messages: [{ role: "user", content: "hi" }] };
const gemini = { contents: [{ role: "user", parts: [{ text: "hi" }] }] };
const noFile = {
  error: {
    code: 403,
    message: "You do not have permission to access the File xxxxxxxxx or it may not exist.",
    status: "PERMISSION_DENIED",
  },
};
const prohibited = {
  requestId: "r",
  error: "The request seeks prohibited content.",
  tag: "PROHIBITED_CONTENT",
};
const violates = { code: "permission-denied", error: "Content violates usage guidelines. " };
const violatesAndNames = {
  code: "The caller does not have permission to execute the specified operation",
  error:
    "Content violates usage guidelines. Team: team-of-ours, API key ID: key-of-ours, Model: grok-4, Failed check: SAFETY_CHECK_TYPE_BIO",
};
const noData = (error_message: string) => ({
  meta: { request: { domain: "nobody.example" }, status: "Error", error_code: 401, error_message },
});

interface Case {
  readonly by: string;
  readonly protocol: string;
  readonly config: string;
  readonly path: string;
  /** None for what is asked for by GET. */
  readonly wish?: object;
  readonly says: readonly [status: number, body: object];
  readonly told: readonly [status: number, text: string];
}

const openaiCase = { protocol: "openai", config: models, path: "/v1/chat/completions", wish: chat };
const search = {
  protocol: "exa",
  config: "operations: { research.deep_search: { via: [first, second] } }",
  path: "/apis/v1/research/deep-search",
  wish: { query: "x" },
};
const traffic = {
  protocol: "similarweb",
  config: "operations: { traffic_analytics.website.traffic_engagement: { via: [first, second] } }",
  path: "/apis/v1/traffic_analytics/website/traffic-engagement?domain=nobody.example&metrics=visits&start_date=2026-01&end_date=2026-01",
};

const cases: readonly Case[] = [
  { by: "xAI", ...openaiCase, says: [403, violates], told: [403, "Content violates usage guidelines."] },
  {
    by: "xAI, which names the operator's team and key",
    ...openaiCase,
    says: [403, violatesAndNames],
    told: [403, "Content violates usage guidelines."],
  },
  {
    by: "xAI, to a caller of another dialect",
    ...openaiCase,
    path: "/v1/messages",
    says: [403, violatesAndNames],
    told: [403, "Content violates usage guidelines."],
  },
  {
    by: "Gemini of a file",
    protocol: "gemini",
    config: models,
    path: "/v1beta/models/m:generateContent",
    wish: gemini,
    says: [403, noFile],
    told: [403, "it may not exist"],
  },
  { by: "Exa", ...search, says: [403, prohibited], told: [403, "prohibited content"] },
  {
    by: "Similarweb of a domain that it does not know",
    ...traffic,
    says: [401, noData("Data not found")],
    told: [404, "Data not found"],
  },
];

async function ask({ protocol, config, path, wish, says: [status, body] }: Omit<Case, "told" | "by">) {
  const open = () => keep(openVendorDouble({ handlers: {} }));
  const [first, second] = [await open(), await open()];
  const at = ({ url }: VendorDouble): string => `{ protocol: ${protocol}, url: "${url}", key: "${key}" }`;
  const upstreams = `upstreams: { first: ${at(first)}, second: ${at(second)} }`;
  const gateway = await keep(openTestGateway({ config: `${upstreams}\n${config}\n` }));
  const account = await gateway.openAccount();
  first.answerNext({ status, headers, body: JSON.stringify(body) });
  second.answerNext({ status: 401, headers, body: "{}" });
  const response = wish ? await gateway.post(account, path, wish) : await gateway.call(account, path);
  const receipt = await gateway.receipt(account, response);
  return { response, receipt, second, log: gateway.logged.join("") };
}

test.each(cases)("$by: the caller is told, nobody else is asked, nothing is charged", async (each) => {
  const { response, receipt, second, log } = await ask(each);
  const text = await response.text();
  expect(response.status).toBe(each.told[0]);
  expect(text).toContain(each.told[1]);
  expect(text).not.toMatch(/team-of-ours|key-of-ours|API key/);
  expect(second.requests).toHaveLength(0);
  expect(log).not.toContain("refused the operator's key");
  expect(receipt).toMatchObject({
    outcome: "failed",
    charged_micros_usd: 0,
    attempts: [{ outcome: "answered" }],
  });
});

test.each([
  {
    by: "xAI of a team",
    ...openaiCase,
    says: [403, { code: "permission-denied", error: "Team team-of-ours is blocked." }] as const,
  },
  {
    by: "Exa of a team",
    ...search,
    says: [403, { requestId: "r", error: "Team team-of-ours is blocked.", tag: "FORBIDDEN" }] as const,
  },
  { by: "Similarweb of a key", ...traffic, says: [401, noData("invalid API key")] as const },
  { by: "Similarweb of its credits", ...traffic, says: [403, noData("Data not found")] as const },
])("any other word with such a status stays the operator's: $by", async (each) => {
  const { response, second, log } = await ask(each);
  expect([response.status, (await response.text()).includes("team-of-ours")]).toEqual([503, false]);
  expect(second.requests).toHaveLength(1);
  expect(log).toContain("refused the operator's key");
});

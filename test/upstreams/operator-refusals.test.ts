// What vendors say of the operator's account or key with a status that speaks of the request: the caller never hears it,
// another upstream is asked, and an account without money rests.

import { describe, expect, test } from "bun:test";
import { testUpstream } from "../../gateway/src/operation/test-upstream.ts";
import { createListingAsker } from "../../gateway/src/upstreams/ask-listing.ts";
import { protocols } from "../../gateway/src/upstreams/protocols.ts";
import { createKeeper } from "../doubles/exchange.ts";
import type { ScriptedAnswer } from "../doubles/scripted-answer.ts";
import { openVendorDouble, type VendorDouble } from "../doubles/vendor-double.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";

type Protocol = "openai" | "anthropic" | "gemini";

const keep = createKeeper();
const headers = { "Content-Type": "application/json" };
const key = "operator-000000000000000000";

const spoken: Record<Protocol, { readonly path: string; readonly wish: object; readonly answer: object }> = {
  openai: {
    path: "/v1/chat/completions",
    wish: { model: "gemini-3-x", max_tokens: 20, messages: [{ role: "user", content: "hi" }] },
    answer: {
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "fox" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    },
  },
  anthropic: {
    path: "/v1/messages",
    wish: { model: "gemini-3-x", max_tokens: 20, messages: [{ role: "user", content: "hi" }] },
    answer: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [{ type: "text", text: "fox" }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 5, output_tokens: 3 },
    },
  },
  gemini: {
    path: "/v1beta/models/gemini-3-x:generateContent",
    wish: { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
    answer: {
      candidates: [{ content: { role: "model", parts: [{ text: "fox" }] }, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    },
  },
};

/** How a stream of each begins, and with what it is asked for. */
const streamed: readonly {
  readonly protocol: Protocol;
  readonly path: string;
  readonly wish: object;
  readonly begun: readonly object[];
}[] = [
  {
    ...spoken.openai,
    protocol: "openai",
    wish: { ...spoken.openai.wish, stream: true },
    begun: [{ id: "c", choices: [{ index: 0, delta: { content: "fox" }, finish_reason: null }] }],
  },
  {
    protocol: "openai",
    path: "/v1/responses",
    wish: { model: "gemini-3-x", input: "hi", stream: true },
    begun: [
      { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } },
      { type: "response.output_text.delta", item_id: "msg_1", delta: "fox" },
    ],
  },
  {
    ...spoken.anthropic,
    protocol: "anthropic",
    wish: { ...spoken.anthropic.wish, stream: true },
    begun: [
      { type: "message_start", message: { ...spoken.anthropic.answer, content: [], stop_reason: null } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "fox" } },
    ],
  },
  {
    protocol: "gemini",
    path: "/v1beta/models/gemini-3-x:streamGenerateContent?alt=sse",
    wish: spoken.gemini.wish,
    begun: [{ candidates: [{ content: { role: "model", parts: [{ text: "fox" }] }, index: 0 }] }],
  },
];

interface Pair {
  readonly gateway: TestGateway;
  readonly first: VendorDouble;
  readonly second: VendorDouble;
}

async function openPair(protocol: Protocol, via = "[first, second]"): Promise<Pair> {
  const body = JSON.stringify(spoken[protocol].answer);
  const open = () => keep(openVendorDouble({ handlers: { "*": () => ({ status: 200, headers, body }) } }));
  const [first, second] = [await open(), await open()];
  const at = ({ url }: VendorDouble): string => `{ protocol: ${protocol}, url: "${url}", key: "${key}" }`;
  const gateway = await keep(
    openTestGateway({
      config: `
upstreams: { first: ${at(first)}, second: ${at(second)} }
models:
  gemini-3-x: { via: ${via}, price: { input: 3, output: 15 }, max_output_tokens: 1000, context_tokens: 8192 }
`,
    }),
  );
  return { gateway, first, second };
}

const anthropicError = (message: string, more: object = {}): object => ({
  type: "error",
  error: { type: "invalid_request_error", message, ...more },
});
const keyInvalid = {
  error: {
    code: 400,
    message: "API key not valid. Please pass a valid API key.",
    status: "INVALID_ARGUMENT",
    details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }],
  },
};
const wrongPlace = {
  error: {
    code: 400,
    message: "User location is not supported for the API use.",
    status: "FAILED_PRECONDITION",
  },
};
const incorrectKey = {
  code: "Client specified an invalid argument",
  error: "Incorrect API key provided: xa***gA. You can obtain an API key from https://console.x.ai.",
};

interface Said {
  readonly protocol: Protocol;
  readonly status: number;
  readonly body: unknown;
}

const aboutTheKey: readonly (Said & { readonly by: string })[] = [
  { by: "xAI of a wrong key", protocol: "openai", status: 400, body: incorrectKey },
  { by: "Google of a wrong key, as OpenAI", protocol: "openai", status: 400, body: [keyInvalid] },
  { by: "Google of a wrong key, in an object", protocol: "openai", status: 400, body: keyInvalid },
  { by: "Google of a wrong place, as OpenAI", protocol: "openai", status: 400, body: [wrongPlace] },
  { by: "Google of a wrong place", protocol: "gemini", status: 400, body: wrongPlace },
  {
    by: "OpenAI of an organization that is not verified",
    protocol: "openai",
    status: 400,
    body: {
      error: {
        message: "Your organization must be verified to stream this model. Please go to: https://a.example",
        type: "invalid_request_error",
        param: "stream",
        code: "unsupported_value",
      },
    },
  },
  {
    by: "Groq of a restricted organization",
    protocol: "openai",
    status: 400,
    body: {
      error: {
        message: "Organization has been restricted. Please reach out to support.",
        type: "invalid_request_error",
        code: "organization_restricted",
      },
    },
  },
  {
    by: "Anthropic of a disabled organization",
    protocol: "anthropic",
    status: 400,
    body: anthropicError("This organization has been disabled."),
  },
  ...["organization_on_hold", "cmek_key_disabled", "cmek_key_network_blocked"].map((code) => ({
    by: `Anthropic by ${code}`,
    protocol: "anthropic" as const,
    status: 400,
    body: anthropicError("No.", { details: { error_code: code, appeal_url: "https://a.example" } }),
  })),
];

const aboutCredit: readonly (Said & { readonly by: string })[] = [
  ...["API", "workspace API"].map((what) => ({
    by: `Anthropic of its ${what} usage limits`,
    protocol: "anthropic" as const,
    status: 400,
    body: anthropicError(
      `You have reached your specified ${what} usage limits. You will regain access on 2026-12-01.`,
    ),
  })),
  {
    by: "Anthropic of its tier's cap",
    protocol: "anthropic",
    status: 429,
    body: {
      type: "error",
      error: {
        type: "rate_limit_error",
        message: "No.",
        details: { error_code: "enforced_spend_limit_reached" },
      },
    },
  },
  {
    by: "Model Studio of debts",
    protocol: "openai",
    status: 400,
    body: { error: { code: "Arrearage", type: "Arrearage", message: "Access denied" } },
  },
  {
    by: "Moonshot of an empty account",
    protocol: "openai",
    status: 429,
    body: { error: { type: "exceeded_current_quota_error", message: "Your account org-a is suspended" } },
  },
  ...[400, 429].map((status) => ({
    by: "LiteLLM of a spent budget",
    protocol: "openai" as const,
    status,
    body: {
      error: {
        message: "Budget has been exceeded! Current cost: 10.51, Max budget: 10.0",
        type: "budget_exceeded",
        param: null,
        code: String(status),
      },
    },
  })),
  {
    by: "Fireworks of unpaid invoices",
    protocol: "openai",
    status: 412,
    body: {
      error: {
        message: "Account acme-corp is suspended, possibly due to reaching the monthly spending limit.",
        param: null,
        code: "PRECONDITION_FAILED",
        type: "error",
      },
    },
  },
  {
    by: "Z.ai of an empty account",
    protocol: "openai",
    status: 429,
    body: { error: { code: "1113", message: "Insufficient balance or no resource package." } },
  },
  {
    by: "Z.ai of an empty account, as Anthropic",
    protocol: "anthropic",
    status: 429,
    body: { type: "error", error: { type: "1113", message: "No resource package. Please recharge." } },
  },
  {
    by: "MiniMax of an empty account",
    protocol: "openai",
    status: 429,
    body: { error: { http_code: "429", message: "No money (1008)", type: "insufficient_balance_error" } },
  },
  {
    by: "MiniMax of an empty account, as Anthropic",
    protocol: "anthropic",
    status: 500,
    body: { type: "error", error: { type: "api_error", message: "insufficient balance (1008)" } },
  },
  ...[
    "credit_balance_exhausted",
    "project_spend_limit_exceeded",
    "organization_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
  ].map((code) => ({
    by: `OpenAI by ${code}`,
    protocol: "openai" as const,
    status: 429,
    body: { error: { code, type: "rate_limit_error", message: "No." } },
  })),
];

/** A 429 is told to nobody, so it is not among them. */
const saidWithError = [...aboutTheKey, ...aboutCredit].filter(({ status }) => status !== 429);
/** Google's lists are no answers of success. */
const saidInObjects = saidWithError.filter(({ body }) => !Array.isArray(body));
const operatorsOwn = /a\.example|x\.ai|\bkey\b|organization|usage limits|Access denied|acme|budget|balance/i;

const eventsOf = (...events: readonly unknown[]): ScriptedAnswer => ({
  status: 200,
  headers: { "Content-Type": "text/event-stream" },
  body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""),
});

const refusedKey = "an upstream refused the operator's key";
const empty = "the operator's account at an upstream is out of credit; it rests while there are others";

describe("said by a vendor about the operator", () => {
  test.each(aboutTheKey)("is asked elsewhere, and logged: $by", async ({ protocol, status, body }) => {
    const { gateway, first, second } = await openPair(protocol);
    const account = await gateway.openAccount();
    first.answerNext({ status, headers, body: JSON.stringify(body) });
    const response = await gateway.post(account, spoken[protocol].path, spoken[protocol].wish);
    expect([response.status, (await response.text()).includes("fox")]).toEqual([200, true]);
    expect(second.requests).toHaveLength(1);
    const log = gateway.logged.join("");
    expect(log).toContain(refusedKey);
    expect(log).not.toContain(empty);
  });

  test.each([...saidWithError, ...saidInObjects.map((said) => ({ ...said, status: 200 }))])(
    "is not told to the caller, with a $status: $by",
    async ({ protocol, status, body }) => {
      const { gateway, first } = await openPair(protocol, "[first]");
      const account = await gateway.openAccount();
      for (const path of new Set([spoken[protocol].path, "/v1/chat/completions"])) {
        first.answerNext({ status, headers, body: JSON.stringify(body) });
        const wish = path === spoken[protocol].path ? spoken[protocol].wish : spoken.openai.wish;
        const response = await gateway.post(account, path, wish);
        const said = await response.text();
        expect(response.status).toBe(503);
        expect(said).not.toMatch(operatorsOwn);
      }
      expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
    },
  );

  test.each(saidInObjects)(
    "is not told to the caller in a stream, as its first word or later: $by",
    async ({ protocol, body }) => {
      const { gateway, first } = await openPair(protocol, "[first]");
      const account = await gateway.openAccount();
      for (const { path, wish, begun } of streamed.filter((each) => each.protocol === protocol)) {
        first.answerNext(eventsOf(body));
        const refused = await gateway.post(account, path, wish);
        expect(refused.status).toBe(503);
        expect(await refused.text()).not.toMatch(operatorsOwn);

        first.answerNext(eventsOf(...begun, body));
        const said = await (await gateway.post(account, path, wish)).text();
        expect(said).toContain("fox");
        expect(said).toContain("provider cannot go on");
        expect(said).not.toMatch(operatorsOwn);
      }
    },
  );

  test.each(aboutCredit)(
    "says that an account is empty, which rests: $by",
    async ({ protocol, status, body }) => {
      const { gateway, first, second } = await openPair(protocol);
      const account = await gateway.openAccount();
      for (let calls = 0; calls < 3; calls++) {
        first.answerNext({ status, headers, body: JSON.stringify(body) });
        const response = await gateway.post(account, spoken[protocol].path, spoken[protocol].wish);
        expect(response.status).toBe(200);
        await response.text();
      }
      expect([first.requests.length, second.requests.length]).toEqual([1, 3]);
      const log = gateway.logged.join("");
      expect(log).toContain(empty);
      expect(log).not.toContain(refusedKey);
    },
  );

  test.each(aboutCredit.filter(({ status }) => status === 429))(
    "is nothing that clients repeat at once: $by",
    async ({ protocol, status, body }) => {
      const { gateway, first } = await openPair(protocol, "[first]");
      first.answerNext({ status, headers, body: JSON.stringify(body) });
      const account = await gateway.openAccount();
      const response = await gateway.post(account, spoken[protocol].path, spoken[protocol].wish);
      expect(response.status).toBe(429);
      expect(response.headers.get("retry-after")).toBe("60");
      expect(response.headers.get("x-should-retry")).toBe("false");
    },
  );
});

test("what the caller did wrong stays the caller's, however alike it sounds", async () => {
  for (const [protocol, body] of [
    ["openai", { error: { message: "insufficient balance is no such tool", code: "invalid" } }],
    ["openai", { error: { message: "Account acme is suspended, says no such tool", code: "invalid" } }],
    ["anthropic", anthropicError("messages: Your credit balance, this organization has been disabled.")],
    ["openai", { error: { message: "The word 'Incorrect API key provided' is too long", code: "invalid" } }],
    ["gemini", { error: { code: 400, message: "Bad file.", status: "FAILED_PRECONDITION" } }],
  ] as const) {
    const { gateway, first, second } = await openPair(protocol);
    first.answerNext({ status: 400, headers, body: JSON.stringify(body) });
    const account = await gateway.openAccount();
    const response = await gateway.post(account, spoken[protocol].path, spoken[protocol].wish);
    expect([response.status, await response.json()]).toEqual([400, body]);
    expect(second.requests).toHaveLength(0);
  }
});

test("what is wrong with a request is told without whose account its vendor knows it by", async () => {
  for (const [protocol, status, body, told] of [
    [
      "openai",
      404,
      { error: { message: "Project `proj_AbCdEfGhIjKlMnOp1234` has no model `m`", code: "model_not_found" } },
      "Project `proj_…` has no model `m`",
    ],
    [
      "openai",
      400,
      {
        error: { message: "org-AbCdEfGhIjKlMnOp1234 must be verified to stream this model", param: "stream" },
      },
      "org-… must be verified to stream this model",
    ],
    [
      "gemini",
      404,
      { error: { code: 404, message: "projects/290001234567/models/m was not found", status: "NOT_FOUND" } },
      "projects/…/models/m was not found",
    ],
  ] as const) {
    const { gateway, first } = await openPair(protocol, "[first]");
    const account = await gateway.openAccount();
    first.answerNext({ status, headers, body: JSON.stringify(body) });
    const passed = await gateway.post(account, spoken[protocol].path, spoken[protocol].wish);
    expect([passed.status, await passed.json()]).toEqual([
      status,
      { error: { ...body.error, message: told } },
    ]);
    first.answerNext({ status, headers, body: JSON.stringify(body) });
    const translated = await gateway.post(account, "/v1/messages", spoken.anthropic.wish);
    expect(await translated.json()).toMatchObject({ error: { message: told } });
  }
});

test("a list of models that is refused with a 400 about the key says so", async () => {
  const askListing = createListingAsker(protocols, 3_000);
  for (const body of [incorrectKey, [keyInvalid]]) {
    const vendor = await keep(openVendorDouble({ handlers: {} }));
    vendor.answerNext({ status: 400, headers, body: JSON.stringify(body) });
    const upstream = testUpstream({ protocol: "openai", url: vendor.url, key });
    expect(await askListing(upstream)).toEqual({ kind: "key_refused", status: 400 });
  }
});

// What the operator adds to the requests of one upstream: headers, another header for the key, parameters of every
// address. The vendors are asked what they saw.

import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { parseConfig } from "../../gateway/src/config/load-config.ts";
import { loadCatalogue } from "../../gateway/src/operation/catalogue.ts";
import type { Log } from "../../gateway/src/platform/log.ts";
import { openAnthropicDouble } from "../doubles/anthropic.ts";
import { openDashScopeDouble } from "../doubles/dashscope.ts";
import { createKeeper } from "../doubles/exchange.ts";
import { openFinancialDatasetsDouble } from "../doubles/financialdatasets.ts";
import { openGeminiDouble } from "../doubles/gemini.ts";
import { headerValues } from "../doubles/http-wire.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import { hasHeader, queryOf } from "../doubles/vendor-checks.ts";
import {
  openAttackerListener,
  openVendorDouble,
  type RecordedRequest,
  type VendorDouble,
} from "../doubles/vendor-double.ts";
import { catalogueFolder, openTestGateway, type TestAccount, type TestGateway } from "../support/harness.ts";
import { openLinking } from "../links/linking.ts";
import { createTask, poll, shiftedClock, taskPath, video } from "../tasks/task-caller.ts";

const key = "an-operator-key-of-tests";
const gateToken = "canary-gate-token-9f8e7d6c5b4a";
const price = "price: { input: 1, output: 2 }, max_output_tokens: 100";
const chat = { model: "gpt-x", messages: [{ role: "user", content: "hello" }], max_tokens: 20 };

const keep = createKeeper();

/** A gateway whose books are audited, and whose log is searched for secrets, before it is closed. */
const open = (config: string, options: Parameters<typeof openTestGateway>[0] = {}): Promise<TestGateway> =>
  keep(
    openTestGateway({ ...options, config }).then((gateway) => ({
      ...gateway,
      close: async () => {
        expect(await gateway.audit()).toEqual([]);
        const logged = gateway.logged.join("\n");
        for (const secret of [key, gateToken]) expect(logged).not.toContain(secret);
        await gateway.close();
      },
    })),
  );

const last = ({ requests }: VendorDouble): RecordedRequest => {
  const request = requests.at(-1);
  if (!request) throw new Error("nothing arrived");
  return request;
};

/** All headers of a request but those that every request to every vendor has. */
const ownHeaders = ({ headers }: RecordedRequest): Record<string, string> =>
  Object.fromEntries(
    headers.map(([name, value]) => [name.toLowerCase(), value] as const).filter(([name]) => !usual.has(name)),
  );

const usual: ReadonlySet<string> = new Set([
  "host",
  "accept",
  "accept-encoding",
  "user-agent",
  "content-type",
  "content-length",
  "x-request-id",
]);

const post = async (
  gateway: TestGateway,
  account: TestAccount,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<[status: number, text: string]> => {
  const response = await gateway.post(account, "/v1/chat/completions", body, headers);
  return [response.status, await response.text()];
};

describe("an upstream's own requests", () => {
  test("Azure OpenAI: the key alone in api-key, and api-version in every address, whole or streamed", async () => {
    const azure = await keep(
      openOpenAiDouble({
        key,
        basePath: "/openai/deployments/gpt-x",
        admits: (request) =>
          hasHeader(request, { name: "api-key", value: key }) &&
          headerValues(request.headers, "authorization").length === 0 &&
          queryOf(request).getAll("api-version").join() === "2024-10-21",
      }),
    );
    const gateway = await open(`
upstreams:
  azure:
    protocol: openai
    url: "${azure.url}"
    key: ${key}
    key_header: api-key
    query: { api-version: "2024-10-21" }
models: { gpt-x: { via: [azure], ${price} } }
`);
    const account = await gateway.openAccount();
    for (const streamed of [{}, { stream: true }, {}, { stream: true }]) {
      const [status, text] = await post(gateway, account, { ...chat, ...streamed });
      expect([status, text.includes("[DONE]")]).toEqual([200, "stream" in streamed]);
      const request = last(azure);
      expect(request.target).toBe("/openai/deployments/gpt-x/chat/completions?api-version=2024-10-21");
      expect(ownHeaders(request)).toEqual({ "api-key": key });
    }
    const response = await gateway.post(account, "/v1/responses", { model: "gpt-x", input: "hello" });
    expect([response.status, last(azure).target]).toEqual([
      200,
      "/openai/deployments/gpt-x/responses?api-version=2024-10-21",
    ]);
    expect(azure.requests).toHaveLength(5);
    expect(azure.violations).toEqual([]);
  });

  test("OpenRouter: constant headers beside the key, which callers can neither replace nor double", async () => {
    const router = await keep(openOpenAiDouble({ key }));
    const gateway = await open(`
upstreams:
  router:
    protocol: openai
    url: "${router.url}"
    key: ${key}
    headers: { HTTP-Referer: "https://example.com", X-Title: "Caf\u00e9 \\"Ex\\"" }
models: { gpt-x: { via: [router], ${price} } }
`);
    const account = await gateway.openAccount();
    const callers = {
      "http-referer": "https://evil.example",
      "x-title": "Evil",
      "api-key": "k",
      cookie: "a=b",
    };
    for (const streamed of [{}, { stream: true }]) {
      const [status] = await post(gateway, account, { ...chat, ...streamed }, callers);
      expect(status).toBe(200);
      expect(ownHeaders(last(router))).toEqual({
        authorization: `Bearer ${key}`,
        "http-referer": "https://example.com",
        "x-title": 'Caf\u00e9 "Ex"',
      });
      for (const name of ["http-referer", "x-title"])
        expect(headerValues(last(router).headers, name)).toHaveLength(1);
    }
  });

  test("a server without keys is sent none", async () => {
    const vllm = await keep(openOpenAiDouble({ key, admits: () => true }));
    const gateway = await open(`
upstreams: { vllm: { protocol: openai, url: "${vllm.url}" } }
models: { gpt-x: { via: [vllm], ${price} } }
`);
    const [status] = await post(gateway, await gateway.openAccount(), chat, { "x-api-key": key });
    expect([status, ownHeaders(last(vllm)), last(vllm).target]).toEqual([200, {}, "/v1/chat/completions"]);
  });

  test("a key in authorization is a bearer's; a vendor with another scheme gets it as a header", async () => {
    const claude = await keep(openVendorDouble({ handlers: { "*": () => ({ status: 500 }) } }));
    const baseten = await keep(openOpenAiDouble({ key, admits: () => true }));
    const gateway = await open(`
upstreams:
  claude: { protocol: anthropic, url: "${claude.url}", key: ${key}, key_header: Authorization }
  baseten: { protocol: openai, url: "${baseten.url}", headers: { Authorization: "Api-Key ${gateToken}" } }
models: { claude-x: { via: [claude], ${price} }, gpt-x: { via: [baseten], ${price} } }
`);
    const account = await gateway.openAccount();
    await post(gateway, account, { ...chat, model: "claude-x" });
    expect(ownHeaders(last(claude))).toEqual({
      "anthropic-version": "2023-06-01",
      authorization: `Bearer ${key}`,
    });
    await post(gateway, account, chat);
    expect(ownHeaders(last(baseten))).toEqual({ authorization: `Api-Key ${gateToken}` });
  });

  test("Anthropic: features of the operator's reach every call and count, beside those a caller asks for", async () => {
    const claude = await keep(openAnthropicDouble({ key }));
    const gateway = await open(`
upstreams:
  claude:
    protocol: anthropic
    url: "${claude.url}"
    key: ${key}
    headers: { anthropic-beta: operators-2026-01-01, cf-aig-authorization: "Bearer ${gateToken}" }
models: { claude-x: { via: [claude], ${price} } }
`);
    const account = await gateway.openAccount();
    const asked = { model: "claude-x", messages: chat.messages };
    const headersOf = async (path: string, body: object, headers = {}): Promise<Record<string, string>> => {
      expect((await gateway.post(account, path, body, headers)).status).toBe(200);
      return ownHeaders(last(claude));
    };
    const always = {
      "anthropic-version": "2023-06-01",
      "x-api-key": key,
      "cf-aig-authorization": `Bearer ${gateToken}`,
    };
    const callers = { "anthropic-beta": "callers-2026-02-02" };
    for (const [path, body] of [
      ["/v1/messages", { ...asked, max_tokens: 20 }],
      ["/v1/messages/count_tokens", asked],
      ["/v1/messages", { ...asked, max_tokens: 20, stream: true }],
    ] as const) {
      expect(await headersOf(path, body)).toEqual({ ...always, "anthropic-beta": "operators-2026-01-01" });
      expect(await headersOf(path, body, callers)).toEqual({
        ...always,
        "anthropic-beta": "operators-2026-01-01,callers-2026-02-02",
      });
    }
    // A caller of another dialect has no such features; the operator's are there all the same.
    expect(await headersOf("/v1/chat/completions", { ...chat, model: "claude-x" }, callers)).toEqual({
      ...always,
      "anthropic-beta": "operators-2026-01-01",
    });
  });

  test("parameters are joined with those an address has already, and say any text", async () => {
    const gemini = await keep(openGeminiDouble({ key }));
    const gateway = await open(`
upstreams:
  gemini: { protocol: gemini, url: "${gemini.url}", key: ${key}, query: { tenant: "a&b =c/\u00e9", "q[0]": "1" } }
models: { gemini-x: { via: [gemini], ${price} } }
`);
    const account = await gateway.openAccount();
    const contents = [{ role: "user", parts: [{ text: "hello" }] }];
    const own = "tenant=a%26b%20%3Dc%2F%C3%A9&q%5B0%5D=1";
    for (const [verb, query] of [
      ["generateContent", `?${own}`],
      ["streamGenerateContent", `?alt=sse&${own}`],
      ["countTokens", `?${own}`],
    ] as const) {
      const response = await gateway.post(account, `/v1beta/models/gemini-x:${verb}`, { contents });
      expect([verb, response.status, last(gemini).target]).toEqual([
        verb,
        200,
        `/v1beta/models/gemini-x:${verb}${query}`,
      ]);
      await response.text();
      expect(ownHeaders(last(gemini))).toEqual({ "x-goog-api-key": key });
    }
    expect(queryOf(last(gemini)).get("tenant")).toBe("a&b =c/\u00e9");
  });

  test("a caller's query cannot give a parameter of the operator's another value, however it is spelt", async () => {
    const vendor = await keep(openFinancialDatasetsDouble({ key }));
    const gateway = await open(`
upstreams:
  fd: { protocol: financialdatasets, url: "${vendor.url}", key: ${key}, query: { plan-id: basic } }
`);
    const account = await gateway.openAccount();
    const path = "/apis/v1/financial/financial-metrics/snapshot?";
    for (const query of [
      "ticker=AAPL",
      "plan-id=gold&ticker=AAPL",
      "ticker=AAPL&plan%2Did=gold",
      "ticker=AAPL&PLAN-ID=gold&plan-id",
    ]) {
      expect((await gateway.call(account, path + query)).status).toBe(200);
      expect(last(vendor).target).toBe("/financial-metrics/snapshot?ticker=AAPL&plan-id=basic");
    }
    expect((await gateway.call(account, `${path}ticker=AAPL&x=%20&&plan=a+b`)).status).toBe(200);
    expect(last(vendor).target).toBe("/financial-metrics/snapshot?ticker=AAPL&x=%20&&plan=a+b&plan-id=basic");
  });

  test("tasks are created, asked about and cancelled with them", async () => {
    const vendor = await keep(openDashScopeDouble({ key }));
    const clock = shiftedClock();
    const gateway = await open(
      `
upstreams:
  video:
    protocol: dashscope
    url: "${vendor.url}"
    key: ${key}
    headers: { X-DashScope-WorkSpace: ws-1, X-Gate-Token: ${gateToken} }
    query: { region: sg }
`,
      { clock },
    );
    const account = await gateway.openAccount({ creditUsd: "20" });
    const own = {
      authorization: `Bearer ${key}`,
      "x-dashscope-workspace": "ws-1",
      "x-gate-token": gateToken,
    };
    const { output } = await createTask(gateway, account, video("a fox"));
    expect(ownHeaders(last(vendor))).toEqual({ ...own, "x-dashscope-async": "enable" });
    clock.forward(60_000);
    expect((await poll(gateway, account, output.task_id)).output.task_status).toBe("RUNNING");
    const second = await createTask(gateway, account, video("a cat"));
    const cancelled = await gateway.call(account, `${taskPath(second.output.task_id)}/cancel`, {
      method: "POST",
    });
    expect(cancelled.status).toBe(200);
    const seen = vendor.requests.map(
      ({ method, target }) => `${method} ${target.replace(/[\da-f-]{36}/, "ID")}`,
    );
    expect(new Set(seen)).toEqual(
      new Set([
        "POST /api/v1/services/aigc/video-generation/video-synthesis?region=sg",
        "GET /api/v1/tasks/ID?region=sg",
        "POST /api/v1/tasks/ID/cancel?region=sg",
      ]),
    );
    for (const request of vendor.requests) {
      const { "x-dashscope-async": _, ...carried } = ownHeaders(request);
      expect(carried).toEqual(own);
    }
    // What the worker still has to ask about is nobody's concern here.
    await gateway.gateway.stop();
  });

  test("a platform hears them where it is asked for something, and not where it gives out tokens", async () => {
    const linking = await keep(
      openLinking(`    headers: { X-Gate-Token: ${gateToken} }\n    query: { tenant: acme }\n`),
    );
    const { gateway, platform } = linking;
    const account = await gateway.openAccount();
    await linking.link(account);
    expect((await linking.follow(account)).status).toBe(200);
    const heard = platform.requests.map((request) => [
      request.target.replace(/\d{5,}/, "ID"),
      headerValues(request.headers, "x-gate-token"),
      /^(\w+)/.exec(headerValues(request.headers, "authorization").join())?.[0],
    ]);
    expect(heard).toEqual([
      ["/2/oauth2/token", [], "Basic"],
      ["/2/users/me?tenant=acme", [gateToken], "Bearer"],
      ["/2/users/ID/following?tenant=acme", [gateToken], "Bearer"],
    ]);
    expect(gateway.logged.join("\n")).not.toContain(gateToken);
  });

  test("a reload puts others in force", async () => {
    const vendor = await keep(openOpenAiDouble({ key }));
    const config = (title: string): string => `
sandbox: off
upstreams:
  router: { protocol: openai, url: "${vendor.url}", key: ${key}, headers: { X-Title: ${title} }, query: { v: ${title} } }
models: { gpt-x: { via: [router], ${price} } }
`;
    const gateway = await open(config("before"));
    const account = await gateway.openAccount();
    await post(gateway, account, chat);
    const next = parseConfig(config("after"), "tollgate.yaml", {});
    await gateway.gateway.reload(await loadCatalogue([catalogueFolder]), next, undefined);
    await post(gateway, account, chat);
    expect(vendor.requests.map((request) => [request.target, ownHeaders(request)["x-title"]])).toEqual([
      ["/v1/chat/completions?v=before", "before"],
      ["/v1/chat/completions?v=after", "after"],
    ]);
  });
});

describe("secrets in headers", () => {
  const attacker = openAttackerListener();
  afterEach(async () => {
    expect([(await attacker).connections(), (await attacker).bytes()]).toEqual([0, 0]);
  });
  afterAll(async () => (await attacker).close());

  /** A vendor that says whatever it was told, then one that is asked when the first fails. */
  const openPair = async () => {
    const first = await keep(openOpenAiDouble({ key }));
    const second = await keep(openOpenAiDouble({ key: "the-key-of-the-second" }));
    const gateway = await open(`
upstreams:
  first:
    protocol: openai
    url: "${first.url}"
    key: ${key}
    headers: { Cf-Aig-Authorization: "Bearer ${gateToken}", X-Title: "A plain title" }
    query: { tenant-token: ${gateToken}-of-the-query }
  second: { protocol: openai, url: "${second.url}", key: the-key-of-the-second }
models: { gpt-x: { via: [first, second], ${price} } }
`);
    return { first, second, gateway, account: await gateway.openAccount() };
  };

  test("go to no other upstream, and nowhere that a redirect leads", async () => {
    const { first, second, gateway, account } = await openPair();
    first.answerNext({ status: 500, body: "{}" });
    expect((await post(gateway, account, chat))[0]).toBe(200);
    expect(ownHeaders(last(second))).toEqual({ authorization: "Bearer the-key-of-the-second" });
    expect(last(second).target).toBe("/v1/chat/completions");
    expect(Buffer.from(last(second).raw).includes(gateToken)).toBe(false);

    for (const status of [301, 307, 308]) {
      first.answerNext({ status, headers: { location: `${(await attacker).url}/v1/chat/completions` } });
      const [answered, text] = await post(gateway, account, chat);
      expect([answered, text.includes(gateToken)]).toEqual([502, false]);
    }
    expect(first.requests).toHaveLength(4);
  });

  test("do not come back to a caller from a vendor that repeats them, and stand in no receipt, metric or log", async () => {
    const { first, second, gateway, account } = await openPair();
    const headers = { "content-type": "application/json" };
    for (const [status, repeated, ours] of [
      [200, gateToken, 502],
      [200, key, 502],
      [400, gateToken, 503],
      [400, `?tenant-token=${gateToken}-of-the-query`, 503],
    ] as const) {
      // What was refused may be tried elsewhere, where it is refused as well; what may be done and paid for may not.
      if (status === 400) second.answerNext({ status: 401, headers, body: "{}" });
      first.answerNext({ status, headers, body: JSON.stringify({ error: { message: repeated } }) });
      const response = await gateway.post(account, "/v1/chat/completions", chat);
      const receipt = await gateway.call(account, `/v1/requests/${response.headers.get("x-request-id")}`);
      const told = `${await response.text()}${await receipt.text()}${JSON.stringify([...response.headers])}`;
      expect([repeated, response.status, told.includes(gateToken), told.includes(key)]).toEqual([
        repeated,
        ours,
        false,
        false,
      ]);
    }
    expect(second.requests).toHaveLength(2);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    const contract = await (await fetch(`${gateway.url}/openapi/account.json`)).text();
    for (const said of [metrics, contract]) expect(said).not.toContain(gateToken);
  });

  test("nor does a password in the address, alone or in the word in which it is sent", async () => {
    const password = "p@ssword-of-the-address";
    const basic = btoa(`ada:${password}`);
    const vendor = await keep(openOpenAiDouble({ key }));
    const address = new URL(vendor.url);
    Object.assign(address, { username: "ada", password: encodeURIComponent(password) });
    let log: Log | undefined;
    const gateway = await open(
      `
upstreams: { router: { protocol: openai, url: "${address.href}", key: ${key}, key_header: api-key } }
models: { gpt-x: { via: [router], ${price} } }
`,
      {
        wrap: (parts) => {
          log = parts.log;
          return parts;
        },
      },
    );
    const account = await gateway.openAccount();
    const headers = { "content-type": "application/json" };
    for (const repeated of [password, `Basic ${basic}`, address.href]) {
      vendor.answerNext({ status: 400, headers, body: JSON.stringify({ error: { message: repeated } }) });
      const [status, text] = await post(gateway, account, chat);
      expect([status, text.includes(repeated)]).toEqual([503, false]);
      log?.warn("somebody writes it down", { repeated });
    }
    expect(ownHeaders(last(vendor))).toEqual({ authorization: `Basic ${basic}`, "api-key": key });
    const logged = gateway.logged.join("");
    expect(logged).toContain("somebody writes it down");
    for (const secret of [password, encodeURIComponent(password), basic])
      expect(logged).not.toContain(secret);
  });

  test("do not come back in the middle of a stream", async () => {
    const { first, gateway, account } = await openPair();
    const chunk = (content: string): string =>
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content } }] })}\n\n`;
    const body = `${chunk("Hello")}${chunk(`told ${gateToken}`)}${chunk("bye")}data: [DONE]\n\n`;
    first.answerNext({ status: 200, headers: { "content-type": "text/event-stream" }, body });
    const [status, text] = await post(gateway, account, { ...chat, stream: true });
    expect(status).toBe(200);
    expect(text).toContain("Hello");
    for (const withheld of [gateToken, "bye", "[DONE]"]) expect(text).not.toContain(withheld);
  });

  test("are told from what may stand in any answer, which passes", async () => {
    const { first, gateway, account } = await openPair();
    const headers = { "content-type": "application/json" };
    first.answerNext({ status: 400, headers, body: '{"error":{"message":"A plain title is no title"}}' });
    expect(await post(gateway, account, chat)).toEqual([
      400,
      '{"error":{"message":"A plain title is no title"}}',
    ]);
  });

  test("are hidden in the log whoever writes them there, in whole and in any part", async () => {
    const quoted = 'say "friend" and enter';
    const clientSecret = "a-secret-of-the-platform-0123";
    const gateway = await open(
      `
upstreams:
  router:
    protocol: openai
    url: "http://127.0.0.1:9"
    key: acme-gate-0123456789abcdef
    headers: { X-Gate: acme-gate, X-Word: ${JSON.stringify(quoted)}, X-Auth: "Token ${gateToken}" }
  platform:
    protocol: x
    url: "http://127.0.0.1:9"
    authorize_url: "https://platform.example/authorize"
    token_url: "https://platform.example/token"
    client_id: app-1
    client_secret: ${clientSecret}
`,
      {
        wrap: (parts) => ({
          ...parts,
          forwarder: {
            prepare: () => {
              const written = `acme-gate-0123456789abcdef, ${quoted}, ${gateToken}, Token ${gateToken}`;
              throw new Error(`${written}, ${clientSecret}`);
            },
          },
        }),
      },
    );
    const account = await gateway.openAccount();
    expect((await post(gateway, account, { ...chat, model: "gpt-4o" }))[0]).toBe(500);
    const lines = gateway.logged.filter((line) => line.includes("Error: "));
    expect(lines).not.toEqual([]);
    for (const line of lines) {
      expect(line).toContain("Error: [secret], [secret], [secret], [secret], [secret]");
      for (const secret of ["0123456789abcdef", "friend", gateToken, clientSecret])
        expect(line).not.toContain(secret);
    }
  });
});

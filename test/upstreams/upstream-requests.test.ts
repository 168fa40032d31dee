// What the operator adds to the requests of one upstream: headers, another header for the key, parameters of every
// address. The vendors are asked what they saw.

import { describe, expect, test } from "bun:test";
import { parseConfig } from "../../gateway/src/config/load-config.ts";
import { loadCatalogue } from "../../gateway/src/operation/catalogue.ts";
import { openAnthropicDouble } from "../doubles/anthropic.ts";
import { openDashScopeDouble } from "../doubles/dashscope.ts";
import { openFinancialDatasetsDouble } from "../doubles/financialdatasets.ts";
import { openGeminiDouble } from "../doubles/gemini.ts";
import { headerValues } from "../doubles/http-wire.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import { hasHeader, queryOf } from "../doubles/vendor-checks.ts";
import { last, openVendorDouble } from "../doubles/vendor-double.ts";
import { openLinking } from "../links/linking.ts";
import { catalogueFolder } from "../support/project-folder.ts";
import { chat } from "../support/purchases.ts";
import { createTask, poll, shiftedClock, taskPath, video } from "../tasks/task-caller.ts";
import { gateToken, key, ownHeaders, post, price, useOwnRequests } from "./own-requests.ts";

const { keep, open } = useOwnRequests();

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

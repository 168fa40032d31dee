import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { openFinancialDatasetsDouble, type FinancialDatasetsBilled } from "../doubles/financialdatasets.ts";
import { openJinaDouble, type JinaBilled } from "../doubles/jina.ts";
import { openOpenAiDouble, type OpenAiBilled } from "../doubles/openai.ts";
import { openTikHubDouble, type TikHubBilled } from "../doubles/tikhub.ts";
import { omitted, type BookkeepingDouble, type JsonValue } from "../doubles/vendor-checks.ts";
import { openAttackerListener, type AttackerListener, type VendorDouble } from "../doubles/vendor-double.ts";
import { chatBody, snapshotPath, tagPath } from "../support/purchases.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { json, roomyTiers } from "./bad-input-gateway.ts";
import { flat, read } from "./error-shapes.ts";
import { readBooks } from "./nothing-happened.ts";
import { rawRequest, sendForOne } from "./raw-request.ts";

describe("what vendors can say", () => {
  let vendors: TestGateway;
  let caller: TestAccount;
  let financial: BookkeepingDouble<FinancialDatasetsBilled>;
  let model: BookkeepingDouble<OpenAiBilled>;
  let ranker: BookkeepingDouble<JinaBilled>;
  let reseller: BookkeepingDouble<TikHubBilled>;
  let attacker: AttackerListener;
  let statedUsage: JsonValue | typeof omitted = omitted;
  let statedCode: JsonValue = 200;

  beforeAll(async () => {
    const key = "vendor-key-for-tests";
    financial = await openFinancialDatasetsDouble({ key });
    model = await openOpenAiDouble({ key, models: ["gpt-4o"] });
    ranker = await openJinaDouble({ key, usage: () => statedUsage });
    reseller = await openTikHubDouble({ key, code: () => statedCode });
    attacker = await openAttackerListener();
    vendors = await openTestGateway({
      config: `
${roomyTiers}
upstreams:
  findata:  { protocol: financialdatasets, url: "${financial.url}", key: ${key} }
  openai:   { protocol: openai, url: "${model.url}", key: ${key} }
  jina:     { protocol: jina, url: "${ranker.url}", key: ${key} }
  reseller: { protocol: tikhub, url: "${reseller.url}", key: ${key} }
`,
    });
    caller = await vendors.openAccount({ tier: "enterprise", creditUsd: "100" });
  });

  afterAll(async () => {
    await vendors.close();
    for (const double of [financial, model, ranker, reseller, attacker]) await double.close();
  });

  const textOf = ({ requests }: VendorDouble) => Buffer.from(requests.at(-1)?.body ?? []).toString();

  const charged = async (act: () => Promise<Response>) => {
    const before = await vendors.balance(caller);
    const answered = await read(act());
    const after = await vendors.balance(caller);
    expect(after.held).toBe(0);
    return { ...answered, micros: before.balance - after.balance };
  };

  test("the body and Content-Length of a GET stop here", async () => {
    const answer = await sendForOne(
      vendors.port,
      rawRequest({
        line: `GET ${snapshotPath} HTTP/1.1`,
        key: caller,
        lines: ["Content-Length: 3", "X-Custom: mine"],
        body: "abc",
      }),
    );
    expect(answer.status).toBe(200);
    const sent = financial.requests.at(-1);
    expect(sent?.body).toHaveLength(0);
    const names = sent?.headers.map(([name]) => name.toLowerCase()) ?? [];
    expect(names).not.toContain("content-length");
    expect(names).not.toContain("transfer-encoding");
    expect(names).not.toContain("authorization");
    expect(names).not.toContain("x-custom");
    expect(financial.violations).toEqual([]);
  });

  test("without a limit of its own, a chat is held under the very limit that is sent", async () => {
    for (const further of [{}, { max_tokens: null }]) {
      const body = chatBody(further);
      const response = await vendors.post(caller, "/v1/chat/completions", body);
      expect(response.status).toBe(200);
      const sent = JSON.parse(textOf(model)) as Record<string, unknown>;
      expect(sent["max_tokens"]).toBe(16_384);
      const receipt = await read(
        vendors.call(caller, `/v1/requests/${response.headers.get("x-request-id")}`),
      );
      const worst = Math.ceil(16_384 * 10 + JSON.stringify(body).length * 2.5);
      expect(receipt.body).toHaveProperty("held_micros_usd", worst);
    }
  });

  test("of two limits given at once the larger is held", async () => {
    const quote = { "X-Tollgate-Cost-Mode": "quote" };
    const both = chatBody({ max_tokens: 16_384, max_completion_tokens: 1 });
    const { body } = await read(vendors.post(caller, "/v1/chat/completions", both, quote));
    expect(body).toHaveProperty(
      "max_cost_micros_usd",
      Math.ceil(16_384 * 10 + JSON.stringify(both).length * 2.5),
    );
  });

  test("a body cannot choose where its call goes", async () => {
    const elsewhere = {
      api_base: attacker.url,
      base_url: attacker.url,
      endpoint: attacker.url,
      proxy: attacker.url,
      extra_headers: { "X-Stolen": "1" },
      user_api_key: "mine",
    };
    expect((await vendors.post(caller, "/v1/chat/completions", chatBody(elsewhere))).status).toBe(200);
    expect(
      (await vendors.post(caller, "/v1/rerank", { query: "a", documents: ["b"], ...elsewhere })).status,
    ).toBe(200);
    for (const vendor of [model, ranker]) {
      const sent = vendor.requests.at(-1);
      expect(sent?.headers.map(([name]) => name.toLowerCase())).not.toContain("x-stolen");
      expect(textOf(vendor)).toContain('"model"');
      for (const name of Object.keys(elsewhere)) expect(textOf(vendor)).not.toContain(name);
    }
    expect(attacker.connections()).toBe(0);
  });

  test("a reseller's answer is paid for only when HTTP and the integer 200 agree", async () => {
    const ask = () => vendors.call(caller, tagPath);
    statedCode = 200;
    expect(await charged(ask)).toMatchObject({ status: 200, micros: 1_450 });
    for (const code of ["200", 400, 200.5, true, null, [200]] as const) {
      statedCode = code;
      expect(await charged(ask)).toMatchObject({ status: 200, micros: 0, body: { code } });
    }
    statedCode = 200;
    reseller.answerNext({ status: 500, headers: json, body: '{"code":200,"data":null}' });
    expect(await charged(ask)).toMatchObject({ status: 500, micros: 0, body: { code: 200, data: null } });
    reseller.answerNext({ kind: "not-json", body: "<h1>hello</h1>", contentType: "text/html" });
    expect(await charged(ask)).toMatchObject({ status: 200, micros: 0, body: "<h1>hello</h1>" });
  });

  test("a redirect is a failed call, by the upstream's transport, and is never followed", async () => {
    for (const status of [301, 302, 307, 308] as const) {
      reseller.answerNext({ kind: "redirect", status, location: `${attacker.url}/x` });
      const managed = await charged(() => vendors.call(caller, tagPath));
      expect(managed).toMatchObject({
        status: 503,
        micros: 0,
        body: { error: { code: "provider_unavailable", retryable: false, request_id: managed.requestId } },
      });
      financial.answerNext({ kind: "redirect", status, location: `${attacker.url}/x` });
      const native = await charged(() => vendors.call(caller, snapshotPath));
      expect(native.micros).toBe(0);
      flat(502, "provider_request_failed")(native);
    }
    expect(attacker.connections()).toBe(0);
  });

  test("whatever usage an upstream states, the charge is one, whole, and within the hold", async () => {
    const words = "word ".repeat(400);
    const body = { query: "a", documents: [words] };
    // Held: every byte a token, and eight more for the document, at 0.05 micro-USD each.
    const heldTokens = 1 + words.length + 8;
    const estimated = Math.ceil((1 + words.length) / 4);
    const stated: readonly (readonly [JsonValue | typeof omitted, number])[] = [
      [{ total_tokens: 100 }, 100],
      [{ total_tokens: 0 }, 0],
      [{ total_tokens: -5 }, 0],
      [{ total_tokens: 41.5 }, 41],
      [{ total_tokens: "12" }, estimated],
      [{}, estimated],
      [omitted, estimated],
      [{ total_tokens: heldTokens }, heldTokens],
      [{ total_tokens: heldTokens * 10 }, heldTokens],
      [{ total_tokens: 1e30 }, heldTokens],
    ];
    for (const [usage, tokensPaid] of stated) {
      statedUsage = usage;
      const name = JSON.stringify(usage) ?? "omitted";
      const before = await readBooks(vendors.data);
      const call = await charged(() => vendors.post(caller, "/v1/rerank", body));
      const after = await readBooks(vendors.data);
      expect(call.status).toBe(200);
      // Fractions of a micro are carried to the next call, so one call may be a micro off by itself.
      expect({ name, off: Math.abs(call.micros - tokensPaid * 0.05) <= 1 }).toEqual({ name, off: true });
      expect((after.rows["call"] ?? 0) - (before.rows["call"] ?? 0)).toBe(1);
    }
    expect(await vendors.audit()).toEqual([]);
  });

  test("an answer cut off by the upstream is a failure that costs nothing", async () => {
    for (const kind of ["reset", "close"] as const) {
      for (const afterBytes of [0, 40, -1]) {
        financial.answerNext({ kind, afterBytes });
        const call = await charged(() => vendors.call(caller, snapshotPath));
        expect(call.micros).toBe(0);
        flat(502, "provider_request_failed")(call);
      }
    }
    expect(await vendors.audit()).toEqual([]);
  });

  // The same of streams: streams.test.ts.
});

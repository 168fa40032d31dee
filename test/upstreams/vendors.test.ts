// The gateway in front of each vendor it can speak to: what leaves, what comes back, what it costs.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/harness.ts";
import { openCohereDouble } from "../doubles/cohere.ts";
import { openFinancialDatasetsDouble } from "../doubles/financialdatasets.ts";
import { headerValues } from "../doubles/http-wire.ts";
import { openJinaDouble } from "../doubles/jina.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import { sendRaw } from "../doubles/raw-http.ts";
import { openTikHubDouble } from "../doubles/tikhub.ts";
import { openAttackerListener, type RecordedRequest, type VendorDouble } from "../doubles/vendor-double.ts";
import { openVoyageDouble } from "../doubles/voyage.ts";

const keys = {
  openai: "sk-operator-openai-000000000000",
  jina: "jina_operator_0000000000000000",
  cohere: "co-operator-000000000000000000",
  voyage: "pa-operator-000000000000000000",
  tikhub: "th-operator-000000000000000000",
  financialdatasets: "fd-operator-000000000000000000",
} as const;

type VendorName = keyof typeof keys;

const openDoubles = async () => ({
  openai: await openOpenAiDouble({ key: keys.openai }),
  jina: await openJinaDouble({ key: keys.jina }),
  cohere: await openCohereDouble({ key: keys.cohere }),
  voyage: await openVoyageDouble({ key: keys.voyage }),
  tikhub: await openTikHubDouble({ key: keys.tikhub }),
  financialdatasets: await openFinancialDatasetsDouble({ key: keys.financialdatasets }),
});

/** As an operator would write it. */
const configFor = (url: (vendor: VendorName) => string): string => `
upstreams:
  openai: { protocol: openai, url: "${url("openai")}", key: "${keys.openai}" }
  jina: { protocol: jina, url: "${url("jina")}", key: "${keys.jina}" }
  cohere: { protocol: cohere, url: "${url("cohere")}", key: "${keys.cohere}" }
  voyage: { protocol: voyage, url: "${url("voyage")}", key: "${keys.voyage}" }
  reseller: { protocol: tikhub, url: "${url("tikhub")}", key: "${keys.tikhub}" }
  findata: { protocol: financialdatasets, url: "${url("financialdatasets")}", key: "${keys.financialdatasets}" }
models:
  gpt-x: { via: [openai], price: { input: 2.5, cache_read: 0.25, output: 10 }, max_output_tokens: 16384 }
operations:
  financial.metrics.snapshot: { price_usd: 0.048, via: [findata] }
`;

const snapshotPath = "/apis/v1/financial/financial-metrics/snapshot";
const tagPath = "/apis/v1/reseller/social_c/web/fetch_tag_detail";
const chatPath = "/v1/chat/completions";

const ranking = {
  query: "red fox",
  documents: ["a blue whale", "the red fox", "one fox", "no animal", "another fox"],
};
const chat = { model: "gpt-x", messages: [{ role: "user", content: "Say it." }], max_tokens: 20 };

interface Vendor {
  readonly name: VendorName;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: object;
  /** The same request as the vendor itself takes it. */
  readonly own: { readonly path: string; readonly body?: object };
  readonly keyHeader: readonly [name: string, value: string];
  readonly contentKept: boolean;
  /** Pico-USD a unit, by the configuration above and the specification. */
  readonly prices: Readonly<Record<string, number>>;
}

const vendors: readonly Vendor[] = [
  {
    name: "financialdatasets",
    method: "GET",
    path: `${snapshotPath}?ticker=AAPL`,
    own: { path: "/financial-metrics/snapshot?ticker=AAPL" },
    keyHeader: ["x-api-key", keys.financialdatasets],
    contentKept: true,
    prices: { call: 48_000_000_000 },
  },
  {
    name: "tikhub",
    method: "GET",
    path: `${tagPath}?tag_name=fox`,
    own: { path: "/tiktok/web/fetch_tag_detail?tag_name=fox" },
    keyHeader: ["authorization", `Bearer ${keys.tikhub}`],
    contentKept: true,
    prices: { call: 1_450_000_000 },
  },
  {
    name: "openai",
    method: "POST",
    path: chatPath,
    body: chat,
    own: { path: "/chat/completions", body: chat },
    keyHeader: ["authorization", `Bearer ${keys.openai}`],
    contentKept: true,
    prices: { input_tokens: 2_500_000, output_tokens: 10_000_000, cache_read_tokens: 250_000 },
  },
  ...(["jina", "cohere", "voyage"] as const).map((name): Vendor => {
    const body = { model: { jina: "jina-reranker-v3", cohere: "rerank-v3.5", voyage: "rerank-2.5" }[name] };
    return {
      name,
      method: "POST",
      path: "/v1/rerank",
      body: { ...body, ...ranking },
      own: { path: "/rerank", body: { ...body, ...ranking } },
      keyHeader: ["authorization", `Bearer ${keys[name]}`],
      contentKept: false,
      prices: { input_tokens: 50_000 },
    };
  }),
];

let doubles: Awaited<ReturnType<typeof openDoubles>>;
let gateway: TestGateway;

beforeAll(async () => {
  doubles = await openDoubles();
  gateway = await openTestGateway({ config: configFor((vendor) => doubles[vendor].url) });
});

afterAll(async () => {
  expect(await gateway.audit()).toEqual([]);
  expect(await gateway.sandbox.book()).toEqual([]);
  for (const double of Object.values(doubles)) expect(double.violations).toEqual([]);
  await gateway.close();
  await Promise.all(Object.values(doubles).map((double) => double.close()));
});

const send = (
  account: TestAccount,
  vendor: Vendor,
  headers: Record<string, string> = {},
): Promise<Response> =>
  vendor.body === undefined
    ? gateway.call(account, vendor.path, { headers })
    : gateway.post(account, vendor.path, vendor.body, headers);

const receiptOf = (account: TestAccount, response: Response, at = gateway) => at.receipt(account, response);

const last = (double: VendorDouble): RecordedRequest => {
  const request = double.requests.at(-1);
  if (!request) throw new Error("nothing arrived");
  return request;
};

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** Ids count up from call to call; everything else of two equal calls is equal. */
const withoutIds = (text: string): string => text.replace(/0{6,}\d+/g, "#");

describe.each(vendors.filter(({ contentKept }) => contentKept))("$name", (vendor) => {
  test("the content is the vendor's own, to the byte", async () => {
    const account = await gateway.openAccount();
    const through = await send(account, vendor);
    const direct = await fetch(doubles[vendor.name].url + vendor.own.path, {
      method: vendor.method,
      headers: { "content-type": "application/json", [vendor.keyHeader[0]]: vendor.keyHeader[1] },
      ...(vendor.own.body === undefined ? {} : { body: JSON.stringify(vendor.own.body) }),
    });
    expect(withoutIds(await through.text())).toBe(withoutIds(await direct.text()));
    expect(through.headers.get("content-type")).toBe(direct.headers.get("content-type"));
  });
});

describe.each(vendors)("$name", (vendor) => {
  test("a call succeeds, and costs what the vendor's book says times the price", async () => {
    const double = doubles[vendor.name];
    const before = double.book.length;
    const account = await gateway.openAccount();
    const responses: Response[] = [];
    for (let calls = 0; calls < 3; calls++) responses.push(await send(account, vendor));

    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    const entries = double.book.slice(before);
    expect(entries).toHaveLength(3);
    let exactPico = 0;
    for (const [at, response] of responses.entries()) {
      const receipt = await receiptOf(account, response);
      const used = usageByBook(vendor.name, entries[at]?.billed);
      if (used) expect(receipt.usage).toEqual(withoutZeros(used));
      expect(receipt).toMatchObject({ status: "settled", outcome: "succeeded", http_status: 200 });
      expect(receipt.attempts.map(({ outcome }) => outcome)).toEqual(["answered"]);
      expect(response.headers.get("x-tollgate-cost-micros-usd")).toBe(String(receipt.charged_micros_usd));
      for (const [unit, quantity] of Object.entries(receipt.usage)) {
        exactPico += quantity * (vendor.prices[unit] ?? NaN);
      }
    }
    const { balance, held } = await gateway.balance(account);
    expect({ spent: 2_000_000 - balance, held }).toEqual({ spent: Math.floor(exactPico / 1e6), held: 0 });
  });

  test("an error of the vendor's keeps its status, body and content type, and costs nothing", async () => {
    const errors = [
      { status: 422, type: "application/problem+json; charset=utf-8", body: '{ "detail" : "caf\\u00e9" }' },
      { status: 404, type: "text/html", body: "<h1>no such thing</h1>" },
      {
        status: 500,
        type: "application/json",
        body: '{"code":200,"snapshot":{},"usage":{"total_tokens":9}}',
      },
    ];
    for (const { status, type, body } of errors) {
      const account = await gateway.openAccount();
      doubles[vendor.name].answerNext({ status, headers: { "Content-Type": type }, body });
      const response = await send(account, vendor);
      expect([response.status, response.headers.get("content-type"), await response.text()]).toEqual([
        status,
        type,
        body,
      ]);
      expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
      expect(await receiptOf(account, response)).toMatchObject({ status: "released", outcome: "failed" });
    }
  });

  test("the vendor sees the operator's key in its header and nothing of the caller's", async () => {
    const account = await gateway.openAccount();
    const canary = "canary-of-the-caller";
    const response = await send(account, vendor, {
      cookie: `session=${canary}`,
      "x-forwarded-for": "203.0.113.7",
      forwarded: "for=203.0.113.7",
      "user-agent": canary,
      referer: `https://${canary}.example/`,
      "accept-language": canary,
      "x-api-key": canary,
      "api-key": canary,
      "openai-organization": canary,
      "x-user-id": canary,
      "x-request-id": canary,
      traceparent: canary,
    });
    expect(response.status).toBe(200);

    const request = last(doubles[vendor.name]);
    const [keyName, keyValue] = vendor.keyHeader;
    const always = ["accept", "accept-encoding", "host", "user-agent", "x-request-id", keyName];
    const allowed = vendor.body === undefined ? always : [...always, "content-type", "content-length"];
    const names = request.headers.map(([name]) => name.toLowerCase());
    expect(names.toSorted()).toEqual(allowed.toSorted());
    expect(headerValues(request.headers, keyName)).toEqual([keyValue]);
    expect(headerValues(request.headers, "x-request-id")).toEqual([
      response.headers.get("x-request-id") ?? "",
    ]);

    const wire = textOf(request.raw);
    expect(wire).not.toContain(canary);
    expect(wire).not.toContain("203.0.113.7");
    expect(wire).not.toContain(account.key);
    for (const [name, key] of Object.entries(keys)) {
      expect(wire.split(key).length - 1).toBe(name === vendor.name ? 1 : 0);
    }
  });

  test("nothing says sandbox when the vendor served", async () => {
    const response = await send(await gateway.openAccount(), vendor);
    expect(response.headers.has("x-tollgate-upstream")).toBe(false);
  });
});

/** What the vendor put on its invoice, in our units; undefined where it bills in others. */
/** A receipt leaves out what was not used. */
const withoutZeros = (used: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(used).filter(([, count]) => count > 0));

const usageByBook = (vendor: VendorName, billed: object | undefined): Record<string, number> | undefined => {
  if (vendor === "financialdatasets" || vendor === "tikhub") return { call: 1 };
  if (vendor === "cohere") return undefined;
  const { usage } = billed as { usage: Record<string, number> };
  return vendor === "openai"
    ? {
        input_tokens: usage["prompt_tokens"] ?? -1,
        output_tokens: usage["completion_tokens"] ?? -1,
        cache_read_tokens: 0,
      }
    : { input_tokens: usage["total_tokens"] ?? -1 };
};

test("a snapshot that is none is passed on and costs nothing", async () => {
  const account = await gateway.openAccount();
  for (const snapshot of [null, [], "AAPL", 7, undefined]) {
    const body = JSON.stringify({ snapshot });
    doubles.financialdatasets.answerNext({
      status: 200,
      headers: { "Content-Type": "application/json" },
      body,
    });
    const response = await gateway.call(account, `${snapshotPath}?ticker=AAPL`);
    expect([response.status, await response.text()]).toEqual([200, body]);
    expect([body, response.headers.get("x-tollgate-cost-micros-usd")]).toEqual([body, "0"]);
  }
});

describe("what leaves", () => {
  test("a query travels byte for byte, whatever its encoding, order and repetitions", async () => {
    const account = await gateway.openAccount();
    for (const query of [
      "tag_name=a%2Fb%2e%2E%2F",
      "tag_name=%E4%BD%A0%e5%a5%bd",
      "tag_name=a+b%20c",
      "tag_name=x&lang=en&lang=de&lang=",
      "z=1&tag_name=x&a=2&&=&b=&c",
      "tag_name=%zz%&bad=%c3%28",
      "tag_name=a;b=c?d=e??",
      "tag_name=x%0d%0aX-Injected:%201%00",
      "tag_name={x}|^`[1]\\~!*()@:/,$",
      "%74ag_name=escaped",
      `tag_name=x&long=${"0123456789".repeat(300)}`,
    ]) {
      await sendRaw(
        gateway.port,
        `GET ${tagPath}?${query} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${account.key}\r\n\r\n`,
        { expectResponses: 1 },
      );
      expect(last(doubles.tikhub).target).toBe(`/api/v1/tiktok/web/fetch_tag_detail?${query}`);
    }
  });

  test("characters a URL may not hold raw arrive percent-encoded and mean the same", async () => {
    const account = await gateway.openAccount();
    const raw = new TextEncoder().encode(
      `GET ${tagPath}?tag_name='a'"b"<c>é HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${account.key}\r\n\r\n`,
    );
    await sendRaw(gateway.port, raw, { expectResponses: 1 });
    const [, query] = last(doubles.tikhub).target.split("?");
    expect(new URLSearchParams(query).get("tag_name")).toBe(`'a'"b"<c>é`);
  });

  test("a chat body with a limit is forwarded untouched, byte for byte", async () => {
    const account = await gateway.openAccount();
    const body =
      '{ "model":"gpt-x",\n "messages" : [{"role":"user","content":"\\u0041\\ud83d\\ude00 \\/ é"}], "max_tokens":5,' +
      ' "seed":9007199254740993123, "x_unknown":{"a":1.0,"b":1e400,"c":2}, "n":null }';
    doubles.openai.answerNext({ status: 200, body: completion({}) });
    const response = await gateway.post(account, chatPath, body);
    expect(response.status).toBe(200);
    expect(textOf(last(doubles.openai).body)).toBe(body);
  });

  test("without a limit the model's own is added, it is what the hold was computed from, and no byte of another member changes", async () => {
    const account = await gateway.openAccount();
    const written =
      '"model":"gpt-x", "messages" : [{"role":"user","content":"\\u0041 é"}] , "seed":9007199254740993123';
    const kept =
      '"model":"gpt-x","messages" : [{"role":"user","content":"\\u0041 é"}],"seed":9007199254740993123';
    for (const [body, expected] of [
      [`{${written}}`, `{${kept},"max_tokens":16384}`],
      [`{"max_completion_tokens":null,${written}}`, `{${kept},"max_tokens":16384}`],
      [`{"max_tokens":null,${written}}`, `{"max_tokens":16384,${kept}}`],
    ] as const) {
      doubles.openai.answerNext({ status: 200, body: completion({}) });
      const response = await gateway.post(account, chatPath, body);
      expect(response.status).toBe(200);
      const sent = textOf(last(doubles.openai).body);
      expect(sent).toBe(expected);
      const bytes = Buffer.byteLength(body);
      const receipt = await receiptOf(account, response);
      expect(receipt.held_micros_usd).toBe(Math.ceil(bytes * 2.5 + 16_384 * 10));
    }
  });

  test("members that would send the operator's key elsewhere never leave, however they are spelled", async () => {
    const attacker = await openAttackerListener();
    const account = await gateway.openAccount();
    const { url } = attacker;
    const body = `{"model":"gpt-x","api_base":"${url}","base_url":"${url}","endpoint":"${url}","proxy":"${url}",
      "extra_headers":{"Host":"${url}"},"extra_body":{"api_base":"${url}"},"user_api_key":"x","api_key":"x",
      "\\u0061pi_base2":1,"messages":[{"role":"user","content":"hi"}],"max_tokens":5,"seed":9007199254740993123}`;
    const spellings = ['"api_base"', '"api\\u005fbase"', '"Api_Base"', '"API_BASE"'];
    for (const spelled of spellings.map((spelling) => body.replace('"api_base"', spelling))) {
      doubles.openai.answerNext({ status: 200, body: completion({}) });
      expect((await gateway.post(account, chatPath, spelled)).status).toBe(200);
      const sent = textOf(last(doubles.openai).body);
      expect(Object.keys(JSON.parse(sent) as object)).toEqual([
        "model",
        "api_base2",
        "messages",
        "max_tokens",
        "seed",
      ]);
      expect(sent).toContain("9007199254740993123");
      expect(sent).not.toContain(url);
    }
    for (const [path, more] of [
      ["/v1/rerank", { ...ranking, api_base: url, base_url: url }],
      [`${chatPath}?api_base=${url}&base_url=${url}`, chat],
    ] as const) {
      await gateway.post(account, path, more, { "x-api-base": url, "x-upstream-url": url });
    }
    await gateway.call(account, `${tagPath}?tag_name=x&api_base=${url}&url=${url}`);
    expect([attacker.connections(), attacker.bytes()]).toEqual([0, 0]);
    await attacker.close();
  });
});

test("cached tokens are counted once: what was read from the cache is not also input", async () => {
  const account = await gateway.openAccount();
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 10,
    total_tokens: 110,
    prompt_tokens_details: { cached_tokens: 40 },
  };
  doubles.openai.answerNext({ status: 200, body: completion({ usage }) });
  const response = await gateway.post(account, chatPath, chat);
  expect(await receiptOf(account, response)).toMatchObject({
    usage: { input_tokens: 60, cache_read_tokens: 40, output_tokens: 10 },
    usage_source: "provider",
    charged_micros_usd: 60 * 2.5 + 40 * 0.25 + 10 * 10,
  });
});

const completion = ({ usage = { prompt_tokens: 3, completion_tokens: 1 } }: { usage?: object }): string =>
  JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
    usage,
  });

interface Ranking {
  readonly model: string;
  readonly results: readonly {
    readonly index: number;
    readonly relevance_score: number;
    readonly document: { readonly text: string };
  }[];
  readonly usage: { readonly total_tokens: number };
}

describe("rerank", () => {
  const rerankers = vendors.filter(({ path }) => path === "/v1/rerank");

  const rerankWith = async (vendor: Vendor, extra: object = {}): Promise<Ranking> => {
    const response = await gateway.post(await gateway.openAccount(), "/v1/rerank", {
      ...vendor.body,
      ...extra,
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    return (await response.json()) as Ranking;
  };

  test("three vendors give one answer: best first, ties in input order, with the caller's own texts", async () => {
    for (const vendor of rerankers) {
      const { model, results, usage } = await rerankWith(vendor);
      expect(model).toBe((vendor.body as { model: string }).model);
      expect(usage.total_tokens).toBeGreaterThan(0);
      expect(results).toEqual(
        [
          [1, 1],
          [2, 0.5],
          [4, 0.5],
          [0, 0],
          [3, 0],
        ].map(([index = 0, score = 0]) => ({
          index,
          relevance_score: score,
          document: { text: ranking.documents[index] ?? "" },
        })),
      );
    }
  });

  test("a top_n of null, like none, asks for all documents", async () => {
    for (const vendor of rerankers) {
      const { results } = await rerankWith(vendor, { top_n: null });
      expect(results).toHaveLength(5);
      const sent = JSON.parse(textOf(last(doubles[vendor.name]).body)) as object;
      expect(Object.keys(sent).filter((name) => name.startsWith("top_"))).toEqual([]);
    }
  });

  test("a model of null, like none, is the one that usually serves", async () => {
    const account = await gateway.openAccount();
    const named = async (more: object): Promise<string> => {
      const response = await gateway.post(account, "/v1/rerank", { ...ranking, ...more });
      return ((await response.json()) as Ranking).model;
    };
    expect(await named({ model: null })).toBe(await named({}));
  });

  test("top_n travels under the vendor's own name, never larger than the number of documents", async () => {
    for (const vendor of rerankers) {
      const name = vendor.name === "voyage" ? "top_k" : "top_n";
      for (const [asked, sent] of [
        [2, 2],
        [1_000_000, 5],
      ] as const) {
        const { results } = await rerankWith(vendor, { top_n: asked });
        expect(results).toHaveLength(sent);
        expect(JSON.parse(textOf(last(doubles[vendor.name]).body))).toHaveProperty(name, sent);
      }
    }
  });

  test("a vendor that sorts badly and sends too much is put in order", async () => {
    const list = [
      [3, 0.5],
      [0, 0.9],
      [4, 0.5],
      [1, 0.5],
    ].map(([index, score]) => ({ index, relevance_score: score, document: "not the caller's" }));
    for (const vendor of rerankers) {
      doubles[vendor.name].answerNext({
        status: 200,
        body: JSON.stringify({
          [vendor.name === "voyage" ? "data" : "results"]: list,
          usage: { total_tokens: 7 },
        }),
      });
      const { results } = await rerankWith(vendor, { top_n: 3 });
      expect(results.map(({ index }) => index)).toEqual([0, 1, 3]);
      expect(results.map(({ document }) => document.text)).toEqual(
        [0, 1, 3].map((index) => ranking.documents[index] ?? ""),
      );
    }
  });

  test("what is no ranking of the caller's documents is passed on and not charged", async () => {
    for (const vendor of rerankers) {
      for (const list of [
        [{ index: 9, relevance_score: 1 }],
        [{ index: -1, relevance_score: 1 }],
        [{ index: 0.5, relevance_score: 1 }],
        [{ index: 0, relevance_score: "1" }],
        [
          { index: 0, relevance_score: 1 },
          { index: 0, relevance_score: 1 },
        ],
        "none",
      ]) {
        const account = await gateway.openAccount();
        const body = JSON.stringify({
          [vendor.name === "voyage" ? "data" : "results"]: list,
          usage: { total_tokens: 1_000_000 },
        });
        doubles[vendor.name].answerNext({ status: 200, body });
        const response = await send(account, vendor);
        expect([response.status, await response.text()]).toEqual([200, body]);
        expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
      }
    }
  });

  test("an error in place of a ranking is a failure, and withheld where it is about the operator", async () => {
    for (const vendor of rerankers) {
      const account = await gateway.openAccount();
      const hide = (error: object): Promise<Response> => {
        const body = JSON.stringify({ error: { ...error, message: "see vendor.example" } });
        doubles[vendor.name].answerNext({ status: 200, body });
        return send(account, vendor);
      };
      const failed = await hide({ code: 503 });
      expect(await failed.text()).toContain("vendor.example");
      expect(await receiptOf(account, failed)).toMatchObject({
        outcome: "failed",
        attempts: [{ outcome: "answered", status: 503 }],
      });
      const unpaid = await hide({ code: "insufficient_balance" });
      expect(unpaid.status).toBe(503);
      expect(await unpaid.text()).not.toContain("vendor.example");
      expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
    }
  });

  test("a vendor that counts no tokens is billed by estimate, and the receipt says so", async () => {
    const cohere = rerankers.find(({ name }) => name === "cohere");
    if (!cohere) throw new Error("no cohere");
    const account = await gateway.openAccount();
    const estimated = await send(account, cohere);
    const { usage } = (await estimated.json()) as Ranking;
    expect(await receiptOf(account, estimated)).toMatchObject({
      usage_source: "estimated",
      usage: { input_tokens: usage.total_tokens },
    });

    const meta = { billed_units: { search_units: 1 }, tokens: { input_tokens: 41 } };
    doubles.cohere.answerNext({
      status: 200,
      body: JSON.stringify({ results: [{ index: 0, relevance_score: 1 }], meta }),
    });
    const counted = await send(account, cohere);
    expect(((await counted.json()) as Ranking).usage).toEqual({ total_tokens: 41 });
    expect(await receiptOf(account, counted)).toMatchObject({
      usage_source: "provider",
      usage: { input_tokens: 41 },
    });
  });
});

describe("the sandbox", () => {
  test("an operation with a real upstream never falls back to it, not even when that upstream is down", async () => {
    // A port no system hands out, so that nobody can have taken it meanwhile.
    const down = await openTestGateway({ config: configFor(() => "http://127.0.0.1:9") });
    const account = await down.openAccount();
    for (const vendor of vendors) {
      const init = { method: vendor.method, ...(vendor.body ? { body: JSON.stringify(vendor.body) } : {}) };
      const response = await down.call(account, vendor.path, init);
      expect(response.status).toBe(vendor.name === "tikhub" ? 503 : 502);
      expect(response.headers.has("x-tollgate-upstream")).toBe(false);
      expect(await receiptOf(account, response, down)).toMatchObject({
        status: "released",
        outcome: "failed",
        attempts: [{ outcome: "unreachable" }],
      });
    }
    expect(await down.sandbox.book()).toEqual([]);
    expect(await down.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
    await down.close();
  });

  test("what it served says so, and a real upstream beside it does not change that", async () => {
    const mixed = await openTestGateway({
      config: `upstreams: { jina: { protocol: jina, url: "${doubles.jina.url}", key: "${keys.jina}" } }`,
    });
    const account = await mixed.openAccount();
    const fromSandbox = await mixed.call(account, `${snapshotPath}?ticker=AAPL`);
    expect([fromSandbox.status, fromSandbox.headers.get("x-tollgate-upstream")]).toEqual([200, "sandbox"]);
    const fromJina = await mixed.post(account, "/v1/rerank", ranking);
    expect([fromJina.status, fromJina.headers.get("x-tollgate-upstream")]).toEqual([200, null]);
    // A model that only the sandbox would know is not on offer beside a real upstream.
    const other = await mixed.post(account, "/v1/rerank", { ...ranking, model: "rerank-v3.5" });
    expect(other.status).toBe(404);
    expect((await mixed.sandbox.book()).map(({ vendor }) => vendor)).toEqual(["financialdatasets"]);
    await mixed.close();
  });
});

test("the reseller's error inside of a success is asked elsewhere, and withheld where it is about the operator", async () => {
  const hidden = (code: number) => ({
    status: 200,
    body: JSON.stringify({ code, message: "recharge at vendor.example" }),
  });
  const path = `${tagPath}?tag_name=x`;
  const second = await openTikHubDouble({ key: keys.tikhub });
  for (const code of [401, 402, 403, 429, 500, 503]) {
    const two = await openTestGateway({
      config: `
upstreams:
  first: { protocol: tikhub, url: "${doubles.tikhub.url}", key: "${keys.tikhub}" }
  second: { protocol: tikhub, url: "${second.url}", key: "${keys.tikhub}" }
operations: { reseller.social_c.tag_detail: { via: [first, second] } }
`,
    });
    const account = await two.openAccount();
    doubles.tikhub.answerNext(hidden(code));
    const served = await two.call(account, path);
    expect(await served.json()).toMatchObject({ code: 200 });
    expect(await two.receipt(account, served)).toMatchObject({
      outcome: "succeeded",
      attempts: [{ upstream: "first", status: code }, { upstream: "second" }],
    });
    await two.close();
  }
  await second.close();

  const account = await gateway.openAccount();
  for (const [code, status, isTold] of [
    [500, 200, true],
    [404, 200, true],
    [402, 503, false],
  ] as const) {
    doubles.tikhub.answerNext(hidden(code));
    const failed = await gateway.call(account, path);
    expect([failed.status, (await failed.text()).includes("vendor.example")]).toEqual([status, isTold]);
    expect(await receiptOf(account, failed)).toMatchObject({ outcome: "failed", charged_micros_usd: 0 });
  }
});

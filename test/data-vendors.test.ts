// Comments, quotes and web traffic, each in front of its vendor: what leaves, what comes back, what it costs.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { flat, read, someText } from "./bad-inputs/error-shapes.ts";
import { expectNothingHappened } from "./bad-inputs/nothing-happened.ts";
import { headerValues } from "./doubles/http-wire.ts";
import { sendRaw } from "./doubles/raw-http.ts";
import { openScrapeCreatorsDouble } from "./doubles/scrapecreators.ts";
import type { ScriptedAnswer } from "./doubles/scripted-answer.ts";
import { openSimilarwebDouble } from "./doubles/similarweb.ts";
import { openTwitterApiDouble } from "./doubles/twitterapi.ts";
import { openAttackerListener, type RecordedRequest, type VendorDouble } from "./doubles/vendor-double.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "./harness.ts";

const keys = {
  scrapecreators: "sc-operator-000000000000000000",
  twitterapi: "ta-operator-000000000000000000",
  similarweb: "sw-operator-000000000000000000",
} as const;

type VendorName = keyof typeof keys;

const openDoubles = async () => ({
  scrapecreators: await openScrapeCreatorsDouble({ key: keys.scrapecreators }),
  twitterapi: await openTwitterApiDouble({ key: keys.twitterapi }),
  similarweb: await openSimilarwebDouble({ key: keys.similarweb }),
});

const configFor = (url: (vendor: VendorName) => string): string => `
upstreams:
  comments: { protocol: scrapecreators, url: "${url("scrapecreators")}", key: "${keys.scrapecreators}", timeout_ms: 400 }
  quotes: { protocol: twitterapi, url: "${url("twitterapi")}", key: "${keys.twitterapi}", timeout_ms: 400 }
  traffic: { protocol: similarweb, url: "${url("similarweb")}", key: "${keys.similarweb}", timeout_ms: 400 }
`;

const commentsPath = "/apis/v1/social_b/post/comments";
const quotesPath = "/apis/v1/social_a/tweet/quotes";
const trafficPath = "/apis/v1/traffic_analytics/website/traffic-engagement";
const months = "start_date=2025-11&end_date=2026-01";

interface Vendor {
  readonly name: VendorName;
  readonly operation: string;
  readonly path: string;
  readonly ownPath: string;
  readonly query: string;
  readonly keyHeader: string;
  readonly used: Readonly<Record<string, number>>;
  readonly micros: number;
  /** The answer to a transport failure. */
  readonly failure: 502 | 503;
  /** A request this vendor refuses, and its status. */
  readonly refused: { readonly query: string; readonly status: number };
}

const vendors: readonly Vendor[] = [
  {
    name: "scrapecreators",
    operation: "social_b.post.comments",
    path: commentsPath,
    ownPath: "/v2/instagram/post/comments",
    query: "url=https%3A%2F%2Fwww.instagram.com%2Fp%2Fabc%2F",
    keyHeader: "x-api-key",
    used: { credit: 1 },
    micros: 1_880,
    failure: 502,
    refused: { query: "url=a&cursor=x", status: 400 },
  },
  {
    name: "twitterapi",
    operation: "social_a.tweet.quotes",
    path: quotesPath,
    ownPath: "/twitter/tweet/quotes",
    query: "tweetId=1846987139428634858",
    keyHeader: "x-api-key",
    used: { call: 1 },
    micros: 3_000,
    failure: 502,
    refused: { query: "tweetId=404", status: 404 },
  },
  {
    name: "similarweb",
    operation: "traffic_analytics.website.traffic_engagement",
    path: trafficPath,
    ownPath: "/v5/website-analysis/websites/traffic-and-engagement",
    query: `domain=a.test&metrics=visits,bounce_rate&${months}`,
    keyHeader: "api-key",
    used: { credit: 6 },
    micros: 600_000,
    failure: 503,
    refused: { query: `metrics=visits&${months}`, status: 400 },
  },
];

interface Quote {
  readonly operation_id: string;
  readonly estimate_kind: string;
  readonly estimated_cost_micros_usd: number;
  readonly max_cost_micros_usd: number;
  readonly may_exceed_estimate: boolean;
}

let doubles: Awaited<ReturnType<typeof openDoubles>>;
let gateway: TestGateway;
let sandboxed: TestGateway;

beforeAll(async () => {
  doubles = await openDoubles();
  gateway = await openTestGateway({ config: configFor((vendor) => doubles[vendor].url) });
  sandboxed = await openTestGateway();
});

afterEach(async () => {
  expect(await gateway.audit()).toEqual([]);
  expect(await sandboxed.audit()).toEqual([]);
  await sandboxed.sandbox.clear();
});

afterAll(async () => {
  expect(await gateway.sandbox.book()).toEqual([]);
  for (const double of Object.values(doubles)) {
    expect(double.violations).toEqual([]);
    await double.close();
  }
  await gateway.close();
  await sandboxed.close();
});

const quoting = { "x-tollgate-cost-mode": "quote" };
const untouched = { balance: 2_000_000, held: 0 };

const last = ({ requests }: VendorDouble): RecordedRequest => {
  const request = requests.at(-1);
  if (!request) throw new Error("the vendor was not asked");
  return request;
};

const receiptOf = (account: TestAccount, response: Response, at = gateway) => at.receipt(account, response);

const quoteFor = async (account: TestAccount, target: string, at: TestGateway = gateway): Promise<Quote> =>
  (await (await at.call(account, target, { headers: quoting })).json()) as Quote;

/** One call against a vendor that answers as told: the receipt says what it cost. */
const answeredWith = async (name: VendorName, target: string, body: unknown) => {
  const account = await gateway.openAccount({ creditUsd: "100" });
  const text = JSON.stringify(body);
  doubles[name].answerNext({ status: 200, headers: { "Content-Type": "application/json" }, body: text });
  const response = await gateway.call(account, target);
  expect([response.status, await response.text()]).toEqual([200, text]);
  const receipt = await receiptOf(account, response);
  expect(response.headers.get("x-tollgate-cost-micros-usd")).toBe(String(receipt.charged_micros_usd));
  return receipt;
};

describe.each(vendors)("$operation", (vendor) => {
  const target = `${vendor.path}?${vendor.query}`;

  test("passes question and answer on untouched, and costs what its quote and its hold said", async () => {
    const account = await gateway.openAccount();
    const quoted = await quoteFor(account, target);
    expect(quoted).toMatchObject({
      operation_id: vendor.operation,
      estimate_kind: "exact",
      estimated_cost_micros_usd: vendor.micros,
      max_cost_micros_usd: vendor.micros,
      may_exceed_estimate: false,
    });
    const response = await gateway.call(account, target);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(response.headers.has("x-tollgate-upstream")).toBe(false);
    const direct = await fetch(new URL(`${vendor.ownPath}?${vendor.query}`, doubles[vendor.name].url), {
      headers: { [vendor.keyHeader]: keys[vendor.name] },
    });
    expect(await response.text()).toBe(await direct.text());
    expect(await receiptOf(account, response)).toMatchObject({
      operation_id: vendor.operation,
      status: "settled",
      outcome: "succeeded",
      usage: vendor.used,
      usage_source: "provider",
      held_micros_usd: vendor.micros,
      usage_value_micros_usd: vendor.micros,
      charged_micros_usd: vendor.micros,
    });
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000 - vendor.micros, held: 0 });
  });

  test("only the operator's key, our request id and the caller's query leave", async () => {
    const account = await gateway.openAccount();
    const query = `${vendor.query}&x=%2F+a&x=b&Z`;
    await sendRaw(
      gateway.port,
      `GET ${vendor.path}?${query} HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${account.key}\r\n` +
        `Cookie: canary\r\nX-API-Key: canary\r\nApi-Key: canary\r\nIdempotency-Key: canary\r\n\r\n`,
      { expectResponses: 1 },
    );
    const request = last(doubles[vendor.name]);
    expect(request.target).toBe(`${vendor.ownPath}?${query}`);
    expect(headerValues(request.headers, vendor.keyHeader)).toEqual([keys[vendor.name]]);
    const names = request.headers.map(([name]) => name.toLowerCase()).toSorted();
    const allowed = ["accept", "accept-encoding", "host", "user-agent", "x-request-id", vendor.keyHeader];
    expect(names).toEqual(allowed.toSorted());
    expect(Buffer.from(request.raw).toString("latin1")).not.toMatch(/canary|tgk_/);
  });

  test("the vendor's own refusal comes back as it is, free of charge", async () => {
    const account = await gateway.openAccount();
    const response = await gateway.call(account, `${vendor.path}?${vendor.refused.query}`);
    expect(response.status).toBe(vendor.refused.status);
    expect(await response.text()).toMatch(/error/);
    expect(await receiptOf(account, response)).toMatchObject({ status: "released", outcome: "failed" });
    expect(await gateway.balance(account)).toEqual(untouched);
  });

  test("what is not JSON, or JSON without the goods, is passed on and costs nothing", async () => {
    const account = await gateway.openAccount();
    for (const body of ["<html>maintenance</html>", "", "null", "[]", "{}", '"success"', '{"data":{}}']) {
      doubles[vendor.name].answerNext({ status: 200, headers: { "Content-Type": "text/html" }, body });
      const response = await gateway.call(account, target);
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html"]);
      expect(await response.text()).toBe(body);
      expect(response.headers.get("x-tollgate-cost-micros-usd")).toBe("0");
    }
    expect(await gateway.balance(account)).toEqual(untouched);
  });

  test("no answer in time, a cut one, or a vendor that is down costs nothing", async () => {
    const account = await gateway.openAccount();
    const scripts: readonly ScriptedAnswer[] = [
      { kind: "hang", afterWork: true },
      { kind: "close" },
      { kind: "truncated" },
      { kind: "garbage" },
    ];
    for (const scripted of scripts) {
      doubles[vendor.name].answerNext(scripted);
      const response = await gateway.call(account, target);
      expect([scripted.kind, response.status]).toEqual([scripted.kind, vendor.failure]);
      expect(await response.text()).toMatch(/provider_request_failed|provider_unavailable/);
    }
    expect(await gateway.balance(account)).toEqual(untouched);
  });

  test("a redirect is not followed, and the operator's key goes nowhere", async () => {
    const attacker = await openAttackerListener();
    const account = await gateway.openAccount();
    for (const status of [301, 302, 307, 308] as const) {
      doubles[vendor.name].answerNext({ kind: "redirect", status, location: `${attacker.url}/steal` });
      const response = await gateway.call(account, target);
      expect(response.status).toBe(vendor.failure);
      expect(await response.text()).not.toContain(attacker.url);
    }
    expect([attacker.connections(), attacker.bytes()]).toEqual([0, 0]);
    expect(await gateway.balance(account)).toEqual(untouched);
    await attacker.close();
  });

  test("a rejected key is the operator's affair, and a busy vendor says when to come back", async () => {
    const account = await gateway.openAccount();
    for (const status of [401, 402, 403]) {
      doubles[vendor.name].answerNext({ status, body: `{"error":"key ${keys[vendor.name]}"}` });
      const response = await gateway.call(account, target);
      const text = await response.text();
      expect([response.status, text.includes(keys[vendor.name])]).toEqual([503, false]);
    }
    doubles[vendor.name].answerNext({ status: 429, headers: { "Retry-After": "7" } });
    const busy = await gateway.call(account, target);
    expect([busy.status, busy.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(await gateway.balance(account)).toEqual(untouched);
  });

  test("a price of the operator's own replaces the catalogue's", async () => {
    const priced = await openTestGateway({
      config: `operations: { ${vendor.operation}: { price_usd: 0.01 } }`,
    });
    const account = await priced.openAccount();
    const units = Object.values(vendor.used)[0] ?? 0;
    const response = await priced.call(account, target);
    expect(response.headers.get("x-tollgate-cost-micros-usd")).toBe(String(units * 10_000));
    await priced.close();
  });
});

describe("comments", () => {
  const target = `${commentsPath}?url=https://x.test/p/1`;

  test("need an address, once", async () => {
    const account = await gateway.openAccount();
    await expectNothingHappened(gateway, async () => {
      for (const query of ["", "?url=", "?cursor=a", "?url=a&url=b", "?url=a&cursor=b&cursor=c"]) {
        flat(400, "invalid_parameters")(await read(gateway.call(account, commentsPath + query)));
        const quoted = gateway.call(account, commentsPath + query, { headers: quoting });
        flat(400, "invalid_parameters")(await read(quoted));
      }
    });
  });

  test("are paid for only when the body says success", async () => {
    for (const success of [false, "true", 1, null, undefined]) {
      const receipt = await answeredWith("scrapecreators", target, { success, credits_charged: 1 });
      expect(receipt).toMatchObject({ outcome: "failed", charged_micros_usd: 0 });
    }
    const error = { success: false, error: "x", errorStatus: 404, message: "gone" };
    expect(await answeredWith("scrapecreators", target, error)).toMatchObject({ charged_micros_usd: 0 });
  });

  test("cost the credits the vendor says it took, 0 included, never more than was held", async () => {
    for (const [said, charged] of [
      [undefined, 1_880],
      [null, 1_880],
      [1, 1_880],
      [0, 0],
      [15, 1_880],
      [-1, 1_880],
      [0.5, 1_880],
      ["0", 1_880],
      [1e300, 1_880],
    ] as const) {
      const receipt = await answeredWith("scrapecreators", target, { success: true, credits_charged: said });
      expect([said, receipt.charged_micros_usd, receipt.held_micros_usd]).toEqual([said, charged, 1_880]);
      expect(receipt.outcome).toBe("succeeded");
    }
  });

  test("asked for with a parameter that may mean replies are held for 15 credits, and cost what was taken", async () => {
    const wider = `${target}&include_replies=true`;
    const account = await gateway.openAccount();
    expect(await quoteFor(account, wider)).toMatchObject({
      estimate_kind: "estimate",
      estimated_cost_micros_usd: 1_880,
      max_cost_micros_usd: 28_200,
      may_exceed_estimate: true,
    });
    for (const [said, charged] of [
      [undefined, 1_880],
      [15, 28_200],
      [16, 28_200],
      [2, 3_760],
    ] as const) {
      const receipt = await answeredWith("scrapecreators", wider, { success: true, credits_charged: said });
      expect([receipt.charged_micros_usd, receipt.held_micros_usd]).toEqual([charged, 28_200]);
    }
  });

  test("come page by page until the cursor is null, each page paid once", async () => {
    for (const [at, vendorTarget] of [
      [gateway, target],
      [sandboxed, `${commentsPath}?url=https://www.instagram.com/p/abc/`],
    ] as const) {
      const account = await at.openAccount();
      const ids: string[] = [];
      let pages = 0;
      for (let cursor: string | null = ""; cursor !== null; pages++) {
        const response = await at.call(account, `${vendorTarget}&cursor=${encodeURIComponent(cursor)}`);
        const page = (await response.json()) as { comments: { id: string }[]; cursor: string | null };
        ids.push(...page.comments.map(({ id }) => id));
        ({ cursor } = page);
        expect(pages).toBeLessThan(10);
      }
      expect(pages).toBeGreaterThan(1);
      expect(new Set(ids).size).toBe(ids.length);
      expect(await at.balance(account)).toEqual({ balance: 2_000_000 - pages * 1_880, held: 0 });
    }
  });
});

describe("quotes", () => {
  const target = `${quotesPath}?tweetId=7`;

  test("need a tweet", async () => {
    const account = await gateway.openAccount();
    await expectNothingHappened(gateway, async () => {
      for (const query of ["", "?tweetId=", "?cursor=a", "?tweetid=7", "?tweetId=7&tweetId=8"]) {
        flat(400, "invalid_parameters")(await read(gateway.call(account, quotesPath + query)));
      }
    });
  });

  test("that are an error cost nothing, whatever the HTTP status; an empty page is an answer", async () => {
    for (const [body, charged] of [
      [{ tweets: [], status: "error", message: "x" }, 0],
      [{ tweets: [{ id: "1" }], status: "error" }, 0],
      [{ status: "error", msg: "x" }, 0],
      [{ status: "success" }, 0],
      [{ status: "success", tweets: {} }, 0],
      [{ tweets: [], has_next_page: false, next_cursor: "", status: "success", message: "" }, 3_000],
      [{ tweets: [{ id: "1" }] }, 3_000],
    ] as const) {
      const receipt = await answeredWith("twitterapi", target, body);
      expect([JSON.stringify(body), receipt.charged_micros_usd]).toEqual([JSON.stringify(body), charged]);
      expect(receipt.outcome).toBe(charged === 0 ? "failed" : "succeeded");
    }
    const account = await gateway.openAccount();
    const response = await gateway.call(account, `${target}&cursor=unknown`);
    expect([response.status, ((await response.json()) as { status: string }).status]).toEqual([200, "error"]);
    expect(await gateway.balance(account)).toEqual(untouched);
  });

  test("come page by page, and the sandbox's pages end", async () => {
    const account = await sandboxed.openAccount();
    const ids: string[] = [];
    let pages = 0;
    for (let cursor = "", more = true; more; pages++) {
      const response = await sandboxed.call(account, `${target}&cursor=${encodeURIComponent(cursor)}`);
      expect(response.headers.get("x-tollgate-upstream")).toBe("sandbox");
      const page = (await response.json()) as {
        tweets: { id: string }[];
        has_next_page: boolean;
        next_cursor: string;
      };
      ids.push(...page.tweets.map(({ id }) => id));
      [cursor, more] = [page.next_cursor, page.has_next_page];
      expect(pages).toBeLessThan(10);
    }
    expect(pages).toBeGreaterThan(1);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await sandboxed.balance(account)).toEqual({ balance: 2_000_000 - pages * 3_000, held: 0 });
  });
});

describe("web traffic", () => {
  const target = `${trafficPath}?domain=a.test&metrics=visits,bounce_rate&${months}`;
  const row = { date: "2026-01-01", visits: 1, bounce_rate: 0.5 };

  test("is priced by distinct metrics, months and countries where the request shows them", async () => {
    const account = await gateway.openAccount();
    const exactly = (credits: number) => ["exact", credits * 100_000, credits * 100_000];
    // Nothing known: a credit is expected, ten are held.
    const unknown = ["estimate", 100_000, 1_000_000];
    const all = "visits,pages_per_visit,average_visit_duration,bounce_rate,page_views,unique_visitors";
    for (const [query, expected] of [
      ["metrics=visits&start_date=2026-01&end_date=2026-01", exactly(1)],
      ["metrics=visits,bounce_rate&start_date=2025-11&end_date=2026-01", exactly(6)],
      ["metrics=visits,%20visits,,VISITS&start_date=2025-11&end_date=2026-01", exactly(3)],
      ["metrics=visits&metrics=page_views&start_date=2026-01&end_date=2026-01", exactly(2)],
      ["metrics=visits&start_date=2026-01-01&end_date=2026-02-28", exactly(2)],
      ["metrics=visits&country=us,ww&start_date=2026-01&end_date=2026-02", exactly(4)],
      ["metrics=visits&start_date=2026-01&start_date=2025-01&end_date=2026-01", exactly(13)],
      [`metrics=${all},new_users,returning_users&start_date=2016-02&end_date=2026-01`, exactly(960)],
      ["metrics=visits&start_date=2016-01&end_date=2026-01", unknown],
      ["metrics=visits&start_date=2026-02&end_date=2026-01", unknown],
      ["metrics=visits&start_date=2026-13&end_date=2026-01", unknown],
      ["metrics=visits&start_date=2026-01", unknown],
      ["metrics=,&start_date=2026-01&end_date=2026-01", unknown],
      ["start_date=2026-01&end_date=2026-01", unknown],
      ["domain=a.test", unknown],
      ["", unknown],
    ] as const) {
      const quoted = await quoteFor(account, `${trafficPath}?${query}`);
      expect([
        query,
        quoted.estimate_kind,
        quoted.estimated_cost_micros_usd,
        quoted.max_cost_micros_usd,
      ]).toEqual([query, ...expected]);
    }
  });

  test("is paid for only when there is data", async () => {
    for (const [data, charged] of [
      [[], 0],
      [null, 0],
      [{}, 0],
      [undefined, 0],
      [[row], 600_000],
      [[row, row, row], 600_000],
    ] as const) {
      const receipt = await answeredWith("similarweb", target, { meta: {}, data });
      expect([JSON.stringify(data), receipt.charged_micros_usd]).toEqual([JSON.stringify(data), charged]);
      expect([receipt.held_micros_usd, receipt.outcome]).toEqual([
        600_000,
        charged === 0 ? "failed" : "succeeded",
      ]);
    }
  });

  test("asked for in words we do not know costs a credit a figure, never more than was held", async () => {
    const open = `${trafficPath}?site=a.test&last=3`;
    for (const [rows, charged] of [
      [[row], 200_000],
      [[row, row, { date: "2026-03-01" }, null, 7], 400_000],
      [Array.from({ length: 5 }, () => row), 1_000_000],
      [Array.from({ length: 60 }, () => row), 1_000_000],
    ] as const) {
      const receipt = await answeredWith("similarweb", open, { data: rows });
      expect([receipt.charged_micros_usd, receipt.held_micros_usd]).toEqual([charged, 1_000_000]);
    }
    expect(last(doubles.similarweb).target).toEndWith("?site=a.test&last=3");
  });

  test("is served by the sandbox, and of a website without data free of charge", async () => {
    const account = await sandboxed.openAccount();
    const served = await sandboxed.call(account, target);
    expect([served.status, served.headers.get("x-tollgate-cost-micros-usd")]).toEqual([200, "600000"]);
    const [entry] = await sandboxed.sandbox.book();
    expect(entry?.billed).toEqual({ credits: 6 });
    const empty = await sandboxed.call(account, target.replace("a.test", "missing.test"));
    expect([empty.status, empty.headers.get("x-tollgate-cost-micros-usd")]).toEqual([200, "0"]);
  });

  test("does not exist for a stranger, also when only its price is asked for; a bad key is told so", async () => {
    const named = await openTestGateway({ config: "names: { traffic_analytics: radar }" });
    for (const [at, path] of [
      [gateway, trafficPath],
      [sandboxed, `${trafficPath}?domain=a.test`],
      [named, "/apis/v1/radar/website/traffic-engagement"],
    ] as const) {
      const account = await at.openAccount();
      await expectNothingHappened(at, async () => {
        const ask = (headers: Record<string, string>) => read(fetch(at.url + path, { headers }));
        const unknown = await read(at.call(account, "/apis/v1/nothing"));
        for (const headers of [{}, quoting, { "x-api-key": account.key }, { authorization: "" }]) {
          const { status, body, requestId } = await ask(headers);
          expect(status).toBe(404);
          expect(body).toEqual({ ...(unknown.body as object), request_id: requestId });
        }
        for (const authorization of ["Bearer tgk_nobody", `Basic ${account.key}`, "Bearer a, Bearer b"]) {
          flat(401, "invalid_api_key")(await ask({ authorization }));
          expect(await ask({ authorization, ...quoting })).toMatchObject({
            status: 401,
            body: { error: { code: "invalid_api_key" } },
          });
        }
      });
    }
    // Another method, or a path beside it, hides nothing: it does not exist.
    flat(401, "missing_api_key")(await read(fetch(gateway.url + trafficPath, { method: "POST" })));
    flat(401, "missing_api_key")(await read(fetch(`${gateway.url}${trafficPath}/x`)));
    await named.close();
  });
});

describe("an Idempotency-Key on web traffic", () => {
  const target = `${trafficPath}?domain=a.test&metrics=visits&start_date=2026-01&end_date=2026-01`;
  const send = (at: TestGateway, account: TestAccount, key: string, path = target) =>
    at.call(account, path, { headers: { "idempotency-key": key } });

  const conflictOf = async (response: Response) => {
    const { status, body, requestId } = await read(response);
    const { error, original } = body as { error: { code: string }; original: object };
    const { code } = error;
    const retryable = code === "traffic_analytics_request_in_progress";
    expect({ status, body }).toEqual({
      status: 409,
      body: { error: { code, message: someText, retryable }, original, request_id: requestId },
    });
    return { code, original };
  };

  test("lets fifty calls at once reach the vendor once and be charged once", async () => {
    const account = await gateway.openAccount();
    const before = doubles.similarweb.requests.length;
    const responses = await Promise.all(Array.from({ length: 50 }, () => send(gateway, account, "fifty")));
    const served = responses.filter(({ status }) => status === 200);
    expect(served).toHaveLength(1);
    for (const response of responses.filter(({ status }) => status !== 200)) {
      const { code, original } = await conflictOf(response);
      expect([
        "traffic_analytics_request_in_progress",
        "traffic_analytics_request_already_completed",
      ]).toContain(code);
      expect(original).toMatchObject({ request_id: served[0]?.headers.get("x-request-id") });
    }
    expect(doubles.similarweb.requests.length - before).toBe(1);
    expect(await gateway.balance(account)).toEqual({ balance: 1_900_000, held: 0 });
  });

  test("answers with the operation's own four codes, whatever it is called", async () => {
    const named = await openTestGateway({ config: "names: { traffic_analytics: radar }" });
    const path = target.replace("traffic_analytics", "radar");
    const account = await named.openAccount();
    await named.sandbox.fault({ vendor: "similarweb", latency_ms: 400 });
    const running = send(named, account, "one", path);
    await named.sandbox.busyWith(1);
    const early = await send(named, account, "one", path);
    expect(early.headers.get("retry-after")).toBe("1");
    expect((await conflictOf(early)).code).toBe("traffic_analytics_request_in_progress");
    const first = await running;
    expect(first.status).toBe(200);

    expect(await conflictOf(await send(named, account, "one", path))).toEqual({
      code: "traffic_analytics_request_already_completed",
      original: {
        request_id: first.headers.get("x-request-id"),
        status: "settled",
        charged_micros_usd: 100_000,
      },
    });
    const other = await conflictOf(await send(named, account, "one", `${path}&mtd=true`));
    expect(other.code).toBe("traffic_analytics_idempotency_key_reused");

    await named.sandbox.fault({ vendor: "similarweb", mode: "close" });
    expect((await send(named, account, "lost", path)).status).toBe(503);
    const lost = await conflictOf(await send(named, account, "lost", path));
    expect(lost).toMatchObject({
      code: "traffic_analytics_outcome_unknown",
      original: { status: "unknown" },
    });
    expect(await named.audit()).toEqual([]);
    await named.close();
  });

  test("keeps its conflict before a cap, and is not spent by a quote or by a refusal", async () => {
    const account = await gateway.openAccount();
    const quoted = await gateway.call(account, target, { headers: { ...quoting, "idempotency-key": "k" } });
    expect(quoted.status).toBe(200);
    const capped = (key: string) =>
      gateway.call(account, target, {
        headers: { "idempotency-key": key, "x-tollgate-max-price-usd": "0.01" },
      });
    expect((await capped("k")).status).toBe(402);
    flat(400, "invalid_parameters")(await read(send(gateway, account, "two words")));
    expect((await send(gateway, account, "k")).status).toBe(200);
    expect((await conflictOf(await capped("k"))).code).toBe("traffic_analytics_request_already_completed");
  });

  test("means nothing on the other GETs", async () => {
    const account = await gateway.openAccount();
    for (const path of [`${commentsPath}?url=a`, `${quotesPath}?tweetId=7`]) {
      for (let times = 0; times < 2; times++) {
        expect((await send(gateway, account, "same", path)).status).toBe(200);
      }
    }
  });
});

test("paths follow the configured names", async () => {
  const named = await openTestGateway({
    config: "names: { social_a: chirp, social_b: pix, traffic_analytics: radar }",
  });
  const account = await named.openAccount();
  for (const { path, query, operation } of vendors) {
    const renamed = path
      .replace("social_a", "chirp")
      .replace("social_b", "pix")
      .replace("traffic_analytics", "radar");
    const served = await named.call(account, `${renamed}?${query}`);
    expect([renamed, served.status]).toEqual([renamed, 200]);
    expect((await receiptOf(account, served, named)).operation_id).toBe(operation);
    expect((await named.call(account, `${path}?${query}`)).status).toBe(404);
  }
  await named.close();
});

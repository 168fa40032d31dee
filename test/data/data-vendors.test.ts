// Comments, quotes and web traffic, each in front of its vendor: what leaves, what comes back, what it costs.

import { describe, expect, test } from "bun:test";
import {
  commentsPath,
  keys,
  months,
  quotesPath,
  trafficPath,
  untouched,
  useDataDoubles,
  type VendorName,
} from "./data-doubles.ts";
import { headerValues } from "../doubles/http-wire.ts";
import { sendRaw } from "../doubles/raw-http.ts";
import type { ScriptedAnswer } from "../doubles/scripted-answer.ts";
import { last, openAttackerListener } from "../doubles/vendor-double.ts";
import { openTestGateway } from "../support/test-gateway.ts";

const { doubles, gateway, receiptOf, quoteFor } = await useDataDoubles();

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

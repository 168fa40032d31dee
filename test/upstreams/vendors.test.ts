// The gateway in front of each vendor it can speak to: what leaves, what comes back, what it costs.

import { describe, expect, test } from "bun:test";
import { headerValues } from "../doubles/http-wire.ts";
import { openTikHubDouble } from "../doubles/tikhub.ts";
import { last } from "../doubles/vendor-double.ts";
import { chat, chatPath, snapshotPath } from "../support/purchases.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import {
  completion,
  keys,
  tagRoute,
  textOf,
  useEveryVendor,
  vendors,
  type VendorName,
} from "./every-vendor.ts";

const { doubles, gateway, send } = await useEveryVendor();

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
      const receipt = await gateway.receipt(account, response);
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
      expect(await gateway.receipt(account, response)).toMatchObject({
        status: "released",
        outcome: "failed",
      });
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

/** A receipt leaves out what was not used. */
const withoutZeros = (used: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(used).filter(([, count]) => count > 0));

/** What the vendor put on its invoice, in our units; undefined where it bills in others. */
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
    const response = await gateway.call(account, snapshotPath);
    expect([response.status, await response.text()]).toEqual([200, body]);
    expect([body, response.headers.get("x-tollgate-cost-micros-usd")]).toEqual([body, "0"]);
  }
});

test("cached tokens are counted once: what was read from the cache is not also input", async () => {
  const account = await gateway.openAccount();
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 10,
    total_tokens: 110,
    prompt_tokens_details: { cached_tokens: 40 },
  };
  doubles.openai.answerNext({ status: 200, body: completion(usage) });
  const response = await gateway.post(account, chatPath, chat);
  expect(await gateway.receipt(account, response)).toMatchObject({
    usage: { input_tokens: 60, cache_read_tokens: 40, output_tokens: 10 },
    usage_source: "provider",
    charged_micros_usd: 60 * 2.5 + 40 * 0.25 + 10 * 10,
  });
});

test("the reseller's error inside of a success is asked elsewhere, and withheld where it is about the operator", async () => {
  const hidden = (code: number) => ({
    status: 200,
    body: JSON.stringify({ code, message: "recharge at vendor.example" }),
  });
  const path = `${tagRoute}?tag_name=x`;
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
      attempts: [
        { upstream: "first", status: [401, 402, 403].includes(code) ? null : code },
        { upstream: "second" },
      ],
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
    expect(await gateway.receipt(account, failed)).toMatchObject({
      outcome: "failed",
      charged_micros_usd: 0,
    });
  }
});

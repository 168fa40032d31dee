// Figures of websites: priced by what is asked for, paid for where there is data, and made once under one idempotency key.

import { describe, expect, test } from "bun:test";
import { flat, read, someText } from "../bad-inputs/error-shapes.ts";
import { expectNothingHappened } from "../bad-inputs/nothing-happened.ts";
import {
  commentsPath,
  months,
  quotesPath,
  quoting,
  trafficPath,
  useDataDoubles,
  useSandboxed,
} from "./data-doubles.ts";
import { last } from "../doubles/vendor-double.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";

const { doubles, gateway, quoteFor, answeredWith } = await useDataDoubles();
const sandboxed = await useSandboxed();

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
      // Some servers read names in any letters: what looks like a parameter counts as one.
      ["metrics=visits&Metrics=page_views&start_date=2026-01&end_date=2026-01", exactly(2)],
      ["metrics=visits&start_date=2026-01&START_DATE=2025-01&end_date=2026-01", exactly(13)],
      ["metrics=visits&COUNTRY=us,ww&start_date=2026-01&end_date=2026-01", exactly(2)],
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

  test("comes as JSON, which can be read for its price, and by the month, by which it is priced", async () => {
    const account = await gateway.openAccount();
    await expectNothingHappened(gateway, async () => {
      for (const [asked, told] of [
        ["format=xml", "format: expected json"],
        ["format=", "format: expected json"],
        ["Format=xml", "Format: expected json"],
        ["FORMAT=csv", "FORMAT: expected json"],
        ["f%6Frmat=xml", "format: expected json"],
        ["format=json&format=xml", "format: given more than once"],
        ["format=json&FORMAT=xml", "FORMAT: expected json"],
        ["granularity=daily", "granularity: expected monthly"],
        ["Granularity=weekly", "Granularity: expected monthly"],
        ["granularity=monthly&granularity=daily", "granularity: given more than once"],
      ] as const) {
        const refused = await read(gateway.call(account, `${target}&${asked}`));
        flat(400, "invalid_parameters")(refused);
        expect([asked, refused.body]).toMatchObject([asked, { error: told }]);
      }
    });
    for (const asked of ["format=json", "FORMAT=json", "formatted=xml", "granularity=monthly"]) {
      const receipt = await answeredWith("similarweb", `${target}&${asked}`, { data: [row] });
      expect(receipt.charged_micros_usd).toBe(600_000);
    }
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
    await named.sandbox.fault({ vendor: "similarweb", latency_ms: 1_000 });
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
    // Each was made and paid for: two of 1,880 micros and two of 3,000.
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000 - 2 * 4_880, held: 0 });
  });
});

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { error, nobodyListens, openTwoUpstreams, callSnapshot, upstream } from "./two-upstreams.ts";

const { financial, open, meetAnew, close } = await openTwoUpstreams();
beforeEach(meetAnew);
afterAll(close);

describe("an upstream's quota", () => {
  const quotas = (a: number, b: number): string => `
upstreams:
${upstream("fd-a", "financialdatasets", financial.a.url, `, quota_rpm: ${a}`)}
${upstream("fd-b", "financialdatasets", financial.b.url, `, quota_rpm: ${b}`)}
operations: { financial.metrics.snapshot: { via: [fd-a, fd-b] } }
`;

  test("spills over to the next one, and the call is refused only when all are used up", async () => {
    const shared = await open(quotas(2, 3));
    const before = [financial.a.requests.length, financial.b.requests.length] as const;
    const accounts = [await shared.openAccount(), await shared.openAccount()];
    const statuses: number[] = [];
    for (let call = 0; call < 7; call++) {
      const account = accounts[call % 2];
      if (account) statuses.push((await callSnapshot(account, shared)).status);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect([financial.a.requests.length - before[0], financial.b.requests.length - before[1]]).toEqual([
      2, 3,
    ]);
    expect(await shared.audit()).toEqual([]);
    await shared.close();
  });

  test("counts every upstream that was asked, and only those", async () => {
    const shared = await open(quotas(3, 1));
    const account = await shared.openAccount();
    const poor = await shared.openAccount({ creditUsd: "0" });
    // Refused for want of money: nobody was asked.
    expect((await callSnapshot(poor, shared)).status).toBe(402);
    financial.a.answerNext(error(500));
    expect((await callSnapshot(account, shared)).status).toBe(200);
    // The second's quota is used up, so the first one's error is what the caller gets.
    financial.a.answerNext(error(500));
    expect((await callSnapshot(account, shared)).status).toBe(500);
    expect((await callSnapshot(account, shared)).status).toBe(200);
    const refused = await callSnapshot(account, shared);
    expect(await refused.json()).toMatchObject({ error: { code: "upstream_rate_limit" } });
    await shared.close();
  });

  test("that is used up is not waited for where another upstream may be tried sooner", async () => {
    const shared = await open(quotas(1, 100));
    const account = await shared.openAccount();
    expect((await callSnapshot(account, shared)).status).toBe(200);
    financial.b.answerNext(error(429, { "Retry-After": "7" }));
    for (let call = 0; call < 2; call++) {
      const refused = await callSnapshot(account, shared);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "7"]);
    }
    await shared.close();
  });

  test("is not used by a call that could not even be sent", async () => {
    const unreachable = await open(`
upstreams:
${upstream("fd-a", "financialdatasets", nobodyListens, ", quota_rpm: 2")}
${upstream("fd-b", "financialdatasets", financial.b.url)}
operations: { financial.metrics.snapshot: { via: [fd-a, fd-b] } }
`);
    const account = await unreachable.openAccount({ creditUsd: "50" });
    for (let call = 0; call < 4; call++) {
      const response = await callSnapshot(account, unreachable);
      expect((await unreachable.receipt(account, response)).attempts).toHaveLength(2);
    }
    await unreachable.close();
  });
});

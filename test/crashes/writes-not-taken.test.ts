// What the store did not take, for certain or as far as anybody knows: ends of calls, holds, applications.

import { afterEach, describe, expect, test } from "bun:test";
import type { Store } from "../../gateway/src/store/store.ts";
import { InDoubt, StoreBusy } from "../../gateway/src/ledger/store-errors.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import { json, type Refused } from "../support/answers.ts";
import { snapshotPath } from "../support/purchases.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";

let tollgate: TestGateway;
afterEach(async () => {
  expect(await tollgate.audit()).toEqual([]);
  await tollgate.close();
});

describe("the end of a call that the store did not take", () => {
  type Settle = Store["ledger"]["settle"];

  const callWhose = async (settle: (settle: Settle) => Settle) => {
    tollgate = await openTestGateway({
      wrap: (parts) => {
        const { ledger } = parts.store;
        return { ...parts, store: { ...parts.store, ledger: { ...ledger, settle: settle(ledger.settle) } } };
      },
    });
    const account = await tollgate.openAccount();
    const response = await tollgate.call(account, snapshotPath);
    expect(response.status).toBe(503);
    const { error } = await json<Refused>(response);
    expect(error.retryable).toBe(false);
    await untilReleasedLate();
    expect((await tollgate.balance(account)).held).toBe(0);
    const receipt = await tollgate.call(account, `/v1/requests/${error.request_id}`);
    return { error, receipt: (await receipt.json()) as object };
  };

  test("is told as not charged, and it is not", async () => {
    const { error, receipt } = await callWhose(() => () => Promise.reject(new StoreBusy()));
    expect(error.message).toEndWith("it is not charged.");
    expect(receipt).toMatchObject({ status: "released", charged_micros_usd: 0 });
  });

  test("as far as anybody knows is not told as free: it was charged, and its receipt tells so", async () => {
    const { error, receipt } = await callWhose((settle) => async (settlement) => {
      await settle(settlement);
      throw new InDoubt();
    });
    expect(error.message).not.toContain("not charged");
    expect(error.message).toEndWith("its receipt tells whether it was charged.");
    expect(receipt).toMatchObject({ status: "settled", charged_micros_usd: 48_000 });
  });
});

describe("the end of a call that was never sent", () => {
  type Release = Store["ledger"]["release"];
  const inDoubt: (release: Release) => Release = (release) => async (ending) => {
    await release(ending);
    throw new InDoubt();
  };
  const notWritten: (release: Release) => Release = () => () => Promise.reject(new StoreBusy());

  for (const [how, fail] of Object.entries({ "in doubt": inDoubt, "not written": notWritten })) {
    test(`${how}, is written later, and its idempotency key is free`, async () => {
      let releases = 0;
      const vendor = await openOpenAiDouble({ key: "k-0123456789" });
      await vendor.close();
      tollgate = await openTestGateway({
        config: `
sandbox: off
upstreams: { away: { protocol: openai, url: "${vendor.url}", key: k-0123456789 } }
models: { gpt-x: { via: [away], price: { input: 1, output: 1 }, max_output_tokens: 9 } }
`,
        wrap: (parts) => {
          const { ledger } = parts.store;
          const release: Release = (ending) =>
            (releases++ === 0 ? fail(ledger.release) : ledger.release)(ending);
          return { ...parts, store: { ...parts.store, ledger: { ...ledger, release } } };
        },
      });
      const account = await tollgate.openAccount();
      const ask = async (): Promise<Response> => {
        const body = { model: "gpt-x", messages: [{ role: "user", content: "hi" }] };
        return tollgate.post(account, "/v1/chat/completions", body, { "idempotency-key": "once" });
      };
      const unbooked = await ask();
      expect([unbooked.status, unbooked.headers.get("retry-after")]).toEqual([503, "1"]);
      await untilReleasedLate();
      expect((await tollgate.balance(account)).held).toBe(0);
      expect((await ask()).status).toBe(502);
      const { data } = await json<{ data: object[] }>(tollgate.call(account, "/v1/requests"));
      const failed = { status: "released", outcome: "failed", charged_micros_usd: 0 };
      expect(data).toMatchObject([failed, failed]);
    });
  }
});

describe("a hold that the store did not take", () => {
  type Hold = Store["ledger"]["hold"];
  type Release = Parameters<Store["ledger"]["release"]>[0];
  const ask = (account: TestAccount): Promise<Response> =>
    tollgate.post(account, "/v1/rerank", { query: "q", documents: ["a"] }, { "idempotency-key": "once" });

  /** A call whose hold comes to this, the first time, and what was released for it. */
  const callWhoseFirst = async (hold: (hold: Hold) => Hold) => {
    const released: Release[] = [];
    let holds = 0;
    tollgate = await openTestGateway({
      wrap: (parts) => {
        const { ledger } = parts.store;
        const faulty: typeof ledger = {
          ...ledger,
          hold: (request) => (holds++ === 0 ? hold(ledger.hold) : ledger.hold)(request),
          release: (release) => {
            released.push(release);
            return ledger.release(release);
          },
        };
        return { ...parts, store: { ...parts.store, ledger: faulty } };
      },
    });
    const account = await tollgate.openAccount();
    const response = await ask(account);
    expect(response.status).toBe(503);
    expect((await json<Refused>(response)).error.retryable).toBe(true);
    return { account, released };
  };

  test("as far as anybody knows is given back, and its idempotency key is free: nothing was sent", async () => {
    const { account } = await callWhoseFirst((hold) => async (request) => {
      await hold(request);
      throw new InDoubt();
    });
    await until(async () => (await tollgate.balance(account)).held === 0);
    expect(await tollgate.sandbox.book()).toHaveLength(0);
    expect((await ask(account)).status).toBe(200);
    expect((await ask(account)).status).toBe(409);
    const { data } = await json<{ data: object[] }>(tollgate.call(account, "/v1/requests"));
    expect(data).toMatchObject([{ status: "settled" }, { status: "released", outcome: "failed" }]);
  });

  test("for certain is not given back: under load there are many, and each would take the place of a hold", async () => {
    const { account, released } = await callWhoseFirst(() => () => Promise.reject(new StoreBusy()));
    await Bun.sleep(800);
    expect(released).toEqual([]);
    expect((await ask(account)).status).toBe(200);
  });
});

test("an application of which nobody knows whether it was filed is told as that, and not as a bug", async () => {
  tollgate = await openTestGateway({
    wrap: (parts) => {
      const { quotas } = parts.store;
      const file: typeof quotas.file = async (application) => {
        await quotas.file(application);
        throw new InDoubt();
      };
      return { ...parts, store: { ...parts.store, quotas: { ...quotas, file } } };
    },
  });
  const account = await tollgate.openAccount();
  const wish = { expected_rpm: 9_000, expected_tpm: 9_000_000, models: ["gpt-4o"], use_case: "search" };
  const response = await tollgate.post(account, "/v1/limits/requests", wish);
  expect(response.status).toBe(503);
  const { error } = await json<Refused>(response);
  expect(error).toMatchObject({ code: "billing_unavailable", retryable: false });
  expect(error.message).toStartWith("It is not known whether this was written down");
});

/** What is written late must not meet a store that was closed meanwhile. */
const untilReleasedLate = (): Promise<void> =>
  until(() => tollgate.logged.some((line) => line.includes("a call was released late")));

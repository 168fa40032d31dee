// Whether a client is let in, and within which bounds, is what its person said: once, and no more than was asked for.

import { afterAll, describe, expect, test } from "bun:test";
import { openTestGateway, type TestAccount } from "../support/test-gateway.ts";
import { openDesk } from "./desk.ts";
import { createPerson, csrfOf, registerClient } from "./oauth-person.ts";

const { gateway, account, desk, person } = await openDesk();
afterAll(() => gateway.close());

describe("the pages", () => {
  test("a denial goes back to the client, and nothing was granted", async () => {
    const browser = person();
    const first = await browser.open(desk().begin().url);
    const page = await browser.submit(first, { action: "sign_in", key: account.key });
    const before = (await gateway.store.grants.list(account.accountId)).length;
    const done = await browser.submit(page, { action: "deny" });
    expect(done.url.searchParams.get("error")).toBe("access_denied");
    expect(done.url.searchParams.get("state")).toBe("state-1");
    expect((await gateway.store.grants.list(account.accountId)).length).toBe(before);
  });

  test("however often a yes is pressed, one client is let in, within the bounds that were set first", async () => {
    const client = desk();
    for (const [first, second, scope] of [
      [{ spend: "yes", per_call_usd: "0.5" }, { spend: "yes", per_call_usd: "7" }, "tools:read tools:spend"],
      [{}, { spend: "yes" }, "tools:read"],
    ] as const) {
      const owner = await gateway.openAccount();
      const { url, verifier } = client.begin();
      const { press } = await openConsent(url, owner);
      await press({ action: "allow", ...first });
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => press({ action: "allow", ...second })),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      const grants = await gateway.store.grants.list(owner.accountId);
      expect(grants).toHaveLength(1);
      const spends = "spend" in first;
      expect(grants[0]?.spendPolicy.perCallMicros).toBe(spends ? 500_000n : 0n);
      const onward = await answers.at(-1)?.onward();
      const tokens = await client.redeem(onward ?? new URL(url), verifier);
      expect(
        tokens.scope
          .split(" ")
          .filter((word) => word.startsWith("tools:"))
          .join(" "),
      ).toBe(scope);
      expect((await gateway.store.grants.list(owner.accountId)).length).toBe(1);
    }
  });

  test("of many who press yes at one moment one lets the client in", async () => {
    const owner = await gateway.openAccount();
    const { press } = await openConsent(desk().begin().url, owner);
    await Promise.all(Array.from({ length: 10 }, () => press({ action: "allow", spend: "yes" })));
    expect(await gateway.store.grants.list(owner.accountId)).toHaveLength(1);
  });

  test("a no after the yes, a revocation or another key's yes leave nobody let in who was not", async () => {
    const living = async ({ accountId }: TestAccount): Promise<number> =>
      (await gateway.store.grants.list(accountId)).filter(({ revokedAtMs }) => revokedAtMs === undefined)
        .length;
    const owner = await gateway.openAccount();
    const { press } = await openConsent(desk().begin().url, owner);
    await press({ action: "allow", spend: "yes" });
    expect(await living(owner)).toBe(1);
    await press({ action: "deny" });
    expect(await living(owner)).toBe(0);
    const again = await press({ action: "allow", spend: "yes" });
    expect(again.status).toBe(400);
    expect(await again.text()).toContain("This sign-in is over");
    expect(await living(owner)).toBe(0);

    const other = await gateway.openAccount();
    const { press: pressed, browser, page } = await openConsent(desk().begin().url, owner);
    await pressed({ action: "allow", spend: "yes" });
    const asked = await browser.submit(page, { action: "sign_out" });
    const theirs = await browser.submit(asked, { action: "sign_in", key: other.key });
    const refused = await browser.submit(theirs, { action: "allow", ...usualBounds });
    expect(refused.response.status).toBe(400);
    expect([await living(owner), await living(other)]).toEqual([1, 0]);
  });

  test("every sign-in asks its person again, also for a client that was let in before", async () => {
    const browser = person();
    await browser.allow(desk().begin().url);
    const again = await browser.open(desk().begin().url);
    expect(again.left).toBe(false);
    expect(again.html).toContain("Let Desk in?");
  });

  test.each([
    ["an amount that is none", { per_call_usd: "lots" }],
    ["a negative amount", { per_day_usd: "-1" }],
    ["an amount finer than a micro", { per_call_usd: "0.0000001" }],
    ["an amount beyond all measure", { per_day_usd: "99999999" }],
    ["no end", { days: "100000" }],
  ])("%s is asked for again, and nothing is granted", async (_, fields) => {
    const before = (await gateway.store.grants.list(account.accountId)).length;
    const failed = await person().allow(desk().begin().url, fields).catch(String);
    expect(failed).toContain("with 400");
    expect(failed).toContain('role="alert"');
    expect((await gateway.store.grants.list(account.accountId)).length).toBe(before);
  });

  test.each(["per_call_usd", "per_day_usd"])("the most that %s may be is said, and taken", async (field) => {
    const refused = await person()
      .allow(desk().begin().url, { [field]: "1000000.000001" })
      .catch(String);
    expect(refused).toContain("1000000 USD at most");
    const taken = await person().allow(desk().begin().url, { [field]: "1000000" });
    expect(taken.searchParams.get("code")).toBeTruthy();
  });

  test("the operator's days are what the page proposes and takes, also where they are none of the usual", async () => {
    const own = await openTestGateway({ config: "mcp: { grant_days: 45 }" });
    try {
      const owner = await own.openAccount();
      const client = await registerClient(own.url);
      const browser = createPerson(own.url, owner.key);
      const first = await browser.open(client.begin().url);
      const page = await browser.submit(first, { action: "sign_in", key: owner.key });
      const offered = [...page.html.matchAll(/<option value="(\d+)"\s*(selected)?/g)];
      expect(offered.map(([, days]) => days)).toEqual(["1", "7", "30", "45", "90", "365"]);
      expect(offered.flatMap(([, days, selected]) => (selected === undefined ? [] : [days]))).toEqual(["45"]);
      await browser.submit(page, { action: "allow", ...usualBounds, days: "45" });
      const [grant] = await own.store.grants.list(owner.accountId);
      const lifeMs = (grant?.spendPolicy.expiresAtMs ?? 0) - (grant?.createdAtMs ?? 0);
      expect(Math.round(lifeMs / 86_400_000)).toBe(45);
    } finally {
      await own.close();
    }
  });

  test("a client that asked only to read gets no more, whatever the form says", async () => {
    const reader = await gateway.openAccount();
    const client = await registerClient(gateway.url);
    const { url, verifier } = client.begin({ scope: "tools:read" });
    const returned = await createPerson(gateway.url, reader.key).allow(url, { spend: "yes" });
    expect((await client.redeem(returned, verifier)).scope).toBe("tools:read");
    expect(await gateway.store.grants.list(reader.accountId)).toMatchObject([
      { scopes: ["tools:read"], spendPolicy: { perCallMicros: 0n, perDayMicros: 0n } },
    ]);
  });

  test("a client that asked only to spend may read when its person allows no spending", async () => {
    const owner = await gateway.openAccount();
    for (const [spend, scope] of [
      ["", "tools:read"],
      ["yes", "tools:read tools:spend"],
    ] as const) {
      const client = await registerClient(gateway.url);
      const { url, verifier } = client.begin({ scope: "tools:spend" });
      const returned = await createPerson(gateway.url, owner.key).allow(url, { spend });
      expect(returned.searchParams.get("error")).toBeNull();
      expect((await client.redeem(returned, verifier)).scope).toBe(scope);
    }
  });
});

const usualBounds = { per_call_usd: "1", per_day_usd: "10", days: "30" };

/** Somebody who signed in and has the question before them; what they press is answered, and nobody goes on from there. */
async function openConsent(url: string, owner: TestAccount) {
  const browser = createPerson(gateway.url, owner.key);
  const page = await browser.submit(await browser.open(url), { action: "sign_in", key: owner.key });
  const csrf = csrfOf(page.html);
  const press = async (fields: Readonly<Record<string, string>>) => {
    const response = await fetch(page.url, {
      method: "POST",
      headers: {
        cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; "),
        "content-type": "application/x-www-form-urlencoded",
      },
      body: new URLSearchParams({ csrf, ...usualBounds, ...fields }).toString(),
    });
    const next = response.headers.get("refresh")?.replace(/^0; url=/, "") ?? "";
    return {
      status: response.status,
      text: () => response.text(),
      onward: async (): Promise<URL> => (await browser.open(next)).url,
    };
  };
  return { browser, page, press };
}

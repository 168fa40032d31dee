// The pages on which a key's owner sees what it spends: what the API says, to whom the API says it.

import { expect, test } from "bun:test";
import { usdFromMicros } from "../../gateway/src/platform/money.ts";
import { snapshotPath } from "../support/purchases.ts";
import {
  rerank,
  rows,
  tile,
  usd,
  useAccountVisits,
  wordsOf,
  type Figures,
  type Opened,
  type Receipts,
} from "./account-visits.ts";
import { openTestGateway, type TestAccount } from "../support/test-gateway.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

const { gateway, whole, single, signedIn, ask } = await useAccountVisits();

const secondsPerDay = 86_400;

test.each(["account", "key"] as const)(
  "the overview of a key of scope “%s” says what the API says to this key",
  async (scope) => {
    const account = scope === "account" ? whole : single;
    const { page } = await signedIn(account);
    expect(page.response.status).toBe(200);
    const { html } = page;

    const balance = await ask<Record<string, number> & { budget: Record<string, number> | null }>(
      account,
      "/v1/credits/balance",
    );
    expect(tile(html, "Available")[0]).toBe(usd(balance["available_micros_usd"] ?? NaN));
    expect(tile(html, "Held")[0]).toBe(usd(balance["held_micros_usd"] ?? NaN));
    expect(tile(html, "Balance")[0]).toBe(usd(balance["balance_micros_usd"] ?? NaN));
    expect(balance["held_micros_usd"]).toBeGreaterThan(0);
    if (balance.budget) {
      const {
        spent_micros_usd: spent = 0,
        held_micros_usd: held = 0,
        resets_at: resets = 0,
      } = balance.budget;
      expect(wordsOf(html)).toContain(
        `${usd(spent)} spent and ${usd(held)} held of 3 USD a day; ${usd(3_000_000 - spent - held)} left. ` +
          `It begins anew at ${new Date(resets * 1000).toISOString().slice(0, 10)} 00:00 UTC.`,
      );
    } else expect(html).toContain("This key has no budget of its own.");

    const today = Math.floor(Date.now() / 1000 / secondsPerDay) * secondsPerDay;
    for (const [name, days] of [
      ["Today", 1],
      ["Last 7 days", 7],
      ["Last 30 days", 30],
    ] as const) {
      const start = today - (days - 1) * secondsPerDay;
      const { totals } = await ask<{ totals: Figures }>(account, `/v1/usage?start_time=${start}`);
      const beside = `${totals.requests} calls, ${totals.failed_requests} failed`;
      expect([name, ...tile(html, name)]).toEqual([name, usd(totals.charged_micros_usd), beside]);
    }
    const usage = await ask<{
      scope: string;
      totals: Figures;
      buckets: (Figures & { start_time: number })[];
    }>(account, `/v1/usage?start_time=${today - 29 * secondsPerDay}`);
    expect(usage.scope).toBe(scope);
    expect(rows(html, "Calls and charges by UTC day")).toEqual(
      usage.buckets
        .toReversed()
        .map((bucket) => [
          new Date(bucket.start_time * 1000).toISOString().slice(0, 10),
          String(bucket.requests),
          String(bucket.failed_requests),
          usd(bucket.usage_value_micros_usd),
          usd(bucket.charged_micros_usd),
        ]),
    );
    expect([...html.matchAll(/<rect\s+class="column"/g)].length).toBe(30 + (balance.budget ? 1 : 0));
  },
);

test("spans begin with their first UTC day and not a day sooner, and calls of a day are found by it", async () => {
  const clock = createVirtualClock(Date.UTC(2026, 5, 1, 23, 59, 58));
  const newId = (): string => Bun.randomUUIDv7("hex", clock.wallMs());
  const own = await openTestGateway({ clock, parts: { newId } });
  try {
    const account = await own.openAccount();
    const made: string[] = [];
    // Thirty, 29, 7, 6 and no days ago, each just before its day ends.
    for (const days of [1, 22, 1, 6, 0]) {
      const call = await own.call(account, snapshotPath);
      made.push(call.headers.get("x-request-id") ?? "");
      clock.advance(days * 86_400_000);
    }
    const { browser, page } = await signedIn(account, "/account", own);
    expect(new Date(clock.wallMs()).toISOString()).toBe("2026-07-01T23:59:58.000Z");
    expect(tile(page.html, "Today")).toEqual(["0.048 USD", "1 call, 0 failed"]);
    expect(tile(page.html, "Last 7 days")).toEqual(["0.096 USD", "2 calls, 0 failed"]);
    expect(tile(page.html, "Last 30 days")).toEqual(["0.192 USD", "4 calls, 0 failed"]);
    const days = rows(page.html, "Calls and charges by UTC day");
    expect([days.length, days[0]?.[0], days.at(-1)?.[0]]).toEqual([30, "2026-07-01", "2026-06-02"]);
    expect(days.filter(([, calls]) => calls === "1").map(([day]) => day)).toEqual([
      "2026-07-01",
      "2026-06-25",
      "2026-06-24",
      "2026-06-02",
    ]);
    expect(rows(page.html, "The dearest operations")).toEqual([
      ["financial.metrics.snapshot", "4", "0.192 USD"],
    ]);

    const until = async (day: string): Promise<string[]> => {
      const { html } = await browser.open(`/account/calls?until=${day}`);
      return [...html.matchAll(/href="\/account\/calls\/([\w-]+)"/g)].map(([, id]) => id ?? "");
    };
    expect(await until("2026-07-01")).toEqual(made.toReversed());
    expect(await until("2026-06-24")).toEqual(made.slice(0, 3).toReversed());
    expect(await until("2026-06-23")).toEqual(made.slice(0, 2).toReversed());
  } finally {
    await own.close();
  }
});

test("what was called is taken apart by operation, model and key, within what the key sees", async () => {
  const { html } = (await signedIn(single)).page;
  const operations = rows(html, "The dearest operations");
  expect(operations.map(([name, calls]) => [name, calls])).toEqual([
    ["chat.completions.create", "1"],
    ["financial.metrics.snapshot", "1"],
    ["rerank.create", "1"],
  ]);
  expect(operations[1]?.[2]).toBe("0 USD");
  expect(rows(html, "The dearest models").map(([name]) => name)).toEqual([
    "gpt-4o",
    "without a model",
    "jina-reranker-v3",
  ]);
  expect(html).not.toContain("The dearest keys");

  const all = (await signedIn(whole)).page.html;
  expect(rows(all, "The dearest operations").map(([name]) => name)).toContain("messages.create");
  const keys = rows(all, "The dearest keys");
  expect(keys.map(([name, calls]) => [name, calls])).toEqual([
    [`test (…${whole.key.slice(-4)})`, "2"],
    [`test (…${single.key.slice(-4)})`, "3"],
  ]);
});

test("large amounts are grouped like large counts, to the last micro", async () => {
  const rich = await gateway.openAccount({
    creditUsd: "1234567.000001",
    budget: { window: "total", limitMicros: 1_000_000_000_000n },
    scope: "account",
  });
  const { page, browser } = await signedIn(rich);
  expect(tile(page.html, "Available")[0]).toBe("1,234,567.000001 USD");
  expect(wordsOf(page.html)).toContain("0 USD spent and 0 USD held of 1,000,000 USD in total");
  const { html } = await browser.open("/account/keys");
  expect(rows(html, "Keys of the account")[0]).toContain("0 of 1,000,000 USD in total");
});

test("an account without money is told that its calls are refused, and by whom that is mended", async () => {
  const told = "The account has no money left: every call that can cost something is refused with 402";
  const poor = await gateway.openAccount({ creditUsd: "0" });
  expect(wordsOf((await signedIn(poor)).page.html)).toContain(told);
  expect((await gateway.post(poor, "/v1/rerank", rerank)).status).toBe(402);
  // What is held is not spent yet, and may come back.
  expect(wordsOf((await signedIn(whole)).page.html)).not.toContain(told);
  expect(wordsOf((await signedIn(await gateway.openAccount())).page.html)).not.toContain(told);
});

test("limits stand as the API has them", async () => {
  const { limits } = await ask<{ limits: { name: string; limit: number; remaining: number }[] }>(
    whole,
    "/v1/limits",
  );
  const shown = rows((await signedIn(whole)).page.html, "Limits, and what is left of them");
  expect(shown.map(([, limit]) => limit?.replaceAll(",", ""))).toEqual(
    limits.map(({ limit }) => String(limit)),
  );
  expect(shown.find(([name]) => name === "Open tasks")?.slice(1, 3)).toEqual(["3", "2"]);
});

test("what alone a key may call stands where it sees itself, and where the account sees its keys", async () => {
  const models = ["gpt-4o", "claude-*", "gemini-*", "o3"];
  const limited = await gateway.issueKey(whole, { allowedModels: models, allowedOperations: ["chat.*"] });
  const own = wordsOf((await signedIn(limited)).page.html);
  expect(own).toContain("It may call only these models: gpt-4o claude-* gemini-* o3. ");
  expect(own).toContain("It may call only these operations of vendors: chat.*. ");
  const { browser, page } = await signedIn(whole);
  expect(wordsOf(page.html)).not.toContain("It may call only");
  const { html } = await browser.open("/account/keys");
  const named = rows(html, "Keys of the account").map(([name = ""]) => name);
  expect(named.find((name) => name.includes(limited.key.slice(-4)))).toEndWith(
    " only the models gpt-4o, claude-*, gemini-* and 1 more only the operations chat.*",
  );
  expect(named.filter((name) => name.includes("only the"))).toHaveLength(1);
});

test("the calls are those of the receipts, each with its charge and the way to its receipt", async () => {
  const { data } = await ask<Receipts>(whole, "/v1/requests");
  const { html } = (await signedIn(whole, "/account/calls")).page;
  const shown = rows(html, "Calls, the newest first");
  expect(shown.map(([made]) => made)).toEqual(
    data.map(({ created_at: at }) => at.slice(0, 19).replace("T", " ")),
  );
  for (const [at, call] of data.entries()) {
    expect(html).toContain(`href="/account/calls/${call.request_id}"`);
    expect(shown[at]?.[1]).toContain(call.operation_id);
  }
  const words = shown.map(([, operation, , outcome, charged]) => [
    operation?.split(" ")[0],
    outcome,
    charged,
  ]);
  expect(words[0]).toEqual([
    "video.synthesis.create",
    "running",
    expect.stringMatching(/^nothing yet .+ held$/),
  ]);
  expect(words).toContainEqual(["financial.metrics.snapshot", "succeeded", "0.048 USD"]);
  expect(words).toContainEqual(["financial.metrics.snapshot", "failed (500)", "0 USD"]);

  const own = rows((await signedIn(single, "/account/calls")).page.html, "Calls, the newest first");
  expect(own.length).toBe(data.filter(({ key_id: id }) => id === single.keyId).length);
});

test("calls are paged by fifty, to the last one, and can be begun at a day", async () => {
  const busy = await gateway.openAccount({ creditUsd: "10" });
  for (let bunch = 0; bunch < 6; bunch++)
    await Promise.all(Array.from({ length: 20 }, () => gateway.post(busy, "/v1/rerank", rerank)));
  const { browser, page } = await signedIn(busy, "/account/calls");
  const seen: string[] = [];
  for (let next: Opened | undefined = page; next;) {
    const ids = [...next.html.matchAll(/href="\/account\/calls\/([\w-]+)"/g)].map(([, id]) => id ?? "");
    expect(ids.length).toBeLessThanOrEqual(50);
    seen.push(...ids);
    const older: string | undefined = /href="(\/account\/calls\?cursor=[^"]+)"/.exec(next.html)?.[1];
    next = older === undefined ? undefined : await browser.open(older);
  }
  expect(seen.length).toBe(120);
  expect(new Set(seen).size).toBe(120);
  expect(seen).toEqual(seen.toSorted().reverse());

  const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  const today = await browser.open(`/account/calls?until=${dayOf(Date.now())}`);
  expect(rows(today.html, "Calls, the newest first").length).toBe(50);
  const before = await browser.open(`/account/calls?until=${dayOf(Date.now() - 86_400_000)}`);
  expect(before.html).toContain("There are none before that.");
  for (const wrong of [
    "until=yesterday",
    "until=2026-13-45",
    "until=2026-02-30",
    "cursor=%27%20OR%201=1",
    "cursor=",
  ])
    expect([wrong, (await browser.open(`/account/calls?${wrong}`)).response.status]).toEqual([wrong, 400]);
});

test("however many calls others of the account made, a page looks at so many, says so, and goes on from there", async () => {
  const crowd = await gateway.openAccount({ creditUsd: "50", tier: "enterprise" });
  const few = await gateway.issueKey(crowd);
  const first = (await gateway.post(few, "/v1/rerank", rerank)).headers.get("x-request-id") ?? "";
  for (let bunch = 0; bunch < 26; bunch++) {
    // Beyond what one key may ask for in a minute, so several of the account take turns.
    const by = bunch % 13 === 0 ? await gateway.issueKey(crowd) : crowd;
    await Promise.all(Array.from({ length: 100 }, () => gateway.post(by, "/v1/rerank", rerank)));
  }
  const { browser, page } = await signedIn(few, "/account/calls");
  expect(page.html).not.toContain(first);
  expect(page.html).toContain("None of the calls looked at came from this key.");
  let reached = page;
  for (let pages = 0; pages < 10 && !reached.html.includes(first); pages++) {
    reached = await browser.open(/href="(\/account\/calls\?cursor=[^"]+)"/.exec(reached.html)?.[1] ?? "");
  }
  expect(reached.html).toContain(first);

  // Sums are still exact; only what would have to be read call by call is left out.
  const overview = await browser.open("/account");
  expect(tile(overview.html, "Today")[1]).toBe("1 call, 0 failed");
  expect(overview.html).toContain("Too many calls ended today");
  expect(overview.html).not.toContain("The dearest models");
}, 60_000);

test("whoever met an error on these pages is shown a way on", async () => {
  const { browser, page } = await signedIn(single);
  const linkIn = ({ html }: Opened): string => /<main>[^]*<a href="([^"]*)"/.exec(html)?.[1] ?? "";
  expect(linkIn(await browser.open("/account/nothing"))).toBe("/account");
  expect(linkIn(await browser.open("/account/calls?until=tomorrow"))).toBe("/account/calls");
  expect(linkIn(await browser.submit(page, { action: "sign_out", csrf: "" }))).toBe("/account");
});

const withoutCommas = (figure: string): string => figure.replaceAll(",", "");

test("a receipt says on its page what it says to programs, and what each line of it comes to", async () => {
  const { browser } = await signedIn(whole);
  const { data } = await ask<{ data: Record<string, unknown>[] }>(whole, "/v1/requests");
  expect(data.length).toBe(6);
  for (const { request_id: id } of data as { request_id: string }[]) {
    const receipt = await ask<{
      explanation: string;
      held_micros_usd: number;
      usage_value_micros_usd: number;
      charged_micros_usd: number;
      price_version: string;
      key_id: string;
      status: string;
      created_at: string;
      usage: Record<string, number>;
      prices: { unit: string; quantity: number; unit_price_usd: string }[];
      attempts: { upstream: string; outcome: string; status: number; started_at: string }[];
    }>(whole, `/v1/requests/${id}`);
    const page = await browser.open(`/account/calls/${id}`);
    expect(page.response.status).toBe(200);
    expect(tile(page.html, "Held")[0]).toBe(usd(receipt.held_micros_usd));
    expect(tile(page.html, "Value")[0]).toBe(usd(receipt.usage_value_micros_usd));
    expect(tile(page.html, "Charged")[0]).toBe(usd(receipt.charged_micros_usd));
    const words = wordsOf(page.html.replaceAll("&#x27;", "'"));
    for (const fact of [receipt.explanation, receipt.price_version, receipt.key_id, receipt.status, id])
      expect(words).toContain(fact);
    expect(words).toContain(`${receipt.created_at.slice(0, 23).replace("T", " ")} UTC`);
    const metered = rows(page.html, "What was metered");
    expect(metered.map(([unit]) => unit)).toEqual(Object.keys(receipt.usage));
    const lines = new Map(metered.map(([unit, ...figures]) => [unit, figures.map(withoutCommas)]));
    let value = 0;
    for (const { unit, quantity, unit_price_usd: each } of receipt.prices) {
      const [count, price, amount = ""] = lines.get(unit) ?? [];
      expect([unit, count, price]).toEqual([
        unit,
        `${quantity}`,
        unit.endsWith("_tokens")
          ? `${Number((Number(each) * 1e6).toFixed(6))} USD per 1000000`
          : `${each} USD each`,
      ]);
      expect(parseFloat(amount)).toBeCloseTo(quantity * Number(each), 12);
      value += parseFloat(amount);
    }
    // What less than a micro remains is the account's next call's.
    expect(Math.abs(value * 1e6 - receipt.usage_value_micros_usd)).toBeLessThan(1);
    expect(rows(page.html, "Attempts").map(([upstream]) => upstream)).toEqual(
      receipt.attempts.map(({ upstream }) => upstream),
    );
  }
});

test("somebody else's receipt looks like one that never was, also another key's to a key that sees itself", async () => {
  const { data } = await ask<Receipts>(whole, "/v1/requests");
  const idOf = (account: TestAccount): string =>
    data.find(({ key_id: id }) => id === account.keyId)?.request_id ?? "";
  const stranger = await gateway.openAccount({ scope: "account" });
  const plain = (page: Opened, id: string): string =>
    page.html.replaceAll(/name="csrf" value="[^"]*"/g, "").replaceAll(id, "ID");
  for (const [by, id, status] of [
    [whole, idOf(single), 200],
    [single, idOf(single), 200],
    [single, idOf(whole), 404],
    [stranger, idOf(single), 404],
  ] as const) {
    const { browser, page } = await signedIn(by, `/account/calls/${id}`);
    expect([by.keyId, page.response.status]).toEqual([by.keyId, status]);
    if (status === 200) continue;
    const never = Bun.randomUUIDv7();
    expect(plain(page, id)).toBe(plain(await browser.open(`/account/calls/${never}`), never));
    expect(page.html).not.toContain("financial");
  }
});

test("only a key that sees the whole account sees its keys, what they spent and until when they work", async () => {
  const { budgetUse } = gateway.store.keys;
  const { spentMicros } = await budgetUse(whole.keyId, "day", Date.now());
  const gone = await gateway.issueKey(whole);
  await gateway.store.keys.update(gone.keyId, { name: "<b>old</b>" });
  await gateway.store.keys.revoke(gone.keyId, Date.now());
  const { page } = await signedIn(whole, "/account/keys");
  const listed = rows(page.html, "Keys of the account");
  const today = new Date().toISOString().slice(0, 10);
  const row = (account: TestAccount) => listed.find(([name]) => name?.includes(account.key.slice(-4)));
  expect(row(whole)?.[3]).toContain(`${usdFromMicros(spentMicros)} of 3 USD a day`);
  expect([row(whole)?.[1], row(single)?.[1]]).toEqual(["all keys", "itself"]);
  expect([row(single)?.[3], row(single)?.[4], row(single)?.[5]]).toEqual(["none", today, "no end"]);
  expect(listed.at(-1)?.[0]).toContain("&lt;b&gt;old&lt;/b&gt;");
  expect(listed.at(-1)?.slice(4)).toEqual(["not in 30 days", expect.stringMatching(/^revoked .+ UTC$/)]);

  const { totals } = await ask<{ totals: Figures }>(
    single,
    `/v1/usage?start_time=${Math.floor(Date.now() / 1000) - 3_600}`,
  );
  expect(row(single)?.[2]).toBe(usd(totals.charged_micros_usd));
  const refused = await signedIn(single, "/account/keys");
  expect(refused.page.response.status).toBe(403);
  expect(refused.page.html).not.toContain(`…${whole.key.slice(-4)}`);
});

test("of a key the secrets are shown that work: both while it is rotated, the new one after, none of a key that ended", async () => {
  const clock = createVirtualClock();
  const own = await openTestGateway({ clock });
  try {
    const owner = await own.openAccount({ scope: "account" });
    const { keyId } = await own.issueKey(owner);
    const endings = async (): Promise<string[]> => {
      const { page } = await signedIn(owner, "/account/keys", own);
      const name = rows(page.html, "Keys of the account").find(
        (row) => !row[0]?.includes(owner.key.slice(-4)),
      )?.[0];
      return [...(name ?? "none").matchAll(/…(\S+)/g)].map(([, last4 = ""]) => last4);
    };
    const [first = ""] = await endings();
    clock.advance(1);
    const nowMs = clock.wallMs();
    const rotation = { keyId, secretHash: new TextEncoder().encode("another secret"), last4: "wxyz", nowMs };
    await own.store.keys.rotate({ ...rotation, graceEndsAtMs: nowMs + 60_000 });
    clock.advance(59_999);
    expect(await endings()).toEqual(["wxyz", first]);
    clock.advance(1);
    expect(await endings()).toEqual(["wxyz"]);
    await own.store.keys.revoke(keyId, clock.wallMs());
    expect(await endings()).toEqual([]);
  } finally {
    await own.close();
  }
});

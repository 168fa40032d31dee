// Money that a client spent, which somebody let in: receipts name the client, and its calls can be listed alone.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { systemClock } from "../../gateway/src/platform/clock.ts";
import { useTool } from "../agents/agent-client.ts";
import { snapshotOrder } from "../agents/agent-purchases.ts";
import { createPerson, registerClient, type Person } from "../sign-in/oauth-person.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { awayFromMidnight, nextSecond } from "../support/wall-clock.ts";
import { dayOf, rerank, rows, wordsOf } from "./account-visits.ts";

const name = `Desk <b>&"`;
let passedMs = 0;
let gateway: TestGateway;
let whole: TestAccount;
let single: TestAccount;
let desk: LetIn;
let lamp: LetIn;
/** Calls of the single key by id: two of its desk, one of its own; and one of the lamp, let in with the other key. */
let byDesk: string[];
let byKey: string;
let byLamp: string;

interface LetIn {
  readonly token: string;
  readonly grantId: string;
}

beforeAll(async () => {
  await awayFromMidnight();
  const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + passedMs };
  gateway = await openTestGateway({
    clock,
    parts: { newId: () => Bun.randomUUIDv7("hex", clock.wallMs()) },
    store: { lookedThroughMax: 5 },
  });
  whole = await gateway.openAccount({ scope: "account", creditUsd: "20" });
  single = await gateway.issueKey(whole);
  desk = await letIn(single, name);
  lamp = await letIn(whole, "Lamp");
  const order = snapshotOrder(0.1);
  const { structuredContent } = await useTool(`${gateway.url}/mcp`, desk.token, "use", order);
  byDesk = [await rank(desk.token, "desk-1"), String(structuredContent["request_id"])].toSorted().reverse();
  byKey = await rank(single.key, "own-1");
  byLamp = await rank(lamp.token);
});
afterAll(() => gateway.close());

async function letIn({ key, accountId }: TestAccount, clientName: string): Promise<LetIn> {
  const client = await registerClient(gateway.url, { client_name: clientName });
  const { url, verifier } = client.begin();
  const returned = await createPerson(gateway.url, key).allow(url);
  const { access_token: token } = await client.redeem(returned, verifier);
  const grants = await gateway.store.grants.list(accountId);
  return { token, grantId: grants.find(({ clientId }) => clientId === client.clientId)?.id ?? "none" };
}

const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });

async function rank(credential: string, idempotencyKey: string = crypto.randomUUID()): Promise<string> {
  const answer = await fetch(`${gateway.url}/v1/rerank`, {
    method: "POST",
    headers: {
      ...bearer(credential),
      "content-type": "application/json",
      "idempotency-key": idempotencyKey,
    },
    body: JSON.stringify(rerank),
  });
  expect(answer.status).toBe(200);
  return answer.headers.get("x-request-id") ?? "";
}

interface Receipt {
  readonly request_id: string;
  readonly client: unknown;
}

interface Page {
  readonly data: readonly Receipt[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

async function get<Answer>(credential: string, path: string): Promise<Answer> {
  const answer = await fetch(gateway.url + path, { headers: bearer(credential) });
  expect([path, answer.status]).toEqual([path, 200]);
  // The shapes are those of the contract, which `contract-answers` checks.
  return (await answer.json()) as Answer;
}

const list = (credential: string, query: string): Promise<Page> => get(credential, `/v1/requests?${query}`);
const idsOf = ({ data }: Page): string[] => data.map(({ request_id: id }) => id);

async function signedIn({ key }: TestAccount): Promise<Person> {
  const browser = createPerson(gateway.url, key);
  await browser.submit(await browser.open("/account"), { action: "sign_in", key });
  return browser;
}

const callsIn = (html: string): string[] =>
  [...html.matchAll(/href="\/account\/calls\/([\w-]+)"/g)].map(([, id]) => id ?? "");

test("a receipt names the client that made the call, at the API and through an agent's tool, and none for a key", async () => {
  const client = { grant_id: desk.grantId, name };
  for (const credential of [whole.key, single.key, desk.token]) {
    for (const id of byDesk)
      expect((await get<Receipt>(credential, `/v1/requests/${id}`)).client).toEqual(client);
    expect((await get<Receipt>(credential, `/v1/requests/${byKey}`)).client).toBeNull();
  }
  const { data } = await list(whole.key, "limit=10");
  expect(data.map(({ request_id: id, client: by }) => [id, by])).toEqual([
    [byLamp, { grant_id: lamp.grantId, name: "Lamp" }],
    [byKey, null],
    ...byDesk.map((id) => [id, client]),
  ]);
});

test("a list can be narrowed to one client, beside every other filter, and knows none of another account", async () => {
  const only = `grant_id=${desk.grantId}`;
  expect(idsOf(await list(whole.key, only))).toEqual(byDesk);
  expect(idsOf(await list(whole.key, `${only}&operation_id=rerank.create`))).toHaveLength(1);
  expect(idsOf(await list(whole.key, `${only}&key_id=${whole.keyId}`))).toEqual([]);
  const first = await list(whole.key, `${only}&limit=1`);
  expect(idsOf(await list(whole.key, `${only}&limit=1&cursor=${first.next_cursor}`))).toEqual(
    byDesk.slice(1),
  );
  expect(idsOf(await list(whole.key, `${only}&idempotency_key=desk-1`))).toHaveLength(1);
  expect(idsOf(await list(whole.key, `${only}&idempotency_key=own-1`))).toEqual([]);
  expect(idsOf(await list(whole.key, `grant_id=${lamp.grantId}&idempotency_key=desk-1`))).toEqual([]);

  const nothing = { object: "list", data: [], has_more: false, next_cursor: null } as unknown as Page;
  const stranger = await gateway.openAccount({ scope: "account" });
  expect(await list(stranger.key, only)).toEqual(nothing);
  expect(await list(whole.key, "grant_id=gr_nobody")).toEqual(nothing);
});

test("the pages name the client beside the key, lead from it to its calls, and show its name as text", async () => {
  const browser = await signedIn(whole);
  const { html } = await browser.open("/account/calls");
  const keyOf = ({ key }: TestAccount): string => `test (…${key.slice(-4)})`;
  const escaped = "Desk &lt;b&gt;&amp;&quot;";
  expect(rows(html, "Calls, the newest first").map(([, , key]) => key)).toEqual([
    `${keyOf(whole)} by Lamp`,
    keyOf(single),
    `${keyOf(single)} by ${escaped}`,
    `${keyOf(single)} by ${escaped}`,
  ]);
  expect(html).not.toContain("<b>");

  const receipt = await browser.open(`/account/calls/${byDesk[0]}`);
  expect(wordsOf(receipt.html)).toContain(` Client ${escaped} ${desk.grantId} Made `);
  expect(receipt.html).toContain(`href="/account/calls?grant_id=${desk.grantId}"`);
  expect(wordsOf((await browser.open(`/account/calls/${byKey}`)).html)).not.toContain(" Client ");
  const clients = await browser.open("/oauth/grants");
  for (const { grantId } of [desk, lamp])
    expect(clients.html).toContain(`href="/account/calls?grant_id=${grantId}"`);

  const narrowed = await browser.open(`/account/calls?grant_id=${desk.grantId}`);
  expect(callsIn(narrowed.html)).toEqual(byDesk);
  expect(wordsOf(narrowed.html)).toContain(`Those that ${escaped} made. All calls`);
  // A file has the calls of all clients, so it is not offered here.
  expect(narrowed.html).not.toContain("Download CSV");
  expect(narrowed.html).toContain(`<input type="hidden" name="grant_id" value="${desk.grantId}" />`);
  const yesterday = dayOf(Date.now() - 86_400_000);
  const earlier = await browser.open(`/account/calls?until=${yesterday}&grant_id=${desk.grantId}`);
  expect(earlier.html).toContain("There are none before that.");
  expect(earlier.html).toContain(`<a href="/account/calls?grant_id=${desk.grantId}">The newest calls</a>`);
});

test("a key that sees itself is told of its own clients only", async () => {
  const browser = await signedIn(single);
  const { html } = await browser.open("/account/calls");
  expect(rows(html, "Calls, the newest first").map(([, , client]) => client)).toEqual([
    "the key itself",
    "Desk &lt;b&gt;&amp;&quot;",
    "Desk &lt;b&gt;&amp;&quot;",
  ]);
  expect(callsIn((await browser.open(`/account/calls?grant_id=${desk.grantId}`)).html)).toEqual(byDesk);
  const nobody = await browser.open("/account/calls?grant_id=gr_nobody");
  const others = await browser.open(`/account/calls?grant_id=${lamp.grantId}`);
  expect([others.response.status, others.html]).toEqual([404, nobody.html]);
  expect(others.html).not.toContain("Lamp");
});

test("a file of calls has the client of each, and says nothing where a key was used", async () => {
  await nextSecond();
  const browser = await signedIn(whole);
  const today = dayOf(Date.now());
  const { html } = await browser.open(`/account/calls.csv?from=${today}&to=${today}`);
  const [head = "", ...lines] = html.trimEnd().split("\r\n");
  expect(head).toEndWith(",price_version,grant_id,client_name");
  const endOf = (id: string | undefined): string => lines.find((line) => line.startsWith(`${id},`)) ?? "none";
  expect(endOf(byDesk[0])).toEndWith(`,${desk.grantId},"Desk <b>&"""`);
  expect(endOf(byLamp)).toEndWith(`,${lamp.grantId},Lamp`);
  expect(endOf(byKey)).toEndWith(",,");
});

test("of a client that ended long ago the calls are found at once, and of a new one nothing is looked for in the past", async () => {
  const account = await gateway.openAccount({ scope: "account" });
  const former = await letIn(account, "Former");
  const made = await rank(former.token);
  await gateway.store.grants.revoke(former.grantId, systemClock.wallMs());
  passedMs = 3_600_000;
  try {
    // More than are looked through for a page.
    for (let call = 0; call < 12; call++) await rank(account.key);
    passedMs = 2 * 3_600_000;
    const latest = await letIn(account, "Latest");
    await rank(account.key);
    const page = await list(account.key, `grant_id=${former.grantId}&limit=5`);
    expect([idsOf(page), page.has_more]).toEqual([[made], false]);
    const nothing = await list(account.key, `grant_id=${latest.grantId}`);
    expect([idsOf(nothing), nothing.has_more]).toEqual([[], false]);
    const browser = await signedIn(account);
    const { html } = await browser.open(`/account/calls?grant_id=${latest.grantId}`);
    expect(wordsOf(html)).toContain("Those that Latest made. All calls");
    expect(html).toContain("It has made none.");
    // Whoever asks for a span gets no more than that span.
    const day = dayOf(systemClock.wallMs() - 86_400_000);
    const before = Date.parse(`${day}T00:00:00Z`) / 1000;
    expect(idsOf(await list(account.key, `grant_id=${former.grantId}&end_time=${before}`))).toEqual([]);
    const later = Math.floor(systemClock.wallMs() / 1000) + 60;
    expect(idsOf(await list(account.key, `grant_id=${former.grantId}&start_time=${later}`))).toEqual([]);
  } finally {
    passedMs = 0;
  }
});

test("its calls are paged, and looked for further back, without those of others coming in between", async () => {
  const account = await gateway.openAccount({ scope: "account" });
  const busy = await letIn(account, "Busy");
  const made = [await rank(busy.token)];
  for (let call = 0; call < 12; call++) await rank(account.key);
  made.unshift(await rank(busy.token));
  const browser = await signedIn(account);
  const seen: string[] = [];
  let path: string | undefined = `/account/calls?grant_id=${busy.grantId}`;
  let notes = 0;
  for (let pages = 0; path !== undefined && pages < 10; pages++) {
    const { html } = await browser.open(path);
    seen.push(...callsIn(html));
    if (wordsOf(html).includes("Those of this client may go on further back.")) notes++;
    path = /href="(\/account\/calls\?[^"]+)">Look further back/.exec(html)?.[1]?.replaceAll("&amp;", "&");
    if (path !== undefined) expect(path).toContain(`?grant_id=${busy.grantId}&cursor=`);
  }
  expect(seen).toEqual(made);
  expect(notes).toBeGreaterThan(0);
});

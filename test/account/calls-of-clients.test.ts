// Money that a client spent, which somebody let in: receipts name the client, and its calls can be listed alone.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { systemClock } from "../../gateway/src/platform/clock.ts";
import { useTool } from "../agents/agent-client.ts";
import { snapshotOrder } from "../agents/agent-purchases.ts";
import { createPerson, registerClient } from "../sign-in/oauth-person.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { awayFromMidnight } from "../support/wall-clock.ts";
import { dayOf, rerank } from "./account-visits.ts";

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

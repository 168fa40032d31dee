// The calls of a month, a day or a minute, without all those that came after them.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { nextSecond } from "../support/wall-clock.ts";

let gateway: TestGateway;
let account: TestAccount;
/** When the second and the third bunch of calls began, in whole seconds. */
let second: number;
let third: number;
let bunches: readonly (readonly string[])[];

beforeAll(async () => {
  gateway = await openTestGateway();
  account = await gateway.openAccount({ tier: "enterprise" });
  const first = await makeBunch();
  second = await nextSecond();
  const middle = await makeBunch();
  third = await nextSecond();
  bunches = [first, middle, await makeBunch()];
});
afterAll(() => gateway.close());

/** Five calls; their ids, the newest first. */
async function makeBunch(): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < 5; at++) {
    const rerank = { query: "tea", documents: ["green tea", "a car"] };
    const headers = { "idempotency-key": `call-${Date.now()}-${at}` };
    const answer = await gateway.post(account, "/v1/rerank", rerank, headers);
    ids.unshift(answer.headers.get("x-request-id") ?? "");
    keys.set(ids[0] ?? "", headers["idempotency-key"]);
  }
  return ids;
}

const keys = new Map<string, string>();

interface Page {
  readonly data: readonly { readonly request_id: string; readonly created_at: string }[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

const list = async (query: string): Promise<Page> => {
  const answer = await gateway.call(account, `/v1/requests?${query}`);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Page;
};

const idsOf = ({ data }: Page): string[] => data.map(({ request_id: id }) => id);

test("a list can begin and end at a moment, to the second; the end is not in it", async () => {
  const [first = [], middle = [], last = []] = bunches;
  expect(idsOf(await list(`start_time=${second}&end_time=${third}`))).toEqual([...middle]);
  expect(idsOf(await list(`start_time=${third}`))).toEqual([...last]);
  expect(idsOf(await list(`end_time=${second}`))).toEqual([...first]);
  expect(idsOf(await list(`start_time=${second - 3600}`))).toEqual([...last, ...middle, ...first]);
  expect(await list(`end_time=${second - 3600}`)).toEqual({
    object: "list",
    data: [],
    has_more: false,
    next_cursor: null,
  } as unknown as Page);
});

test("its pages hold each call once and end with it, with filters and without", async () => {
  for (const filter of ["", `&key_id=${account.keyId}`, "&status=settled", "&operation_id=nobody.calls"]) {
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const from: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const page = await list(`start_time=${second}&end_time=${third}&limit=2${filter}${from}`);
      expect(page.has_more).toBe(page.next_cursor !== null);
      seen.push(...idsOf(page));
      cursor = page.next_cursor;
    }
    expect([filter, seen]).toEqual([filter, filter.includes("nobody") ? [] : [...(bunches[1] ?? [])]]);
  }
  // A cursor of a list without an end does not lead out of one that has an end.
  const newest = bunches[2]?.[0] ?? "";
  expect(idsOf(await list(`end_time=${third}&limit=1&cursor=${newest}`))).toEqual([bunches[1]?.[0] ?? ""]);
});

test("it holds for a call that is asked for by its idempotency key, too", async () => {
  const id = bunches[1]?.[0] ?? "";
  const byKey = `idempotency_key=${keys.get(id)}`;
  expect(idsOf(await list(`${byKey}&start_time=${second}&end_time=${third}`))).toEqual([id]);
  expect(idsOf(await list(`${byKey}&start_time=${third}`))).toEqual([]);
  expect(idsOf(await list(`${byKey}&end_time=${second}`))).toEqual([]);
});

test("what is no span is 400 and names the field", async () => {
  for (const [query, message] of [
    ["start_time=yesterday", "start_time: must be a positive Unix timestamp in whole seconds"],
    ["end_time=1.5", "end_time: must be a positive Unix timestamp in whole seconds"],
    [`start_time=${third}&end_time=${third}`, "end_time must be after start_time"],
    [`start_time=${third}&end_time=${second}`, "end_time must be after start_time"],
  ]) {
    const answer = await gateway.call(account, `/v1/requests?${query}`);
    const { error } = (await answer.json()) as { error: string };
    expect([query, answer.status, error]).toEqual([query, 400, message]);
  }
});

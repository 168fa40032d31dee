// What a vendor has kept of an account's answers is that account's alone, although all come to it with one key.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { KeptAnswer } from "../../gateway/src/routing/kept-answers.ts";
import { StoreBusy } from "../../gateway/src/ledger/store-errors.ts";
import { systemClock } from "../../gateway/src/platform/clock.ts";
import { openTestData, type TestData } from "../support/test-data.ts";
import { openSandbox, type SandboxControl } from "../support/sandbox.ts";
import { until } from "../support/until.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";

const path = "/v1/responses";
const secret = "The launch code is zebra, zebra, seven.";
const first = { model: "gpt-4o-mini", input: secret, reasoning: { effort: "low" }, max_output_tokens: 256 };
const next = { model: "gpt-4o-mini", input: "And?" };

interface Told {
  readonly id: string;
  readonly output: readonly { readonly id: string; readonly type: string }[];
  readonly usage: { readonly input_tokens: number };
}

let data: TestData;
let sandbox: SandboxControl;
let gateway: TestGateway;
let owner: TestAccount;
let stranger: TestAccount;
/** What was written down of answers. */
let kept: KeptAnswer[] = [];
/** How often that fails from now on. */
let failures = 0;
let laterMs = 0;

beforeAll(async () => {
  data = await openTestData();
  sandbox = await openSandbox();
  gateway = await open();
  owner = await gateway.openAccount();
  stranger = await gateway.openAccount();
});

afterEach(async () => {
  laterMs = 0;
  failures = 0;
  expect(await gateway.audit()).toEqual([]);
});

afterAll(async () => {
  await gateway.close();
  sandbox.stop();
  await data.close();
});

const open = (): Promise<TestGateway> =>
  openTestGateway({
    data,
    sandbox,
    clock: { ...systemClock, wallMs: () => Date.now() + laterMs },
    wrap: (parts) => {
      const { keptAnswers } = parts.store;
      const keep: typeof keptAnswers.keep = async (answer, nowMs) => {
        if (failures-- > 0) throw new StoreBusy();
        await keptAnswers.keep(answer, nowMs);
        kept.push(answer);
      };
      return { ...parts, store: { ...parts.store, keptAnswers: { ...keptAnswers, keep } } };
    },
  });

/** An answer that the vendor keeps, whole or as the last event of its stream says it. */
async function keepOne(stream: boolean): Promise<Told> {
  kept = [];
  const answer = await gateway.post(owner, path, { ...first, stream });
  const text = await answer.text();
  expect(answer.status).toBe(200);
  const whole = stream ? text.match(/^data: (\{"type":"response.completed".*)$/m)?.[1] : text;
  const told = JSON.parse(whole ?? "") as Told & { readonly response: Told };
  return stream ? told.response : told;
}

/** What becomes of a call, with the id replaced by a word: the same for an id of somebody else and for one of chance. */
async function comesOf(account: TestAccount, body: object, id: string): Promise<object> {
  await sandbox.clear();
  const before = await gateway.balance(account);
  const answer = await gateway.post(account, path, body);
  const names = [...answer.headers.keys()].filter((name) => !name.startsWith("x-ratelimit"));
  const told = (await answer.text()).replaceAll(id, "ID");
  expect(await gateway.balance(account)).toEqual(before);
  return { status: answer.status, names, told: JSON.parse(told) as unknown };
}

const ways: readonly (readonly [string, (told: Told) => string, (id: string) => object])[] = [
  ["the one before", ({ id }) => id, (id) => ({ ...next, previous_response_id: id })],
  ["an item by its id", messageIn, (id) => ({ ...next, input: [{ type: "item_reference", id }, said] })],
  ["an item by nothing but its id", messageIn, (id) => ({ ...next, input: [{ id }, said] })],
  [
    "thoughts that only the vendor has",
    (told) => idOf(told, "reasoning"),
    (id) => ({ ...next, input: [{ type: "reasoning", id, summary: [] }, said] }),
  ],
];
const said = { role: "user", content: "Repeat it." };
function messageIn(told: Told): string {
  return idOf(told, "message");
}
const idOf = ({ output }: Pick<Told, "output">, wanted: string): string => {
  const found = output.find(({ type }) => type === wanted);
  if (!found) throw new Error(`There is no ${wanted}.`);
  return found.id;
};

describe.each([false, true])("an answer that was streamed: %p", (stream) => {
  test.each(ways.slice(0, 2))("is gone on with by every key of its account: %s", async (_, idIn, going) => {
    const told = await keepOne(stream);
    const colleague = await gateway.issueKey(owner);
    for (const account of [owner, colleague]) {
      const answer = await gateway.post(account, path, going(idIn(told)));
      expect(answer.status).toBe(200);
    }
  });

  test.each(ways)("is to another account as if it had never been: %s", async (_, idIn, going) => {
    const id = idIn(await keepOne(stream));
    const foreign = await comesOf(stranger, going(id), id);
    expect(await sandbox.book()).toEqual([]);
    expect(foreign).toMatchObject({ told: { error: { type: "invalid_request_error" } } });
    const prefix = id.slice(0, id.indexOf("_"));
    const random = `${prefix}_00000000`;
    // The sandbox has no thoughts to read again, so it misses none.
    if (prefix !== "rs") expect(foreign).toEqual(await comesOf(stranger, going(random), random));
    else expect(foreign).toMatchObject({ status: 404 });
  });
});

test("what the vendor says of a response that is not there is said word for word", async () => {
  const { id, output } = await keepOne(false);
  const previous = await gateway.post(stranger, path, { ...next, previous_response_id: id });
  expect([previous.status, await previous.json()]).toEqual([
    400,
    {
      error: {
        message: `Previous response with id '${id}' not found.`,
        type: "invalid_request_error",
        param: "previous_response_id",
        code: "previous_response_not_found",
      },
    },
  ]);
  const item = output.at(-1)?.id;
  const reference = await gateway.post(stranger, path, {
    ...next,
    input: [{ type: "item_reference", id: item }],
  });
  expect([reference.status, await reference.json()]).toEqual([
    404,
    {
      error: {
        message: `Item with id '${item}' not found.`,
        type: "invalid_request_error",
        param: "input",
        code: null,
      },
    },
  ]);
});

test("one thing of another account's among the caller's own is enough", async () => {
  const { output } = await keepOne(false);
  const own = await gateway.post(stranger, path, first);
  const { id: previous, output: items } = (await own.json()) as Told;
  const ownItem = { type: "item_reference", id: idOf({ output: items }, "message") };
  const foreignItem = { type: "item_reference", id: idOf({ output }, "message") };
  const going = { ...next, previous_response_id: previous };
  expect((await gateway.post(stranger, path, { ...going, input: [ownItem, said] })).status).toBe(200);
  expect((await gateway.post(stranger, path, { ...going, input: [ownItem, foreignItem] })).status).toBe(404);
});

test("an id by another name than its own is refused", async () => {
  const { id } = await keepOne(false);
  const answer = await gateway.post(stranger, path, { ...next, input: [{ type: "item_reference", ID: id }] });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain("ID");
});

test("an item that the caller brings along whole is no secret of its vendor's, whoever got it", async () => {
  const { output } = await keepOne(false);
  const message = output.find(({ type }) => type === "message");
  const answer = await gateway.post(stranger, path, { ...next, input: [message, said] });
  expect(answer.status).toBe(200);
});

test("a quote says nothing about whose it is", async () => {
  const { id } = await keepOne(false);
  const quoteOf = async (previous: string): Promise<unknown> => {
    const body = { ...next, previous_response_id: previous };
    const answer = await gateway.post(stranger, path, body, { "x-tollgate-cost-mode": "quote" });
    expect(answer.status).toBe(200);
    const { quote } = (await answer.json()) as { quote: unknown };
    return quote;
  };
  expect(await quoteOf(id)).toEqual(await quoteOf("0".repeat(id.length)));
});

test("it stays so after a restart, and for as long as the vendor keeps it", async () => {
  const { id } = await keepOne(false);
  await gateway.close();
  gateway = await open();
  const ask = async (): Promise<number> => {
    await sandbox.clear();
    const answer = await gateway.post(stranger, path, { ...next, previous_response_id: id });
    await answer.text();
    return (await sandbox.book()).length;
  };
  const day = 24 * 60 * 60 * 1000;
  laterMs = 30 * day;
  expect(await ask()).toBe(0);
  laterMs = 32 * day;
  // From here on its vendor knows.
  expect(await ask()).toBe(1);
});

describe("is written down", () => {
  test("by all its ids, which cannot be read from there", async () => {
    const { id, output } = await keepOne(true);
    expect(kept).toMatchObject([{ accountId: owner.accountId, upstream: "sandbox-openai" }]);
    expect(kept[0]?.idHashes.length).toBe(1 + output.length);
    const stored = await data.everything();
    for (const told of [id, ...output.map((item) => item.id)]) expect(stored).not.toContain(told);
  });

  test.each([false, true])("only where the vendor keeps it, streamed %p", async (stream) => {
    kept = [];
    const answer = await gateway.post(owner, path, { ...first, stream, store: false });
    await answer.text();
    const messages = [{ role: "user", content: secret }];
    const chat = await gateway.post(owner, "/v1/chat/completions", {
      model: "gpt-4o-mini",
      messages,
      stream,
    });
    await chat.text();
    expect([answer.status, chat.status, kept]).toEqual([200, 200, []]);
  });

  test.each([false, true])(
    "later where the store is away, and the answer is given, streamed %p",
    async (stream) => {
      failures = 1;
      const { id } = await keepOne(stream);
      expect(gateway.logged.join("")).toContain(
        "the owner of an answer that its vendor keeps could not be written",
      );
      await until(() => kept.length === 1);
      const answer = await gateway.post(stranger, path, { ...next, previous_response_id: id });
      expect(answer.status).toBe(400);
    },
  );

  test("of a stream whose caller left, too: the vendor keeps that one as well", async () => {
    kept = [];
    const controller = new AbortController();
    const answer = await gateway.call(owner, path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...first, stream: true }),
      signal: controller.signal,
    });
    await answer.body?.getReader().read();
    controller.abort();
    await until(() => kept.length > 0);
    expect(kept).toMatchObject([{ accountId: owner.accountId }]);
  });
});

test("no call names more kept items than a response has, and it is refused before they are looked up", async () => {
  const references = (count: number) => Array.from({ length: count }, (_, at) => ({ id: `msg_${at}` }));
  const refused = await gateway.post(owner, path, { ...next, input: references(1_001) });
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { error: { code: "invalid_parameters", param: "input" } },
  ]);
  const asked = await gateway.post(owner, path, { ...next, input: references(1_000) });
  expect([asked.status, await asked.json()]).toMatchObject([404, { error: { param: "input" } }]);
});

// The threads that Anthropic keeps are each their account's alone, although all come to it with one key.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { useTool } from "../agents/agent-client.ts";
import { openAnthropicDouble } from "../doubles/anthropic.ts";
import type { ModelDouble } from "../doubles/model-book.ts";
import type { ScriptedAnswer } from "../doubles/scripted-answer.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";

const path = "/v1/messages";
const key = "sk-ant-operator-0000000000000000";
const secret = "The launch code is zebra, zebra, seven.";
const said = (content: string) => [{ role: "user", content }];
const first = { model: "claude-x", max_tokens: 64, messages: said(secret), thread: { type: "create" } };
const next = { model: "claude-x", max_tokens: 64, messages: said("Repeat it.") };
const goingOn = (id: string, more: object = {}) => ({
  ...next,
  ...more,
  thread: { type: "continue", previous_message_id: id },
});
const notFound = (told: string) => ({
  status: 404,
  told: {
    type: "error",
    error: {
      type: "not_found_error",
      message: "No usable thread state was found for `previous_message_id`.",
      details: { error_code: "thread_not_found" },
    },
    request_id: told,
  },
});
const json = { "Content-Type": "application/json" };
const error500: ScriptedAnswer = {
  status: 500,
  headers: json,
  body: '{"type":"error","error":{"type":"api_error","message":"no"}}',
};

let a: ModelDouble;
let b: ModelDouble;
let gateway: TestGateway;
let owner: TestAccount;
let stranger: TestAccount;

beforeAll(async () => {
  a = await openAnthropicDouble({ key });
  b = await openAnthropicDouble({ key });
  gateway = await openTestGateway({
    config: `
upstreams:
  claude-a: { protocol: anthropic, url: "${a.url}", key: "${key}" }
  claude-b: { protocol: anthropic, url: "${b.url}", key: "${key}" }
  never-asked: { protocol: openai, url: "http://127.0.0.1:9/v1", key: sk-operator-000000000000 }
models:
  claude-x: { via: [claude-a, claude-b], price: { input: 0.1, output: 0.5 }, max_output_tokens: 1000 }
  gpt-x: { via: [never-asked], price: { input: 1, output: 5 } }
`,
  });
  owner = await gateway.openAccount({ creditUsd: "20" });
  stranger = await gateway.openAccount({ creditUsd: "20" });
});

afterEach(async () => {
  expect(await gateway.audit()).toEqual([]);
});

afterAll(async () => {
  await gateway.close();
  for (const double of [a, b]) {
    expect(double.violations).toEqual([]);
    await double.close();
  }
});

async function idOf(answer: Pick<Response, "status" | "text">): Promise<string> {
  const text = await answer.text();
  expect(answer.status).toBe(200);
  return text.match(/"id":"(msg_[^"]+)"/)?.[1] ?? "";
}

const begin = async (more: object = {}): Promise<string> =>
  idOf(await gateway.post(owner, path, { ...first, ...more }));

/** All that the vendors were asked for so far. */
const asked = (): number => a.requests.length + b.requests.length;

const upstreamsOf = async (account: TestAccount, answer: Response): Promise<readonly string[]> => {
  await answer.text();
  return (await gateway.receipt(account, answer)).attempts.map(({ upstream }) => upstream);
};

/** What becomes of a call that costs nothing, without what differs between any two. */
async function comesOf(account: TestAccount, body: object): Promise<object> {
  const before = await gateway.balance(account);
  const answer = await gateway.post(account, path, body);
  const names = [...answer.headers.keys()].filter((name) => !name.startsWith("x-ratelimit"));
  const told = (await answer.text()).replace(/("request_id":)"[^"]+"/, '$1"REQUEST"');
  expect(await gateway.balance(account)).toEqual(before);
  return { status: answer.status, names, told: JSON.parse(told) as unknown };
}

describe.each([false, true])("a thread whose answers are streamed: %p", (stream) => {
  test("is gone on with by every key of its account, again and again", async () => {
    const colleague = await gateway.issueKey(owner);
    let id = await begin({ stream });
    for (const account of [owner, colleague]) {
      id = await idOf(await gateway.post(account, path, goingOn(id, { stream })));
      expect(JSON.stringify(a.asked.at(-1)?.turns)).toContain(secret);
    }
  });

  test("is to another account as if it had never been, at every turn", async () => {
    const begun = await begin({ stream });
    const later = await idOf(await gateway.post(owner, path, goingOn(begun, { stream })));
    const random = await comesOf(stranger, goingOn("msg_of_chance", { stream }));
    expect(random).toMatchObject(notFound("REQUEST"));
    const before = asked();
    for (const id of [begun, later]) {
      expect(await comesOf(stranger, goingOn(id, { stream }))).toEqual(random);
    }
    expect(asked()).toBe(before);
  });
});

test("a whole answer to who asked for a stream is its account's, too", async () => {
  const message = {
    id: "msg_whole",
    type: "message",
    role: "assistant",
    model: "claude-x",
    content: [{ type: "text", text: "Hello" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 8, output_tokens: 2 },
  };
  a.answerNext({ status: 200, headers: json, body: JSON.stringify(message) });
  expect(await begin({ stream: true })).toBe("msg_whole");
  const before = asked();
  expect(await comesOf(stranger, goingOn("msg_whole"))).toMatchObject(notFound("REQUEST"));
  expect(asked()).toBe(before);
});

test("a stranger's official client is told so in the words by which it sends the whole conversation", async () => {
  const id = await begin();
  const client = new Anthropic({ apiKey: stranger.key, baseURL: gateway.url, maxRetries: 0 });
  const going = client.post(path, { body: goingOn(id) });
  const error: unknown = await going.then(
    () => undefined,
    (refused: unknown) => refused,
  );
  expect(error).toBeInstanceOf(Anthropic.NotFoundError);
  expect(error).toMatchObject({ error: { error: { details: { error_code: "thread_not_found" } } } });
});

test("agents go on with threads of their own account alone", async () => {
  const id = await begin();
  const use = (account: TestAccount) =>
    useTool(`${gateway.url}/mcp`, account.key, "use", {
      operation_id: "messages.create",
      arguments: goingOn(id),
      max_price_usd: 1,
    });
  const before = asked();
  expect(JSON.stringify(await use(stranger))).toContain("thread_not_found");
  expect(asked()).toBe(before);
  const own = await use(owner);
  expect(own.isError).toBeUndefined();
  expect(JSON.stringify(a.asked.at(-1)?.turns)).toContain(secret);
});

test("a thread by another name than its own is refused", async () => {
  const id = await begin();
  const before = asked();
  for (const thread of [
    { type: "continue", Previous_Message_Id: id },
    { type: "fork", message_id: id },
  ]) {
    const answer = await gateway.post(stranger, path, { ...next, thread });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toMatch(/previous|thread/i);
  }
  expect(asked()).toBe(before);
});

test("what cannot be said to a vendor is no other refusal for a thread of somebody else's", async () => {
  const id = await begin();
  const refusals = [id, "msg_of_chance"].map((previous) =>
    comesOf(stranger, goingOn(previous, { model: "gpt-x" })),
  );
  const [foreign, random] = await Promise.all(refusals);
  expect(foreign).toMatchObject({
    status: 400,
    told: { error: { details: { error_code: "thread_unsupported_request" } } },
  });
  expect(foreign).toEqual(random);
});

describe("where a model has several upstreams", () => {
  test.each([false, true])("a thread goes on where it is kept, streamed %p", async (stream) => {
    a.answerNext(error500);
    const begun = await gateway.post(owner, path, { ...first, stream });
    const id = await idOf(begun.clone());
    expect(await upstreamsOf(owner, begun)).toEqual(["claude-a", "claude-b"]);
    const answer = await gateway.post(owner, path, goingOn(id, { stream }));
    expect([answer.status, await upstreamsOf(owner, answer)]).toEqual([200, ["claude-b"]]);
    expect(JSON.stringify(b.asked.at(-1)?.turns)).toContain(secret);
  });

  test("one that nobody got here is asked of each, and is nowhere when none has it", async () => {
    const headers = {
      "x-api-key": key,
      "anthropic-version": "2023-06-01",
      ...json,
    };
    let id = "";
    // The doubles count alike; one further than the other has what the other has not.
    for (let n = 0; n < 50; n++) {
      const made = await fetch(`${b.url}/messages`, { method: "POST", headers, body: JSON.stringify(first) });
      id = await idOf(made);
    }
    const answer = await gateway.post(owner, path, goingOn(id));
    expect([answer.status, await upstreamsOf(owner, answer)]).toEqual([200, ["claude-a", "claude-b"]]);
    const nowhere = await gateway.post(owner, path, goingOn("msg_of_chance"));
    expect(nowhere.status).toBe(404);
    expect(await upstreamsOf(owner, nowhere)).toEqual(["claude-a", "claude-b"]);
    // Whose thread is missing has the model all the same.
    expect(gateway.logged.join("")).not.toContain("a call for a model was answered 404");
  });
});

import { describe, expect, test } from "bun:test";
import { errorOf, receipt, type Scripted } from "../scripted-gateway.ts";
import { useScriptedGateway } from "../use-scripted-gateway.ts";
import { TollgateError } from "./errors.ts";

const scripted = useScriptedGateway();
const { openClient } = scripted;

const rerank = { query: "a", documents: ["b"] };

describe("a call", () => {
  test("brings its answer, its cost and the key it was made under", async () => {
    const headers = { "x-tollgate-cost-micros-usd": "5" };
    const client = await openClient({ answers: [{ status: 200, body: { results: [] }, headers }] });
    const result = await client.call("rerank.create", rerank, { maxPriceUsd: "0.01" });
    expect(result).toMatchObject({ status: 200, requestId: "req_1", chargedMicrosUsd: 5, attempts: 1 });
    const [seen] = scripted.gateway.calls;
    expect(seen?.idempotencyKey).toBe(result.idempotencyKey);
    expect(seen?.headers["authorization"]).toBe("Bearer tgk_test");
    expect(seen?.headers["x-tollgate-max-price-usd"]).toBe("0.01");
    expect(seen?.path).toBe("/v1/rerank");
  });

  test("without arguments is one with none, and with what is no object an error like any other", async () => {
    const client = await openClient({ answers: [{ status: 200, body: { currency: "USD" } }] });
    // As a program that no compiler checks has it.
    const loose = client as unknown as Record<
      "call" | "quote" | "stream",
      (id: string, args?: unknown) => Promise<unknown>
    >;
    expect(await loose.call("credits.balance")).toMatchObject({ data: { currency: "USD" } });
    for (const args of [null, "query", 1]) {
      for (const ask of [loose.call, loose.quote]) {
        expect(await errorOf(ask("rerank.create", args))).toMatchObject({
          kind: "parameters",
          code: "invalid_argument",
          moneyMoved: "no",
          attempts: 0,
        });
      }
      expect(await errorOf(loose.stream("messages.create", args))).toBeInstanceOf(TollgateError);
    }
    expect(scripted.gateway.calls).toHaveLength(1);
  });

  test("that cannot be written down is an error like any other", async () => {
    const client = await openClient({ answers: [{ status: 200 }] });
    const unsayable = { query: 1n } as unknown as typeof rerank;
    for (const failing of [client.call("rerank.create", unsayable), client.receipt("\ud800")]) {
      expect(await errorOf(failing)).toMatchObject({
        code: "invalid_argument",
        moneyMoved: "no",
        attempts: 0,
      });
    }
    expect(scripted.gateway.calls).toEqual([]);
  });

  test("has a key of its own each time", async () => {
    const client = await openClient({ answers: [{ status: 200 }], receipts: [receipt("settled", 1)] });
    for (const _ of [1, 2]) await client.call("rerank.create", rerank);
    expect(new Set(scripted.gateway.calls.map((call) => call.idempotencyKey)).size).toBe(2);
  });

  test("whose answer does not say its cost learns it from the books", async () => {
    const client = await openClient({
      answers: [{ status: 200 }],
      receipts: [receipt("dispatched", 0), receipt("settled", 9)],
    });
    expect((await client.call("rerank.create", rerank)).chargedMicrosUsd).toBe(9);
  });

  test("whose answer says JSON and is none was paid for all the same", async () => {
    const headers = { "x-tollgate-cost-micros-usd": "5" };
    const client = await openClient({ answers: [{ status: 200, body: "<html>", headers }] });
    expect(await errorOf(client.call("rerank.create", rerank))).toMatchObject({
      kind: "malformed_answer",
      moneyMoved: "yes",
      chargedMicrosUsd: 5,
      body: "<html>",
    });
  });

  test("that would stream is not made", async () => {
    const client = await openClient({ answers: [{ status: 200 }] });
    const messages = [{ role: "user", content: "a" }];
    const streaming = client.call("chat.completions.create", { model: "m", messages, stream: true });
    const unmade = { kind: "parameters", moneyMoved: "no", attempts: 0 };
    expect(await errorOf(streaming)).toMatchObject({ ...unmade, code: "would_stream" });
    expect(await errorOf(client.stream("rerank.create", rerank))).toMatchObject({
      ...unmade,
      code: "does_not_stream",
    });
    expect(scripted.gateway.calls).toEqual([]);
  });

  test("of what never streams is the gateway's to judge, also with a word that asks for a stream", async () => {
    const client = await openClient({ answers: [{ status: 200, body: { results: [] } }] });
    const asking = { ...rerank, stream: true };
    expect(await client.call("rerank.create", asking)).toMatchObject({ status: 200 });
  });

  test("of an operation that there is not is the client's own error, whatever it is asked for", async () => {
    const client = await openClient({ answers: [{ status: 200 }] });
    // As from JavaScript, where nothing checks the name.
    const [id, inherited] = ["rerank.made", "toString"] as unknown as readonly [
      "rerank.create",
      "rerank.create",
    ];
    const unmade = { kind: "parameters", code: "unknown_operation", moneyMoved: "no", attempts: 0 };
    for (const asking of [
      client.call(id, rerank),
      client.call(inherited, rerank),
      client.quote(id, rerank),
      client.stream(id, rerank),
      client.pages(id, rerank, { items: () => [], next: () => undefined }).next(),
    ]) {
      const error = await errorOf(asking);
      expect(error).toBeInstanceOf(TollgateError);
      expect(error).toMatchObject(unmade);
    }
    expect(scripted.gateway.calls).toEqual([]);
  });
});

describe("a quote", () => {
  test("asks for the price and takes no key", async () => {
    const client = await openClient({ answers: [{ status: 200, body: { object: "cost_estimate" } }] });
    await client.quote("rerank.create", rerank);
    expect(scripted.gateway.calls[0]).toMatchObject({ idempotencyKey: undefined });
    expect(scripted.gateway.calls[0]?.headers["x-tollgate-cost-mode"]).toBe("quote");
  });

  test("that a gateway with other words took for the call says what that cost", async () => {
    const client = await openClient({
      answers: [{ status: 200, body: { results: [] } }],
      receipts: [receipt("settled", 4)],
    });
    expect(await errorOf(client.quote("rerank.create", rerank))).toMatchObject({
      code: "not_a_quote",
      moneyMoved: "yes",
      chargedMicrosUsd: 4,
    });
  });
});

test("the create of a task is repeated under its key until its name is known", async () => {
  const output = { task_id: "t", task_status: "PENDING" };
  const created = { status: 200, body: { output, request_id: "req_first" } };
  const running = receipt("dispatched", 0);
  const client = await openClient({ answers: ["gone", created], receipts: [running] });
  const { data, attempts, chargedMicrosUsd, requestId } = await client.call("video.synthesis.create", {
    model: "wan2.6-t2v",
    input: { prompt: "a bridge" },
  });
  expect(data).toMatchObject({ output: { task_id: "t" } });
  expect(attempts).toBe(2);
  expect(chargedMicrosUsd).toBeUndefined();
  expect(requestId).toBe("req_first");
  expect(scripted.gateway.lookUps).toHaveLength(1);
  expect(scripted.gateway.calls[0]?.headers["x-tollgate-async"]).toBe("enable");
  expect(new Set(scripted.gateway.calls.map((call) => call.idempotencyKey)).size).toBe(1);
});

test("a link is begun, a task waited for, and what became of a key is asked", async () => {
  const link = { auth_url: "http://a", state: "s", expires_at: "2026-01-01T00:10:00Z" };
  const task = { output: { task_id: "t", task_status: "SUCCEEDED" } };
  const client = await openClient({
    answers: [
      { status: 200, body: link },
      { status: 200, body: task },
    ],
    receipts: [receipt("settled", 3), undefined],
  });
  expect(await client.startLink({ scopes: ["tweet.read"] })).toEqual(link);
  expect(await client.waitForTask("t")).toMatchObject(task);
  expect(scripted.gateway.calls.map(({ method, path, body }) => [method, path, body])).toEqual([
    ["POST", "/apis/v1/social_a/auth_social_a", '{"scopes":["tweet.read"]}'],
    ["GET", "/apis/v1/services/aigc/tasks/t", ""],
  ]);
  expect(await client.outcome("k")).toMatchObject({ charged_micros_usd: 3 });
});

test("pages that are begun at a cursor end where a vendor hands that out again, and it is not paid twice", async () => {
  const headers = { "x-tollgate-cost-micros-usd": "5" };
  const page = (tweet: string, next: string): Scripted => ({
    status: 200,
    body: { tweets: [tweet], next_cursor: next },
    headers,
  });
  const client = await openClient({ answers: [page("1", "b"), page("2", "a"), page("1", "b")] });
  const read: unknown[] = [];
  for await (const tweet of client.pages(
    "social_a.tweet.quotes",
    { tweetId: "1", cursor: "a" },
    { items: ({ tweets }) => tweets ?? [], next: (answer) => answer.next_cursor },
  ))
    read.push(tweet);
  expect(read).toEqual(["1", "2"]);
  expect(scripted.gateway.calls.map(({ path }) => path.slice(-1))).toEqual(["a", "b"]);
});

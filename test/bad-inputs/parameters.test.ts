import { afterAll, describe, expect, test } from "bun:test";
import { chatBody, snapshotMicros, snapshotPath } from "../support/purchases.ts";

import { openTestGateway, type TestAccount } from "../support/test-gateway.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";
import {
  contentLength,
  goodRerank,
  invalid,
  invalidChat,
  json,
  openBadInputGateway,
} from "./bad-input-gateway.ts";
import { flat, gemini, nested, openai, read, usage400 } from "./error-shapes.ts";
import { expectNothingHappened } from "./nothing-happened.ts";
import { rawRequest, sendForOne } from "./raw-request.ts";

const { gateway, account, post, rerankBytes, expectEach, close } = await openBadInputGateway();
afterAll(close);

describe("what parameters can say", () => {
  test("a rerank that cannot be ranked is refused and names the field", async () => {
    const rerank = (change: object) => post("/v1/rerank", { query: "a", documents: ["b", "c"], ...change });
    const changes: readonly (readonly [object, string])[] = [
      [{ documents: [] }, "documents"],
      [{ documents: undefined }, "documents"],
      [{ documents: null }, "documents"],
      [{ documents: "b" }, "documents"],
      [{ documents: [""] }, "documents"],
      [{ documents: [1, null] }, "documents"],
      [{ documents: Array<string>(2_049).fill("b") }, "documents"],
      [{ query: "" }, "query"],
      [{ query: undefined }, "query"],
      [{ query: ["a"] }, "query"],
      ...[0, -1, 1.5, -1e300, "3", true].map((top_n) => [{ top_n }, "top_n"] as const),
    ];
    await expectNothingHappened(gateway, async () => {
      for (const [change, field] of changes) {
        const answered = await read(rerank(change));
        invalid(answered);
        expect(answered.body).toHaveProperty("error", expect.stringContaining(field));
      }
      invalid(await read(rerank({ documents: Array<string>(1_000_000).fill("b") })));
    });
  });

  test("the texts of a rerank are bounded by their bytes, not by their characters", async () => {
    const rich = await gateway.openAccount({ creditUsd: "20" });
    const rerank = (change: object) =>
      read(gateway.post(rich, "/v1/rerank", { query: "a", documents: ["b"], ...change }));
    for (const fits of [
      { query: "é".repeat(32 * 1024) },
      { query: "a".repeat(64 * 1024) },
      { documents: ["b", "é".repeat(256 * 1024)] },
    ]) {
      expect((await rerank(fits)).status).toBe(200);
    }
    await expectNothingHappened(gateway, async () => {
      for (const [change, field] of [
        [{ query: "é".repeat(32 * 1024) + "a" }, "query"],
        [{ query: "a".repeat(64 * 1024 + 1) }, "query"],
        [{ documents: ["b", "é".repeat(256 * 1024) + "a"] }, "documents"],
      ] as const) {
        const answered = await rerank(change);
        invalid(answered);
        expect(answered.body).toHaveProperty("error", expect.stringContaining(field));
      }
    });
  });

  test("a top_n above the number of documents is clamped", async () => {
    for (const top_n of [1e9, 2 ** 53, 1e300]) {
      const response = await post("/v1/rerank", { query: "a", documents: ["b", "c"], top_n });
      expect(response.status).toBe(200);
      expect(await response.json()).toHaveProperty("results.length", 2);
    }
  });

  test("what is missing is told as required, however deep, and of a choice what is taken", async () => {
    const video = (body: object) =>
      post("/apis/v1/services/aigc/video-generation/video-synthesis", body, { "x-tollgate-async": "enable" });
    const generate = (body: object) => post("/v1beta/models/gemini-2.5-flash:generateContent", body);
    const respond = (body: object) => post("/v1/responses", { model: "gpt-4o-mini", ...body });
    const told: readonly (readonly [() => Promise<Response>, string])[] = [
      [() => video({ model: "wan2.6-t2v" }), "input is required"],
      [() => video({ model: "wan2.6-t2v", input: {} }), "input.prompt is required"],
      [() => video({ model: "wan2.6-t2v", input: { prompt: null } }), "input.prompt: expected string"],
      [() => post("/v1/chat/completions", chatBody({ messages: [{}] })), "messages.0.role is required"],
      [() => generate({}), "contents is required"],
      [() => generate({ contents: 5 }), "contents: expected a content, a list of contents or a text"],
      [() => generate({ contents: [] }), "contents: must hold at least one content"],
      [() => respond({ input: 5 }), "input: expected a text or a list of items"],
    ];
    for (const [ask, words] of told) {
      const answered = await read(ask());
      expect([answered.status, JSON.stringify(answered.body)]).toEqual([
        400,
        expect.stringContaining(words) as string,
      ]);
    }
  });

  test("a parameter given twice is told as that, and a list in a body as what it is", async () => {
    const told: readonly (readonly [() => Promise<Response>, string])[] = [
      [() => gateway.call(account, "/v1/requests?model=a&model=b"), "model: given more than once"],
      [() => gateway.call(account, "/v1/requests?status=held&status=held"), "status: given more than once"],
      [
        () => post("/v1/rerank", { query: ["a"], documents: ["b"] }),
        "query: expected string, received array",
      ],
      [() => post("/v1/chat/completions", chatBody({ model: ["a"] })), "model: expected string"],
    ];
    for (const [ask, words] of told) {
      const answered = await read(ask());
      expect([answered.status, JSON.stringify(answered.body)]).toEqual([
        400,
        expect.stringContaining(words) as string,
      ]);
    }
  });

  test("a chat limit that is no positive whole number is refused", async () => {
    const complete = (further: object) => post("/v1/chat/completions", chatBody(further));
    await expectEach([
      ...[-1, 0, 1.5, 1e12, "100", true].map(
        (max_tokens) => [() => complete({ max_tokens }), invalidChat("max_tokens")] as const,
      ),
      [() => complete({ max_completion_tokens: -1 }), invalidChat("max_completion_tokens")],
      ...[0, -1, 1_000_000, "2"].map((n) => [() => complete({ n }), invalidChat("n")] as const),
      [() => complete({ stream: "yes" }), invalidChat("stream")],
      [() => complete({ messages: [] }), invalidChat("messages")],
      [() => complete({ messages: "hi" }), invalidChat("messages")],
    ]);
  });

  test("the largest limit is held in full or refused, never shrunk", async () => {
    const poor = await gateway.openAccount({ creditUsd: "0.01" });
    const answered = await expectNothingHappened(gateway, () =>
      read(gateway.post(poor, "/v1/chat/completions", chatBody({ max_tokens: 16_384 }))),
    );
    const bytes = JSON.stringify(chatBody({ max_tokens: 16_384 })).length;
    openai(402, "insufficient_balance", {
      type: "insufficient_quota",
      retryable: false,
      estimated_micros_usd: Math.ceil(16_384 * 10 + bytes * 2.5),
      limit_micros_usd: 10_000,
    })(answered);
  });

  test("a model that does not exist is refused in the endpoint's own shape", async () => {
    const missing = openai(404, "model_not_found", { type: "not_found_error", param: "model" });
    await expectEach([
      ...["no-such-model", "../../admin", "gpt-4o\n", "GPT-4O", "__proto__", "gpt-4o/../../v1/files"].map(
        (model) => [() => post("/v1/chat/completions", chatBody({ model })), missing] as const,
      ),
      ...["", "x".repeat(10_000), 1, null].map(
        (model) => [() => post("/v1/chat/completions", chatBody({ model })), invalidChat("model")] as const,
      ),
      [
        () => post("/v1/rerank", { query: "a", documents: ["b"], model: "../../admin" }),
        flat(404, "model_not_found"),
      ],
      [
        () => post("/v1/rerank", { query: "a", documents: ["b"], model: "gpt-4o" }),
        flat(404, "model_not_found"),
      ],
    ]);
  });

  test("odd model paths of the Gemini dialect lead nowhere", async () => {
    const missing = gemini(404, "model_not_found", { status: "NOT_FOUND" });
    const asked = { contents: [{ parts: [{ text: "hello" }] }] };
    await expectEach(
      ["x%2F..%2Fy:generateContent", "x:generateContent:streamGenerateContent", "%00:generateContent"].map(
        (model) => [() => post(`/v1beta/models/${model}`, asked), missing],
      ),
    );
  });

  test("a usage window that is not two plain timestamps in order is refused, at once", async () => {
    const now = Math.floor(Date.now() / 1000);
    const queries = [
      "",
      "?start_time=",
      "?start_time=0",
      "?start_time=-1",
      "?start_time=%2B1",
      "?start_time=1.5",
      "?start_time=1e3",
      "?start_time=0x10",
      "?start_time=01",
      "?start_time=%201",
      "?start_time=9223372036854775808",
      `?start_time=${now - 10}&start_time=${now - 10}`,
      `?start_time=${now}&end_time=${now - 1}`,
      `?start_time=${now}&end_time=${now}`,
      `?start_time=${now - 10}&end_time=1.5`,
      `?start_time=${now - 10}&end_time=${now}&end_time=${now}`,
      `?start_time=${now + 1_000}`,
      `?start_time=${now + 1_000}&end_time=${now + 2_000}`,
      `?start_time=1&end_time=${100 * 365 * 86_400}`,
      "?start_time=1",
    ];
    const startedMs = performance.now();
    await expectNothingHappened(gateway, async () => {
      for (const query of queries) usage400(await read(gateway.call(account, `/v1/usage${query}`)));
    });
    expect((performance.now() - startedMs) / queries.length).toBeLessThan(200);
  });

  test("a usage window of exactly 400 days is not too long, and one that starts now is not in the future", async () => {
    const clock = createVirtualClock();
    const still = await openTestGateway({ clock });
    try {
      const asker = await still.openAccount();
      const now = clock.wallMs() / 1000;
      const start = now - 400 * 86_400;
      for (const [query, status] of [
        [`start_time=${start}`, 200],
        [`start_time=${start}&end_time=${now}`, 200],
        [`start_time=${start - 1}`, 400],
        [`start_time=${start}&end_time=${now + 1}`, 400],
        [`start_time=${now}&end_time=${now + 1}`, 200],
        [`start_time=${now + 1}&end_time=${now + 2}`, 200],
        [`start_time=${now + 1}&end_time=${now + 1}`, 400],
        [`start_time=${now + 2}`, 400],
        [`start_time=${now + 2}&end_time=${now + 3}`, 400],
      ] as const) {
        expect([query, (await still.call(asker, `/v1/usage?${query}`)).status]).toEqual([query, status]);
      }
    } finally {
      await still.close();
    }
  });

  test("a usage report can begin where the one before has ended, also in the same second", async () => {
    const clock = createVirtualClock();
    const still = await openTestGateway({ clock });
    try {
      const asker = await still.openAccount();
      const now = clock.wallMs() / 1000;
      const report = (start: number) => read(still.call(asker, `/v1/usage?start_time=${start}`));
      expect((await report(now)).body).toMatchObject({ start_time: now, end_time: now + 1 });
      const next = { start_time: now + 1, end_time: now + 1, totals: { requests: 0 }, buckets: [] };
      expect((await report(now + 1)).body).toMatchObject(next);
      clock.advance(1_000);
      expect((await report(now + 1)).body).toMatchObject({
        start_time: now + 1,
        end_time: now + 2,
        buckets: [{ start_time: now + 1, end_time: now + 2 }],
      });
    } finally {
      await still.close();
    }
  });

  test("a page has 1 to 100 receipts, written as a plain number, and a request for any other says so", async () => {
    for (const limit of ["1", "100"]) {
      expect((await gateway.call(account, `/v1/requests?limit=${limit}`)).status).toBe(200);
    }
    for (const limit of ["0", "101", "-1", "01", "1e1", "1.0", "%2B1", "", "5&limit=5"]) {
      const refused = await read(gateway.call(account, `/v1/requests?limit=${limit}`));
      invalid(refused);
      expect(JSON.stringify(refused.body)).toMatch(/limit: (must be 1 to 100|given more than once)/);
    }
  });

  test("a cursor that no page gave out is 400, and never the first page again", async () => {
    const asker = await gateway.openAccount();
    const other = await gateway.openAccount();
    for (const who of [asker, asker, asker, other, other]) {
      expect((await gateway.call(who, snapshotPath)).status).toBe(200);
    }
    interface Page {
      readonly data: readonly { readonly request_id: string }[];
      readonly next_cursor: string | null;
    }
    const pageOf = async (who: TestAccount, cursor = ""): Promise<Page> =>
      (await (await gateway.call(who, `/v1/requests?limit=1${cursor}`)).json()) as Page;
    const first = await pageOf(asker);
    const second = await pageOf(asker, `&cursor=${first.next_cursor}`);
    expect(new Set([first, second].map(({ data }) => data[0]?.request_id)).size).toBe(2);
    const { next_cursor: foreign } = await pageOf(other);
    for (const cursor of ["garbage", "", "0", "~", crypto.randomUUID(), foreign]) {
      invalid(await read(gateway.call(asker, `/v1/requests?cursor=${cursor}`)));
    }
  });

  test("an Idempotency-Key that is empty, too long, doubled or not ASCII is 400", async () => {
    await expectNothingHappened(gateway, async () => {
      for (const key of ["", "k".repeat(256), "two words", "a, b"]) {
        const keyed = { method: "POST", headers: { ...json, "Idempotency-Key": key }, body: goodRerank };
        invalid(await read(gateway.call(account, "/v1/rerank", keyed)));
      }
      for (const lines of [
        ["Idempotency-Key: a", "Idempotency-Key: b"],
        ["Idempotency-Key: \xf0\x9f\x98\x80"],
      ]) {
        const { status } = await sendForOne(gateway.port, rerankBytes([...lines, contentLength]));
        expect(status).toBe(400);
      }
    });
  });

  test("a repeated Idempotency-Key is answered 409 by its state; at most one charge", async () => {
    const own = await gateway.openAccount({ tier: "enterprise" });
    const send = (by: TestAccount, body: string) =>
      read(
        gateway.call(by, "/v1/rerank", {
          method: "POST",
          headers: { ...json, "Idempotency-Key": "again" },
          body,
        }),
      );
    // Long enough to cost something.
    const long = JSON.stringify({ query: "tea", documents: ["green tea ".repeat(100)] });
    expect((await send(own, long)).status).toBe(200);
    const paid = await gateway.balance(own);
    expect([paid.balance < 2_000_000, paid.held]).toEqual([true, 0]);
    const taken = (code: string) => ({ status: 409, body: { error: { code, retryable: false } } });
    expect(await send(own, long)).toMatchObject(taken("request_already_completed"));
    expect(await send(own, `${long} `)).toMatchObject(taken("idempotency_key_reused"));
    expect(await gateway.balance(own)).toEqual(paid);
    expect((await send(account, long)).status).toBe(200);
  });

  test("only the very word quote asks for a quote; any other is refused and never executed", async () => {
    const header = "X-Tollgate-Cost-Mode";
    const ask = (value: string) => gateway.call(account, snapshotPath, { headers: { [header]: value } });
    await expectNothingHappened(gateway, async () => {
      for (const value of ["quote", "quote ", " quote"]) {
        const answered = await read(ask(value));
        expect(answered).toMatchObject({
          status: 200,
          body: { object: "cost_estimate", max_cost_micros_usd: snapshotMicros },
        });
      }
      for (const value of [
        "QUOTE",
        "Quote",
        "execute",
        "",
        "quote;q=1",
        "quote, quote",
        "quotes",
        "0",
        "null",
      ]) {
        invalid(await read(ask(value)));
      }
      const twice = await sendForOne(
        gateway.port,
        rawRequest({
          line: `GET ${snapshotPath} HTTP/1.1`,
          key: account,
          lines: [`${header}: quote`, `${header}: execute`],
        }),
      );
      expect(twice.status).toBe(400);
    });
  });

  test("a free route has no quote and does not answer in its stead", async () => {
    const quote = { headers: { "X-Tollgate-Cost-Mode": "quote" } };
    await expectEach([
      [() => gateway.call(account, "/v1/credits/balance", quote), flat(400, "cost_quote_unsupported")],
      [() => gateway.call(account, "/v1/requests", quote), flat(400, "cost_quote_unsupported")],
      [
        () => gateway.call(account, "/v1/models", quote),
        openai(400, "cost_quote_unsupported", { type: "invalid_request_error" }),
      ],
      [
        () => gateway.call(account, "/v1/usage?start_time=" + (Math.floor(Date.now() / 1000) - 5), quote),
        usage400,
      ],
    ]);
  });

  test("a price cap that is not an amount is refused, and one below the price is never exceeded", async () => {
    const capped = (cap: string) =>
      gateway.call(account, snapshotPath, { headers: { "X-Tollgate-Max-Price-USD": cap } });
    const above = nested(402, "estimated_price_exceeds_max_price", {
      retryable: false,
      estimated_micros_usd: snapshotMicros,
      limit_micros_usd: 47_999,
    });
    await expectEach([
      ...["", "-1", "abc", "1e3", "NaN", "Infinity", "0x1", "1,0", "0.048, 0.048"].map(
        (cap) => [() => capped(cap), invalid] as const,
      ),
      [() => capped("0.047999"), above],
      [() => capped("0.0479999999"), above],
    ]);
    expect((await capped("0.048")).status).toBe(200);
  });
});

// Upstreams that fail one after the other, or with the status of a success: what the caller hears, and that it costs nothing.

import { describe, expect, test } from "bun:test";
import type { ScriptedAnswer } from "../doubles/scripted-answer.ts";
import { chatMicros, creditMicros, useRoutedCalls } from "./routed-calls.ts";
import { chat, error, json } from "./two-upstreams.ts";

const { model, meetAnew, gateway, shapes } = await useRoutedCalls();

describe("an error that a model's vendor tells with the status of a success", () => {
  const told = (code: unknown, message = "no"): ScriptedAnswer => ({
    status: 200,
    headers: json,
    // Whatever it says it used, an error is not worth it.
    body: JSON.stringify({ error: { code, message }, usage: { prompt_tokens: 8, completion_tokens: 2 } }),
  });
  const served = shapes.filter(({ what }) => what !== "GET of data");

  test.each(served)(
    "of the vendor's own is repeated elsewhere, and one call is charged: $what",
    async (shape) => {
      for (const [code, status] of [
        [429, 429],
        [503, 503],
        ["502", 502],
        ["server_error", 502],
      ] as const) {
        meetAnew();
        const account = await gateway.openAccount();
        model.a.answerNext(told(code));
        const response = await shape.send(account, gateway);
        expect(await response.text()).toContain("quick");
        const receipt = await gateway.receipt(account, response);
        expect(receipt).toMatchObject({ outcome: "succeeded", charged_micros_usd: chatMicros });
        expect(receipt.attempts).toMatchObject([
          { upstream: "oa-a", outcome: "answered", status },
          { upstream: "oa-b", status: 200 },
        ]);
      }
    },
  );

  test.each(served)("about the call is not, passes as it came and costs nothing: $what", async (shape) => {
    for (const code of [400, 404, 504]) {
      const before = model.b.requests.length;
      const account = await gateway.openAccount();
      model.a.answerNext(told(code, "as it came"));
      const response = await shape.send(account, gateway);
      expect([response.status, await response.text()]).toMatchObject([
        200,
        expect.stringContaining("as it came"),
      ]);
      expect(model.b.requests).toHaveLength(before);
      expect(await gateway.receipt(account, response)).toMatchObject({
        outcome: "failed",
        charged_micros_usd: 0,
        attempts: [{ upstream: "oa-a", outcome: "answered", status: code }],
      });
      expect(await gateway.balance(account)).toEqual({ balance: creditMicros, held: 0 });
    }
  });

  test("is told callers of other dialects with the status that it names", async () => {
    for (const [code, status, asked] of [
      [404, 404, [model.a]],
      [504, 504, [model.a]],
      [503, 503, [model.a, model.b]],
      [200, 502, [model.a, model.b]],
      [4000, 502, [model.a, model.b]],
    ] as const) {
      meetAnew();
      const account = await gateway.openAccount();
      for (const double of asked) double.answerNext(told(code));
      const response = await gateway.post(account, "/v1/messages", chat);
      expect([response.status, await response.json()]).toMatchObject([status, { type: "error" }]);
      const receipt = await gateway.receipt(account, response);
      expect([receipt.charged_micros_usd, receipt.attempts.length]).toEqual([0, asked.length]);
    }
  });

  test("that is about the operator's key or credit is withheld and asked elsewhere, in every dialect", async () => {
    const response = { model: "gpt-x", input: "Say it", max_output_tokens: 100 };
    for (const [path, body] of [
      ["/v1/chat/completions", chat],
      ["/v1/chat/completions", { ...chat, stream: true }],
      ["/v1/messages", chat],
      ["/v1/responses", response],
      ["/v1/responses", { ...response, stream: true }],
    ] as const) {
      for (const said of [
        { code: 401 },
        { code: 402 },
        { code: 403 },
        { code: 429, type: "insufficient_quota" },
      ]) {
        meetAnew();
        const account = await gateway.openAccount();
        const answer = {
          status: 200,
          headers: json,
          body: JSON.stringify({ error: { ...said, message: "pay at vendor.example" } }),
        };
        model.a.answerNext(answer);
        const served = await gateway.post(account, path, body);
        expect([served.status, await served.text()]).toMatchObject([200, expect.stringContaining("quick")]);
        expect((await gateway.receipt(account, served)).attempts).toMatchObject([
          { upstream: "oa-a", status: said.code },
          { upstream: "oa-b", status: 200 },
        ]);

        meetAnew();
        for (const double of [model.a, model.b]) double.answerNext(answer);
        const refused = await gateway.post(account, path, body);
        expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([
          said.code === 429 ? 429 : 503,
          "false",
        ]);
        expect(await refused.text()).not.toContain("vendor.example");
        expect(await gateway.receipt(account, refused)).toMatchObject({ charged_micros_usd: 0 });
      }
    }
  });

  test("of Responses is asked elsewhere, and passes as it came where nobody else is left", async () => {
    const account = await gateway.openAccount();
    const body = { model: "gpt-x", input: "Say it", max_output_tokens: 100 };
    model.a.answerNext(told(503));
    expect(await (await gateway.post(account, "/v1/responses", body)).text()).toContain("quick");
    for (const double of [model.a, model.b]) double.answerNext(told(503, "as it came"));
    const response = await gateway.post(account, "/v1/responses", body);
    expect([response.status, await response.text()]).toMatchObject([
      200,
      expect.stringContaining("as it came"),
    ]);
    expect(await gateway.receipt(account, response)).toMatchObject({
      outcome: "failed",
      charged_micros_usd: 0,
    });
  });

  const answeredInFull = [
    ["/v1/embeddings", { model: "embed-x", input: "Say it" }],
    ["/v1/images/generations", { model: "draw-x", prompt: "Say it", size: "1024x1024", quality: "low" }],
    ["/v1/responses", { model: "gpt-x", input: "Say it", max_output_tokens: 100 }],
    ["/v1/chat/completions", chat],
  ] as const;
  const usage = {
    prompt_tokens: 8,
    completion_tokens: 2,
    input_tokens: 8,
    output_tokens: 2,
    total_tokens: 10,
  };

  test.each(answeredInFull)(
    "is asked elsewhere and costs nothing, whichever figures stand beside it: %s",
    async (path, body) => {
      for (const error of [
        { code: 503, message: "as it came" },
        { message: "as it came" },
        { type: "overloaded_error", message: "as it came" },
        "as it came",
      ]) {
        meetAnew();
        const account = await gateway.openAccount();
        const hidden = { status: 200, headers: json, body: JSON.stringify({ error, usage }) };
        model.a.answerNext(hidden);
        const served = await gateway.post(account, path, body);
        expect(await served.text()).not.toContain("as it came");
        expect(await gateway.receipt(account, served)).toMatchObject({
          outcome: "succeeded",
          attempts: [{ upstream: "oa-a" }, { upstream: "oa-b", status: 200 }],
        });

        meetAnew();
        const poor = await gateway.openAccount();
        for (const double of [model.a, model.b]) double.answerNext(hidden);
        const failed = await gateway.post(poor, path, body);
        expect(await failed.text()).toContain("as it came");
        expect(await gateway.receipt(poor, failed)).toMatchObject({
          status: "released",
          outcome: "failed",
          charged_micros_usd: 0,
        });
        expect(await gateway.balance(poor)).toEqual({ balance: creditMicros, held: 0 });
      }
    },
  );

  test.each(answeredInFull)("is understood by its words where it says no number: %s", async (path, body) => {
    for (const [error, status, asked] of [
      [{ type: "invalid_request_error", code: "context_length_exceeded" }, 400, [model.a]],
      [{ status: "RESOURCE_EXHAUSTED" }, 429, [model.a, model.b]],
      [{ type: "rate_limit_error" }, 429, [model.a, model.b]],
      [{ status: "UNAVAILABLE" }, 503, [model.a, model.b]],
      [{ code: "somebody_elses_word" }, 502, [model.a, model.b]],
    ] as const) {
      meetAnew();
      const account = await gateway.openAccount();
      const hidden = JSON.stringify({ error: { ...error, message: "no" } });
      for (const double of asked) double.answerNext({ status: 200, headers: json, body: hidden });
      const response = await gateway.post(account, path, body);
      const { attempts } = await gateway.receipt(account, response);
      expect(attempts.map((attempt) => attempt.status)).toEqual(asked.map(() => status));
    }
  });

  test.each(answeredInFull)("is withheld where its words are about the operator: %s", async (path, body) => {
    for (const error of [
      { code: "invalid_api_key", type: "invalid_request_error" },
      { code: "insufficient_quota", type: "insufficient_quota" },
      { type: "billing_error" },
      { code: "insufficient_credits" },
      { code: "billing_not_active", type: "billing_not_active" },
      { code: "billing_hard_limit_reached", type: "invalid_request_error" },
      { status: "PERMISSION_DENIED" },
    ]) {
      meetAnew();
      const account = await gateway.openAccount();
      const told = JSON.stringify({ error: { ...error, message: "pay at vendor.example" } });
      for (const double of [model.a, model.b]) double.answerNext({ status: 200, headers: json, body: told });
      const response = await gateway.post(account, path, body);
      expect([response.status, response.headers.get("x-should-retry")]).toEqual([
        error.code === "insufficient_quota" || error.code === "billing_not_active" ? 429 : 503,
        "false",
      ]);
      expect(await response.text()).not.toContain("vendor.example");
      expect(await gateway.receipt(account, response)).toMatchObject({ charged_micros_usd: 0 });
    }
  });

  describe("inside of a response that failed", () => {
    const failed = (code: string, more: object = {}) => ({
      id: "resp_1",
      object: "response",
      status: "failed",
      model: "gpt-x",
      output: [],
      error: { code, message: "pay at vendor.example" },
      usage,
      ...more,
    });
    const ways = {
      "told whole": (response: object) => ({ status: 200, headers: json, body: JSON.stringify(response) }),
      "as the first event of a stream": (response: object) => ({
        status: 200,
        headers: { "Content-Type": "text/event-stream" },
        body: `data: ${JSON.stringify({ type: "response.failed", response })}\n\n`,
      }),
    };
    const asks = [false, true].flatMap((stream) =>
      Object.entries(ways).map((way) => [stream, ...way] as const),
    );
    const response = { model: "gpt-x", input: "Say it", max_output_tokens: 100 };

    test.each(asks)("is asked elsewhere and costs nothing, streamed %p, %s", async (stream, _way, say) => {
      for (const code of ["server_error", "rate_limit_exceeded", "insufficient_quota"]) {
        meetAnew();
        const account = await gateway.openAccount();
        model.a.answerNext(say(failed(code)));
        const served = await gateway.post(account, "/v1/responses", { ...response, stream });
        expect(await served.text()).not.toContain("vendor.example");
        expect(await gateway.receipt(account, served)).toMatchObject({
          outcome: "succeeded",
          attempts: [{ upstream: "oa-a" }, { upstream: "oa-b", status: 200 }],
        });

        meetAnew();
        const poor = await gateway.openAccount();
        for (const double of [model.a, model.b]) double.answerNext(say(failed(code)));
        const refused = await gateway.post(poor, "/v1/responses", { ...response, stream });
        // Only what is about the operator is no business of the caller's.
        const isTold = (await refused.text()).includes("vendor.example");
        if (code !== "rate_limit_exceeded") expect(isTold).toBe(code === "server_error");
        expect(await gateway.receipt(poor, refused)).toMatchObject({
          status: "released",
          outcome: "failed",
          charged_micros_usd: 0,
        });
      }
    });

    test("is the caller's own where it is about what the caller wrote", async () => {
      meetAnew();
      const account = await gateway.openAccount();
      model.a.answerNext(ways["told whole"](failed("invalid_prompt")));
      const refused = await gateway.post(account, "/v1/responses", response);
      expect((await gateway.receipt(account, refused)).attempts).toMatchObject([{ status: 400 }]);
    });

    test("costs what it used where something came of it, as a call that failed", async () => {
      meetAnew();
      const account = await gateway.openAccount();
      const output = [
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "Half" }] },
      ];
      model.a.answerNext(ways["told whole"](failed("server_error", { output })));
      const half = await gateway.post(account, "/v1/responses", response);
      expect(await half.text()).toContain("Half");
      expect(await gateway.receipt(account, half)).toMatchObject({
        status: "settled",
        outcome: "failed",
        usage: { input_tokens: 8, output_tokens: 2 },
      });

      const quota = failed("insufficient_quota", { output });
      for (const double of [model.a, model.b]) double.answerNext(ways["told whole"](quota));
      const withheld = await gateway.post(account, "/v1/responses", response);
      expect(await withheld.text()).not.toContain("vendor.example");
      expect(await gateway.receipt(account, withheld)).toMatchObject({ charged_micros_usd: 0 });
    });

    test("costs nothing in the middle of a stream that had said nothing", async () => {
      meetAnew();
      const account = await gateway.openAccount();
      const begun = {
        type: "response.created",
        response: { ...failed("server_error"), status: "in_progress" },
      };
      const { headers, body } = ways["as the first event of a stream"](failed("server_error"));
      model.a.answerNext({ status: 200, headers, body: `data: ${JSON.stringify(begun)}\n\n${body}` });
      const streamed = await gateway.post(account, "/v1/responses", { ...response, stream: true });
      expect(await streamed.text()).toContain("response.failed");
      expect(await gateway.receipt(account, streamed)).toMatchObject({
        outcome: "failed",
        charged_micros_usd: 0,
      });
    });
  });

  test("in a choice that says nothing is no answer; one beside words is", async () => {
    const choice = (content: string): string =>
      JSON.stringify({
        choices: [
          {
            index: 0,
            finish_reason: "error",
            message: { role: "assistant", content },
            error: { code: 503 },
          },
        ],
        usage,
      });
    const account = await gateway.openAccount();
    model.a.answerNext({ status: 200, headers: json, body: choice("") });
    const elsewhere = await gateway.post(account, "/v1/chat/completions", chat);
    expect(await elsewhere.text()).toContain("quick");
    expect((await gateway.receipt(account, elsewhere)).attempts).toMatchObject([
      { upstream: "oa-a", status: 503 },
      { upstream: "oa-b", status: 200 },
    ]);
    model.a.answerNext({ status: 200, headers: json, body: choice("The quick") });
    const begun = await gateway.post(account, "/v1/chat/completions", chat);
    expect(await begun.text()).toContain("The quick");
    expect(await gateway.receipt(account, begun)).toMatchObject({ charged_micros_usd: chatMicros });
  });

  test("in the list of what was drawn is no image, and no error hides one beside it", async () => {
    const [path, body] = answeredInFull[1];
    const failed = { error: { code: "content_filter", message: "no" } };
    for (const [data, outcome] of [
      [[failed], "failed"],
      [[failed, { url: "https://images.example/1" }], "succeeded"],
    ] as const) {
      const account = await gateway.openAccount();
      model.a.answerNext({ status: 200, headers: json, body: JSON.stringify({ data }) });
      const response = await gateway.post(account, path, body);
      expect(await gateway.receipt(account, response)).toMatchObject({ outcome });
    }
  });

  /** An event that says nothing yet, in which a stream has begun all the same. */
  const begun =
    'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n';

  test("in a stream is withheld where it is about the operator, and costs nothing before any output", async () => {
    const events = { "Content-Type": "text/event-stream" };
    const said = (error: object): string =>
      `${begun}data: ${JSON.stringify({ error: { ...error, message: "pay at vendor.example" }, usage })}\n\n`;
    for (const [path, body] of [
      ["/v1/chat/completions", { ...chat, stream: true }],
      ["/v1/messages", { ...chat, stream: true }],
      ["/v1/responses", { ...answeredInFull[2][1], stream: true }],
    ] as const) {
      for (const [error, told] of [
        [{ code: 402 }, false],
        [{ code: "insufficient_quota" }, false],
        [{ code: "billing_not_active", type: "billing_not_active" }, false],
        [{ code: "billing_hard_limit_reached", type: "invalid_request_error" }, false],
        [{ type: "authentication_error" }, false],
        [{ code: 500 }, true],
      ] as const) {
        meetAnew();
        const account = await gateway.openAccount();
        model.a.answerNext({ status: 200, headers: events, body: said(error) });
        const response = await gateway.post(account, path, body);
        const text = await response.text();
        expect([text.includes("vendor.example"), text.includes("error")]).toEqual([told, true]);
        expect(await gateway.receipt(account, response)).toMatchObject({
          outcome: "failed",
          charged_micros_usd: 0,
          attempts: [{ upstream: "oa-a", outcome: "gave_up" }],
        });
      }
    }
  });

  test("in a stream of responses is withheld also where it has no name of its own, as OpenAI says it there", async () => {
    for (const [error, told] of [
      [{ code: "insufficient_quota" }, false],
      [{ code: "invalid_api_key" }, false],
      [{ code: "rate_limit_exceeded" }, true],
      [{ code: "server_error" }, true],
    ] as const) {
      meetAnew();
      const account = await gateway.openAccount();
      const flat = { type: "error", ...error, message: "pay at vendor.example", param: null };
      const body = `${begun}event: error\ndata: ${JSON.stringify(flat)}\n\n`;
      model.a.answerNext({ status: 200, headers: { "Content-Type": "text/event-stream" }, body });
      const asked = { ...answeredInFull[2][1], stream: true };
      const response = await gateway.post(account, "/v1/responses", asked);
      const text = await response.text();
      expect([error.code, text.includes("vendor.example"), text.includes("error")]).toEqual([
        error.code,
        told,
        true,
      ]);
      expect(await gateway.receipt(account, response)).toMatchObject({ charged_micros_usd: 0 });
    }
  });

  test("that is a limit or the operator's is told them as one", async () => {
    for (const [code, status, word] of [
      [429, 429, "upstream_rate_limit"],
      ["401", 503, "provider_unavailable"],
      [402, 503, "provider_unavailable"],
    ] as const) {
      meetAnew();
      const account = await gateway.openAccount();
      for (const double of [model.a, model.b]) double.answerNext(told(code, "pay at vendor.example"));
      const response = await gateway.post(account, "/v1/messages", chat);
      const text = await response.text();
      expect([response.status, text]).toMatchObject([status, expect.stringContaining(word)]);
      expect(text).not.toContain("vendor.example");
      expect(await gateway.receipt(account, response)).toMatchObject({ charged_micros_usd: 0 });
    }
  });
});

describe("when both upstreams fail", () => {
  interface Pair {
    readonly first: ScriptedAnswer;
    readonly second: ScriptedAnswer;
    readonly status: number;
    readonly retryAfter?: string;
    readonly key: "freed" | "kept";
    readonly outcomes: readonly string[];
  }
  const busy = error(429, { "Retry-After": "9" });
  const pairs: readonly Pair[] = [
    {
      first: error(500),
      second: busy,
      status: 500,
      key: "kept",
      outcomes: ["answered", "rate_limited"],
    },
    {
      first: busy,
      second: error(500),
      status: 500,
      key: "kept",
      outcomes: ["rate_limited", "answered"],
    },
    {
      first: error(500),
      second: error(502),
      status: 502,
      key: "kept",
      outcomes: ["answered", "answered"],
    },
    {
      first: error(429, { "Retry-After": "3" }),
      second: busy,
      status: 429,
      retryAfter: "9",
      key: "freed",
      outcomes: ["rate_limited", "rate_limited"],
    },
    {
      first: busy,
      second: error(401),
      status: 429,
      retryAfter: "9",
      key: "freed",
      outcomes: ["rate_limited", "key_rejected"],
    },
    {
      first: error(401),
      second: error(403),
      status: 503,
      key: "freed",
      outcomes: ["key_rejected", "key_rejected"],
    },
    {
      first: busy,
      second: { kind: "reset" },
      status: 502,
      key: "kept",
      outcomes: ["rate_limited", "cut_off"],
    },
    {
      first: error(500),
      second: { kind: "hang" },
      status: 502,
      key: "kept",
      outcomes: ["answered", "timeout"],
    },
  ];
  test.each(pairs.map((pair) => ({ ...pair, name: `${pair.outcomes.join(", then ")}: ${pair.status}` })))(
    "$name, the idempotency key is $key",
    async ({ first, second, status, retryAfter, key, outcomes }) => {
      const account = await gateway.openAccount();
      const send = (): Promise<Response> =>
        gateway.post(account, "/v1/chat/completions", chat, { "idempotency-key": "one" });
      model.a.answerNext(first);
      model.b.answerNext(second);
      const response = await send();
      expect([response.status, response.headers.get("retry-after")]).toEqual([status, retryAfter ?? null]);
      const receipt = await gateway.receipt(account, response);
      expect(receipt).toMatchObject({ status: "released", charged_micros_usd: 0 });
      expect(receipt.attempts.map(({ outcome }) => outcome)).toEqual([...outcomes]);
      expect(await gateway.balance(account)).toEqual({ balance: creditMicros, held: 0 });

      meetAnew();
      expect((await send()).status).toBe(key === "freed" ? 200 : 409);
      expect((await send()).status).toBe(409);
      const charged = key === "freed" ? chatMicros : 0;
      expect(await gateway.balance(account)).toEqual({ balance: creditMicros - charged, held: 0 });
    },
  );
});

describe("an error with which a stream begins", () => {
  const streamed = { ...chat, stream: true };
  const paths = [
    ["/v1/chat/completions", streamed],
    ["/v1/messages", streamed],
    ["/v1beta/models/gpt-x:streamGenerateContent?alt=sse", { contents: [{ parts: [{ text: "Say it" }] }] }],
    ["/v1/responses", { model: "gpt-x", input: "Say it", stream: true }],
  ] as const;
  const beginning = (said: object, before = ""): ScriptedAnswer => ({
    status: 200,
    headers: { "Content-Type": "text/event-stream" },
    body: `${before}data: ${JSON.stringify(said)}\n\n`,
  });
  const message = "pay at vendor.example";

  test.each(paths)(
    "is asked elsewhere where its status would be, and one call is charged: %s",
    async (path, body) => {
      for (const [error, status] of [
        [{ code: 503, message }, 503],
        [{ type: "overloaded_error", message }, 529],
        [{ code: "rate_limit_exceeded", message }, 429],
        [{ code: "insufficient_quota", message }, 429],
        [{ code: "invalid_api_key", message }, 401],
      ] as const) {
        meetAnew();
        const account = await gateway.openAccount();
        // Some say in comments that they are at work.
        model.a.answerNext(beginning({ error }, ": PROCESSING\n\n: PROCESSING\n\n"));
        const response = await gateway.post(account, path, body);
        const text = await response.text();
        expect([response.status, text.includes("fox"), text.includes(message)]).toEqual([200, true, false]);
        const receipt = await gateway.receipt(account, response);
        expect(receipt).toMatchObject({ outcome: "succeeded", charged_micros_usd: chatMicros });
        expect(receipt.attempts).toMatchObject([
          { upstream: "oa-a", status },
          { upstream: "oa-b", outcome: "streaming", status: 200 },
        ]);
      }
    },
  );

  test.each(paths)(
    "is told by its status where nobody else is to be asked, and costs nothing: %s",
    async (path, body) => {
      for (const [error, status, shown, asked] of [
        [{ type: "invalid_request_error", message }, 400, message, [model.a]],
        [{ type: "timeout_error", message }, 504, message, [model.a]],
        [{ type: "server_error", message }, 502, message, [model.a, model.b]],
        [{ code: "rate_limit_exceeded", message }, 429, "upstream_rate_limit", [model.a, model.b]],
        [{ code: "invalid_api_key", message }, 503, "provider_unavailable", [model.a, model.b]],
      ] as const) {
        meetAnew();
        const account = await gateway.openAccount();
        for (const double of asked) double.answerNext(beginning({ error }));
        const response = await gateway.post(account, path, body);
        const text = await response.text();
        expect([response.status, text]).toMatchObject([status, expect.stringContaining(shown)]);
        expect(JSON.parse(text)).toHaveProperty("error");
        const receipt = await gateway.receipt(account, response);
        expect(receipt).toMatchObject({ outcome: "failed", charged_micros_usd: 0 });
        expect(receipt.attempts).toHaveLength(asked.length);
        expect(await gateway.balance(account)).toEqual({ balance: creditMicros, held: 0 });
      }
    },
  );

  test("is one also where it has no name of its own, as OpenAI's responses say it", async () => {
    const account = await gateway.openAccount();
    const flat = { type: "error", code: "server_error", message: "not now", param: null };
    for (const double of [model.a, model.b]) double.answerNext(beginning(flat));
    const response = await gateway.post(account, "/v1/responses", paths[3][1]);
    expect([response.status, await response.json()]).toMatchObject([502, { error: { message: "not now" } }]);
  });

  test("is judged and told by its own words where it stands in a choice, streamed or whole", async () => {
    const flagged = { reasons: ["hate"], flagged_input: "Say it" };
    for (const [told, status, shown, asked] of [
      [{ code: 403, message: "It was flagged", metadata: flagged }, 403, "It was flagged", [model.a]],
      [{ code: 400, message: "The prompt is too long" }, 400, "The prompt is too long", [model.a]],
      ["out of order", 502, "out of order", [model.a, model.b]],
    ] as const) {
      meetAnew();
      const account = await gateway.openAccount();
      const choice = { index: 0, finish_reason: "error", error: told };
      const begins = beginning({ choices: [{ ...choice, delta: { role: "assistant", content: "" } }] });
      for (const double of asked) double.answerNext(begins);
      const response = await gateway.post(account, "/v1/chat/completions", streamed);
      expect([response.status, await response.json()]).toMatchObject([status, { error: { message: shown } }]);
      expect(await gateway.receipt(account, response)).toMatchObject({ charged_micros_usd: 0 });
      meetAnew();
      const body = JSON.stringify({ choices: [{ ...choice, message: { role: "assistant", content: "" } }] });
      for (const double of asked) double.answerNext({ status: 200, headers: json, body });
      const whole = await gateway.post(account, "/v1/chat/completions", chat);
      expect([whole.status, await whole.text()]).toEqual([200, body]);
      expect(await gateway.receipt(account, whole)).toMatchObject({ charged_micros_usd: 0 });
    }
    meetAnew();
    const account = await gateway.openAccount();
    const large = {
      code: 402,
      message: "You need more credits, or fewer max_tokens: you can only afford 20.",
    };
    const choice = { index: 0, delta: { content: "" }, finish_reason: "error", error: large };
    model.a.answerNext(beginning({ choices: [choice] }));
    await (await gateway.post(account, "/v1/chat/completions", streamed)).text();
    const next = await gateway.post(account, "/v1/chat/completions", { ...streamed, max_tokens: 5 });
    await next.text();
    expect((await gateway.receipt(account, next)).attempts).toMatchObject([{ upstream: "oa-a" }]);
  });

  test("stands in place of an answer, not beside one", async () => {
    const account = await gateway.openAccount();
    const words = [{ index: 0, delta: { role: "assistant", content: "The quick" } }];
    model.a.answerNext(beginning({ choices: words, error: { code: 503, message: "too late" } }));
    const response = await gateway.post(account, "/v1/chat/completions", streamed);
    expect([response.status, await response.text()]).toMatchObject([
      200,
      expect.stringContaining("The quick"),
    ]);
    expect((await gateway.receipt(account, response)).attempts).toMatchObject([{ upstream: "oa-a" }]);
  });
});

// Errors that a model's vendor tells with the status of a success: others are asked, callers hear what is theirs to hear,
// and it costs nothing.

import { describe, expect, test } from "bun:test";
import type { ScriptedAnswer } from "../doubles/scripted-answer.ts";
import { chat } from "../support/purchases.ts";
import { creditMicros } from "../support/test-gateway.ts";
import { begunStream, chatMicros, usage, useRoutedCalls } from "./routed-calls.ts";
import { json } from "./two-upstreams.ts";

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
          {
            upstream: "oa-a",
            outcome: said.type ? "rate_limited" : "key_rejected",
            status: said.type ? said.code : null,
          },
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

  test("in a stream is withheld where it is about the operator, and costs nothing before any output", async () => {
    const events = { "Content-Type": "text/event-stream" };
    const said = (error: object): string =>
      `${begunStream}data: ${JSON.stringify({ error: { ...error, message: "pay at vendor.example" }, usage })}\n\n`;
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
      [{ code: "rate_limit_exceeded" }, false],
      [{ code: "server_error" }, true],
    ] as const) {
      meetAnew();
      const account = await gateway.openAccount();
      const flat = { type: "error", ...error, message: "pay at vendor.example", param: null };
      const body = `${begunStream}event: error\ndata: ${JSON.stringify(flat)}\n\n`;
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

// Errors that are the first event of a stream: nothing was said yet, so others can be asked and a status can be told.

import { describe, expect, test } from "bun:test";
import type { ScriptedAnswer } from "../doubles/scripted-answer.ts";
import { chat } from "../support/purchases.ts";
import { creditMicros } from "../support/test-gateway.ts";
import { chatMicros, useRoutedCalls } from "./routed-calls.ts";
import { json } from "./two-upstreams.ts";

const { model, meetAnew, gateway } = await useRoutedCalls();

describe("an error with which a stream begins", () => {
  const streamed = { ...chat, stream: true };
  const event = (said: object): string => `data: ${JSON.stringify(said)}\n\n`;
  const empty = { index: 0, delta: { role: "assistant", content: "" } };
  const chunkBegun = event({ id: "c", model: "gpt-x", choices: [empty] });
  // It says again what it was asked for: agents have more instructions than most streams have bytes.
  const instructions = "Be a careful engineer. ".repeat(5_000);
  const begun = { id: "resp_1", status: "in_progress", instructions, output: [], error: null };
  const responseBegun =
    event({ type: "response.created", response: begun }) +
    event({ type: "response.in_progress", response: begun });
  const paths = [
    ["/v1/chat/completions", streamed, chunkBegun],
    ["/v1/messages", streamed, chunkBegun],
    [
      "/v1beta/models/gpt-x:streamGenerateContent?alt=sse",
      { contents: [{ parts: [{ text: "Say it" }] }] },
      chunkBegun,
    ],
    ["/v1/responses", { model: "gpt-x", input: "Say it", stream: true }, responseBegun],
  ] as const;
  const beginning = (said: object, before = ""): ScriptedAnswer => ({
    status: 200,
    headers: { "Content-Type": "text/event-stream" },
    body: before + event(said),
  });
  const message = "pay at vendor.example";
  // Some say in comments that they are at work.
  const atWork = ": PROCESSING\n\n: PROCESSING\n\n";

  test.each(paths)(
    "is asked elsewhere where its status would be, and one call is charged: %s",
    async (path, body, begins) => {
      for (const [error, status, before] of [
        [{ code: 503, message }, 503, ""],
        [{ type: "overloaded_error", message }, 529, atWork],
        [{ code: "rate_limit_exceeded", message }, 429, atWork],
        [{ code: "insufficient_quota", message }, 429, atWork],
        [{ code: "invalid_api_key", message }, null, atWork],
        [{ code: 503, message }, 503, begins],
        [{ code: "rate_limit_exceeded", message }, 429, atWork + begins],
        [{ code: "insufficient_quota", message }, 429, begins + atWork],
        [{ code: "invalid_api_key", message }, null, begins],
      ] as const) {
        meetAnew();
        const account = await gateway.openAccount();
        model.a.answerNext(beginning({ error }, before));
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
    async (path, body, begins) => {
      const refusals = [
        [{ type: "invalid_request_error", message }, 400, message, [model.a]],
        [{ type: "timeout_error", message }, 504, message, [model.a]],
        [{ type: "server_error", message }, 502, message, [model.a, model.b]],
        [{ code: "rate_limit_exceeded", message }, 429, "upstream_rate_limit", [model.a, model.b]],
        [{ code: "invalid_api_key", message }, 503, "provider_unavailable", [model.a, model.b]],
      ] as const;
      const eachWay = refusals.flatMap((refusal) =>
        ["", begins].map((before) => [before, ...refusal] as const),
      );
      for (const [before, error, status, shown, asked] of eachWay) {
        meetAnew();
        const account = await gateway.openAccount();
        for (const double of asked) double.answerNext(beginning({ error }, before));
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

  test("is one inside of the response that failed, which was begun and queued before, also where it came whole", async () => {
    const told =
      "Rate limit reached for gpt-x in organization org-Tollgate on tokens per min. Try again in 1.2s.";
    const failed = { ...begun, status: "failed", error: { code: "rate_limit_exceeded", message: told } };
    const queued = event({ type: "response.queued", response: begun });
    const end = { type: "response.failed", response: failed };
    for (const type of ["text/event-stream", "text/plain"]) {
      meetAnew();
      const said = {
        ...beginning(end, queued + responseBegun + event({ type: "keepalive" })),
        headers: { "Content-Type": type },
      };
      model.a.answerNext(said);
      const account = await gateway.openAccount();
      const served = await gateway.post(account, "/v1/responses", paths[3][1]);
      const text = await served.text();
      expect([text.includes("fox"), text.includes("org-Tollgate")]).toEqual([true, false]);
      expect(await gateway.receipt(account, served)).toMatchObject({
        outcome: "succeeded",
        charged_micros_usd: chatMicros,
        attempts: [
          { upstream: "oa-a", outcome: "rate_limited" },
          { upstream: "oa-b", outcome: "streaming" },
        ],
      });

      meetAnew();
      for (const double of [model.a, model.b]) double.answerNext(said);
      const poor = await gateway.openAccount();
      const refused = await gateway.post(poor, "/v1/responses", paths[3][1]);
      const words = await refused.text();
      expect([refused.status, words.includes("org-Tollgate")]).toEqual([429, false]);
      expect(words).toContain("upstream_rate_limit");
      expect(await gateway.receipt(poor, refused)).toMatchObject({
        status: "released",
        charged_micros_usd: 0,
        attempts: [{ upstream: "oa-a" }, { upstream: "oa-b" }],
      });
      expect(await gateway.balance(poor)).toEqual({ balance: creditMicros, held: 0 });
    }
  });

  test("is judged and told by its own words where it stands in a choice, streamed or whole", async () => {
    const flagged = { reasons: ["hate"], flagged_input: "hi" };
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

import { describe, expect, test } from "bun:test";
import { nothingKnown, type Call, type Known } from "../../call/call.ts";
import { createAnswerHeaders } from "./answer-headers.ts";

const names = { costMicrosUsd: "x-one-cost-micros-usd", upstream: "x-one-upstream" };

/** Only what the headers are made from. */
const call = (id: string, known: Partial<Known> = {}, headers = names, path = "/v1/rerank"): Call =>
  ({
    id,
    path,
    known: { ...nothingKnown(), ...known },
    offer: { headers },
  }) as unknown as Call;

const standing = { limit: 60, remaining: 59, resetsAtMs: 1_000 };
const json = { nowMs: 0, contentType: "application/json" };

describe("the headers of answers", () => {
  test("an answer keeps its headers when the next one is written", () => {
    const headersOf = createAnswerHeaders();
    const first = new Response("", { headers: headersOf(call("1", { costMicros: 5n }), json) });
    const second = new Response("", { headers: headersOf(call("2", { costMicros: 7n }), json) });
    expect([first, second].map(({ headers }) => headers.get("x-request-id"))).toEqual(["1", "2"]);
    expect([first, second].map(({ headers }) => headers.get(names.costMicrosUsd))).toEqual(["5", "7"]);
  });

  test("nothing of one answer stays on the next", () => {
    const headersOf = createAnswerHeaders();
    const all = { requests: standing, tokens: standing, costMicros: 5n, servedBySandbox: true };
    headersOf(call("1", all, names, "/v1/messages"), {
      nowMs: 0,
      contentType: "text/event-stream",
      retryAfterSeconds: 3,
      closes: true,
      retryable: false,
      crossesOrigins: true,
    });
    const headers = headersOf(call("2"), { nowMs: 0, contentType: undefined });
    expect(headers.toJSON()).toEqual({ "x-request-id": "2" });
  });

  test("names of an offer that is gone do not stay either", () => {
    const headersOf = createAnswerHeaders();
    headersOf(call("1", { costMicros: 5n }), json);
    const renamed = { costMicrosUsd: "x-two-cost-micros-usd", upstream: "x-two-upstream" };
    const headers = headersOf(call("2", { costMicros: 5n }, renamed), json);
    expect(headers.has(names.costMicrosUsd)).toBe(false);
    expect(headers.get(renamed.costMicrosUsd)).toBe("5");
  });
});

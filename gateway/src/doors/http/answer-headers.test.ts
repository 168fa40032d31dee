import { describe, expect, test } from "bun:test";
import { nothingKnown, type Known } from "../../call/call.ts";
import { answerHeaders } from "./answer-headers.ts";

const names = { costMicrosUsd: "x-one-cost-micros-usd", upstream: "x-one-upstream" };

/** Only what the headers are made from. */
const call = (id: string, known: Partial<Known> = {}, hasAnthropicClients = false): AnsweredCall =>
  ({
    id,
    known: { ...nothingKnown(), ...known },
    offer: { headers: names },
    conventions: { hasAnthropicClients },
  }) as unknown as AnsweredCall;

type AnsweredCall = Parameters<typeof answerHeaders>[0];

const standing = { limit: 60, remaining: 59, resetsAtMs: 1_000 };

describe("the headers of answers", () => {
  test("nothing is said that is not known", () => {
    expect(answerHeaders(call("1"), { nowMs: 0, contentType: undefined })).toBe("x-request-id: 1\r\n");
  });

  test("everything that is known is said, each on a line of its own", () => {
    const all = { requests: standing, tokens: standing, chargedMicros: 5n, servedBySandbox: true };
    const lines = answerHeaders(call("1", all, true), {
      nowMs: 0,
      contentType: "text/event-stream",
      streams: true,
      retryAfterSeconds: 3,
      retryable: false,
      crossesOrigins: true,
    });
    expect(lines.split("\r\n")).toEqual([
      "x-request-id: 1",
      "request-id: 1",
      "content-type: text/event-stream",
      "cache-control: no-cache",
      "x-accel-buffering: no",
      "retry-after: 3",
      "x-should-retry: false",
      "access-control-allow-origin: *",
      "access-control-expose-headers: *",
      "x-ratelimit-limit-requests: 60",
      "x-ratelimit-remaining-requests: 59",
      "x-ratelimit-reset-requests: 1",
      "x-ratelimit-limit-tokens: 60",
      "x-ratelimit-remaining-tokens: 59",
      "x-ratelimit-reset-tokens: 1",
      "x-one-cost-micros-usd: 5",
      "x-one-upstream: sandbox",
      "",
    ]);
  });

  test("what an upstream calls its answer ends no line and begins no other", () => {
    for (const contentType of ["text/plain\r\nset-cookie: a=1", "text/plain\n", "text/caf\u00e9"]) {
      const lines = answerHeaders(call("1"), { nowMs: 0, contentType });
      expect(lines).toBe("x-request-id: 1\r\ncontent-type: application/octet-stream\r\n");
    }
  });
});

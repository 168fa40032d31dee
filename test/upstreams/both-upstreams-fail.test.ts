// Upstreams that fail one after the other: what the caller hears, whether it may ask again, and that it costs nothing.

import { describe, expect, test } from "bun:test";
import type { ScriptedAnswer } from "../doubles/scripted-answer.ts";
import { chat } from "../support/purchases.ts";
import { creditMicros } from "../support/test-gateway.ts";
import { chatMicros, useRoutedCalls } from "./routed-calls.ts";
import { error } from "./two-upstreams.ts";

const { model, meetAnew, gateway } = await useRoutedCalls();

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

// A gateway that is called with access tokens, on a clock that a test may move on.

import { afterAll, afterEach, expect } from "bun:test";
import { systemClock } from "../../gateway/src/platform/clock.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import { awayFromMidnight } from "../support/wall-clock.ts";
import type { Tokens } from "./oauth-person.ts";

/** A call that costs little, so that every grant covers it. */
export const cheap = { query: "a", documents: ["b"] };

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

export async function tokensOf(response: Response): Promise<Tokens> {
  expect(response.status).toBe(200);
  return (await response.json()) as Tokens;
}

/** To be called once in a file of tests. Time that a test lets pass has not passed for the next one. */
export async function useTokenGateway() {
  await awayFromMidnight();
  let passedMs = 0;
  const gateway = await openTestGateway({
    clock: { ...systemClock, wallMs: () => systemClock.wallMs() + passedMs },
    config: "operations:\n  financial.metrics.snapshot: { price_usd: 2 }\n",
  });
  afterEach(() => {
    passedMs = 0;
  });
  afterAll(() => gateway.close());

  return {
    gateway,
    /** Since the test began. */
    letPass: (ms: number): void => {
      passedMs = ms;
    },
    get: (path: string, token: string): Promise<Response> =>
      fetch(gateway.url + path, { headers: bearer(token) }),
    rerank: (token: string): Promise<Response> =>
      fetch(`${gateway.url}/v1/rerank`, {
        method: "POST",
        headers: { ...bearer(token), "content-type": "application/json" },
        body: JSON.stringify(cheap),
      }),
  };
}

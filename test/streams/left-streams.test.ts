import { expect, test } from "bun:test";
import { openTestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { slotsFree } from "./asked-streams.ts";

test("a caller who leaves has its slots back within a second, though the vendor is still being read to its end", async () => {
  const tollgate = await openTestGateway();
  try {
    const account = await tollgate.openAccount({ tier: "free" });
    await tollgate.sandbox.fault({ vendor: "openai", chunk_delay_ms: 120, times: 5 });
    const conversation = {
      model: "gpt-4o-mini",
      stream: true,
      messages: [{ role: "user", content: "tell me more" }],
    };
    // An answer that nobody keeps is collected one day, and its caller leaves with it.
    const open = async (): Promise<{ leaving: AbortController; response: Response }> => {
      const leaving = new AbortController();
      const response = await tollgate.call(account, "/v1/chat/completions", {
        method: "POST",
        body: JSON.stringify(conversation),
        signal: leaving.signal,
      });
      expect(response.status).toBe(200);
      return { leaving, response };
    };
    const callers = await Promise.all(Array.from({ length: 5 }, open));
    const full = await tollgate.post(account, "/v1/chat/completions", conversation);
    expect(full.status).toBe(429);

    for (const { leaving, response } of callers) {
      expect(response.bodyUsed).toBe(false);
      leaving.abort();
    }
    await until(async () => (await slotsFree(tollgate, account)) === 5, 1_000);
    // All five are still being read on for their exact bill.
    expect((await tollgate.sandbox.book()).filter(({ status }) => status === null)).toHaveLength(5);
    expect((await tollgate.balance(account)).held).toBeGreaterThan(0);
    const next = await tollgate.post(account, "/v1/chat/completions", conversation);
    expect(next.status).toBe(200);
    await next.text();

    await tollgate.sandbox.settled();
    for (let tries = 0; tries < 400 && (await tollgate.balance(account)).held > 0; tries++)
      await Bun.sleep(20);
    expect((await tollgate.balance(account)).held).toBe(0);
    expect(await tollgate.audit()).toEqual([]);
  } finally {
    await tollgate.close();
  }
});

test("a key that leaves more streams than are read on beside its slots keeps slots for the rest, and pays exactly for all", async () => {
  const slots = 18;
  const tollgate = await openTestGateway({
    config: `tiers: { starter: { rpm: 1000, tpm: 10000000, concurrency: ${slots} } }`,
  });
  try {
    const account = await tollgate.openAccount({ tier: "starter" });
    await tollgate.sandbox.fault({ vendor: "openai", chunk_delay_ms: 120, times: slots });
    const conversation = {
      model: "gpt-4o-mini",
      stream: true,
      messages: [{ role: "user", content: "tell me more" }],
    };
    const leaving = new AbortController();
    const begun = await Promise.all(
      Array.from({ length: slots }, () =>
        tollgate.call(account, "/v1/chat/completions", {
          method: "POST",
          body: JSON.stringify(conversation),
          signal: leaving.signal,
        }),
      ),
    );
    expect(begun.map(({ status }) => status)).toEqual(begun.map(() => 200));
    leaving.abort();
    await until(async () => (await slotsFree(tollgate, account)) === 16);
    // Sixteen gave their slots back; two keep theirs as long as they are read on.
    const next = await Promise.all(
      Array.from({ length: slots }, () => tollgate.post(account, "/v1/chat/completions", conversation)),
    );
    expect(next.filter(({ status }) => status === 200)).toHaveLength(16);
    expect(next.filter(({ status }) => status === 429)).toHaveLength(2);
    await Promise.all(next.map((response) => response.text()));

    await tollgate.sandbox.settled();
    await until(async () => (await tollgate.balance(account)).held === 0);
    const receipts = await Promise.all(
      begun.map(async ({ headers }) => {
        const receipt = await tollgate.call(account, `/v1/requests/${headers.get("x-request-id")}`);
        return (await receipt.json()) as { readonly usage_source: string };
      }),
    );
    expect(receipts.map(({ usage_source: source }) => source)).toEqual(begun.map(() => "provider"));
    expect(await tollgate.audit()).toEqual([]);
  } finally {
    await tollgate.close();
  }
});

import { expect, test } from "bun:test";
import { openTestGateway } from "./harness.ts";

test("a caller who leaves has its places back within a second, though the vendor is still being read to its end", async () => {
  const tollgate = await openTestGateway();
  try {
    const account = await tollgate.openAccount({ tier: "free" });
    await tollgate.sandbox.fault({ vendor: "openai", chunk_delay_ms: 120, times: 5 });
    const conversation = {
      model: "gpt-4o-mini",
      stream: true,
      messages: [{ role: "user", content: "tell me more" }],
    };
    const open = async (): Promise<AbortController> => {
      const leaving = new AbortController();
      const response = await tollgate.call(account, "/v1/chat/completions", {
        method: "POST",
        body: JSON.stringify(conversation),
        signal: leaving.signal,
      });
      expect(response.status).toBe(200);
      return leaving;
    };
    const callers = await Promise.all(Array.from({ length: 5 }, open));
    const full = await tollgate.post(account, "/v1/chat/completions", conversation);
    expect(full.status).toBe(429);

    for (const caller of callers) caller.abort();
    await Bun.sleep(900);
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

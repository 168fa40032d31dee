import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { openTestGateway, type TestAccount, type TestGateway } from "./harness.ts";

const rerank = { query: "apple pie", documents: ["how to bake an apple pie", "train timetable"] };

interface Conflict {
  readonly error: { readonly code: string; readonly message: string; readonly retryable: boolean };
  readonly original: {
    readonly request_id: string;
    readonly status: string;
    readonly charged_micros_usd: number;
  };
  readonly request_id: string;
}

let tollgate: TestGateway;
beforeAll(async () => {
  tollgate = await openTestGateway();
});
afterEach(async () => {
  expect(await tollgate.audit()).toEqual([]);
  await tollgate.sandbox.clear();
});
afterAll(() => tollgate.close());

const send = (account: TestAccount, key: string, body: unknown = rerank): Promise<Response> =>
  tollgate.post(account, "/v1/rerank", body, { "idempotency-key": key });

const conflictOf = async (response: Response): Promise<Conflict> => {
  expect(response.status).toBe(409);
  return (await response.json()) as Conflict;
};

describe("an Idempotency-Key", () => {
  test("lets fifty identical calls at once reach the upstream once and be charged once", async () => {
    const account = await tollgate.openAccount();
    const responses = await Promise.all(Array.from({ length: 50 }, () => send(account, "fifty")));
    const served = responses.filter((response) => response.status === 200);
    expect(served).toHaveLength(1);
    for (const response of responses) {
      if (response === served[0]) continue;
      const conflict = await conflictOf(response);
      expect(["request_in_progress", "request_already_completed"]).toContain(conflict.error.code);
      expect(conflict.original.request_id).toBe(served[0]?.headers.get("x-request-id") ?? "");
    }
    expect(await tollgate.sandbox.book()).toHaveLength(1);
  });

  test("finds what became of its call in the receipts, and nobody else's", async () => {
    const account = await tollgate.openAccount();
    const look = async (asker: TestAccount, key: string): Promise<unknown[]> => {
      const found = await tollgate.call(asker, `/v1/requests?idempotency_key=${key}`);
      expect(found.status).toBe(200);
      return ((await found.json()) as { data: unknown[] }).data;
    };
    expect(await look(account, "lost")).toEqual([]);
    const sent = await send(account, "lost");
    expect(await look(account, "lost")).toMatchObject([
      {
        request_id: sent.headers.get("x-request-id") ?? "",
        status: "settled",
        operation_id: "rerank.create",
      },
    ]);
    expect(await look(await tollgate.openAccount(), "lost")).toEqual([]);
    expect((await tollgate.call(account, "/v1/requests?idempotency_key=%20")).status).toBe(400);
  });

  test("is found among the receipts only where the other filters fit its call too", async () => {
    const account = await tollgate.openAccount();
    const sent = await send(account, "filtered");
    const look = (filters: string): Promise<Response> =>
      tollgate.call(account, `/v1/requests?idempotency_key=filtered${filters}`);
    for (const [filters, count] of [
      ["", 1],
      ["&limit=1&status=settled", 1],
      [`&operation_id=rerank.create&status=settled&key_id=${account.keyId}`, 1],
      ["&status=held", 0],
      ["&operation_id=nope", 0],
      ["&key_id=nope", 0],
      [`&status=settled&operation_id=nope&key_id=${account.keyId}`, 0],
    ] as const) {
      const { data } = (await (await look(filters)).json()) as { data: unknown[] };
      expect([filters, data.length]).toEqual([filters, count]);
    }
    // It is one page, so nothing can come after it.
    for (const cursor of ["bad", sent.headers.get("x-request-id") ?? ""]) {
      const refused = await look(`&cursor=${cursor}`);
      expect(refused.status).toBe(400);
      expect(await refused.json()).toHaveProperty("error", expect.stringContaining("cursor"));
    }
  });

  test("whose call has ended is refused with that call's id, status and charge", async () => {
    const account = await tollgate.openAccount();
    const first = await tollgate.post(
      account,
      "/v1/chat/completions",
      { model: "gpt-4o", messages: [{ role: "user", content: "hello" }], max_tokens: 20 },
      { "idempotency-key": "done" },
    );
    expect(first.status).toBe(200);
    const cost = Number(first.headers.get("x-tollgate-cost-micros-usd"));
    expect(cost).toBeGreaterThan(0);
    const again = await tollgate.post(
      account,
      "/v1/chat/completions",
      { model: "gpt-4o", messages: [{ role: "user", content: "hello" }], max_tokens: 20 },
      { "idempotency-key": "done" },
    );
    expect(again.status).toBe(409);
    // The dialect of the path keeps everything inside `error`.
    const { error } = (await again.json()) as {
      error: Conflict["error"] & { original: Conflict["original"] };
    };
    expect(error.code).toBe("request_already_completed");
    expect(error.retryable).toBe(false);
    expect(error.original).toEqual({
      request_id: first.headers.get("x-request-id") ?? "",
      status: "settled",
      charged_micros_usd: cost,
    });
    expect(await tollgate.sandbox.book()).toHaveLength(1);
  });

  test("whose call still runs is refused as in progress, with a time to come back", async () => {
    const account = await tollgate.openAccount();
    await tollgate.sandbox.fault({ vendor: "jina", latency_ms: 400 });
    const running = send(account, "running");
    await tollgate.sandbox.busyWith(1);
    const again = await send(account, "running");
    const conflict = await conflictOf(again);
    expect(conflict.error.code).toBe("request_in_progress");
    expect(conflict.error.retryable).toBe(true);
    expect(again.headers.get("retry-after")).toBe("1");
    expect((await running).status).toBe(200);
  });

  test("sent with another body is refused, also while the first call runs", async () => {
    const account = await tollgate.openAccount();
    await tollgate.sandbox.fault({ vendor: "jina", latency_ms: 300 });
    const running = send(account, "reused");
    await tollgate.sandbox.busyWith(1);
    for (const body of [{ ...rerank, query: "other" }, `${JSON.stringify(rerank)} `]) {
      const conflict = await conflictOf(await send(account, "reused", body));
      expect(conflict.error.code).toBe("idempotency_key_reused");
      expect(conflict.error.retryable).toBe(false);
    }
    expect((await running).status).toBe(200);
    expect(await tollgate.sandbox.book()).toHaveLength(1);
  });

  test("whose call got no answer stays taken: its outcome is unknown and it is not repeated", async () => {
    const account = await tollgate.openAccount();
    await tollgate.sandbox.fault({ vendor: "jina", mode: "close" });
    expect((await send(account, "lost")).status).toBe(502);
    const conflict = await conflictOf(await send(account, "lost"));
    expect(conflict.error.code).toBe("outcome_unknown");
    expect(conflict.original.status).toBe("unknown");
    expect(conflict.original.charged_micros_usd).toBe(0);
    expect(await tollgate.sandbox.book()).toHaveLength(1);
  });

  test("of one account says nothing about another account's", async () => {
    const [one, other] = [await tollgate.openAccount(), await tollgate.openAccount()];
    expect((await send(one, "shared")).status).toBe(200);
    expect((await send(other, "shared")).status).toBe(200);
    expect(await tollgate.sandbox.book()).toHaveLength(2);
  });

  test("is free again after a refusal before the upstream: 400, 402, 429 and an upstream that was busy", async () => {
    const poor = await tollgate.openAccount({ creditUsd: "0" });
    expect((await send(poor, "retry")).status).toBe(402);
    await tollgate.store.accounts.topUp({
      transferId: crypto.randomUUID(),
      accountId: poor.accountId,
      amountMicros: 1_000_000n,
      nowMs: Date.now(),
    });
    expect((await send(poor, "retry", { ...rerank, documents: [] })).status).toBe(400);
    await tollgate.sandbox.fault({ vendor: "jina", status: 429 });
    expect((await send(poor, "retry")).status).toBe(429);
    await tollgate.sandbox.fault({ vendor: "jina", status: 401 });
    expect((await send(poor, "retry")).status).toBe(503);
    expect((await send(poor, "retry")).status).toBe(200);
    expect((await conflictOf(await send(poor, "retry"))).error.code).toBe("request_already_completed");
  });

  test("stays taken after the upstream answered with an error, and says that nothing was charged", async () => {
    const account = await tollgate.openAccount();
    await tollgate.sandbox.fault({ vendor: "jina", status: 500 });
    expect((await send(account, "failed")).status).toBe(500);
    const conflict = await conflictOf(await send(account, "failed"));
    expect(conflict.error.code).toBe("request_already_completed");
    expect(conflict.original).toMatchObject({ status: "released", charged_micros_usd: 0 });
  });

  test("is told as taken even when the cap or the balance would refuse the call too", async () => {
    const account = await tollgate.openAccount();
    expect((await send(account, "first")).status).toBe(200);
    const capped = await tollgate.post(account, "/v1/rerank", rerank, {
      "idempotency-key": "first",
      "x-tollgate-max-price-usd": "0",
    });
    expect((await conflictOf(capped)).error.code).toBe("request_already_completed");
  });

  test("must be 1 to 255 visible ASCII characters, once", async () => {
    const account = await tollgate.openAccount();
    for (const key of ["", "x".repeat(256), "two words", "a, b", "\t"]) {
      const response = await send(account, key);
      expect(response.status).toBe(400);
      expect((await response.json()) as object).toMatchObject({ code: "invalid_parameters" });
    }
    expect((await send(account, "x".repeat(255))).status).toBe(200);
    expect(await tollgate.sandbox.book()).toHaveLength(1);
  });

  test("does nothing to a quote, which claims nothing", async () => {
    const account = await tollgate.openAccount();
    const quote = await tollgate.post(account, "/v1/rerank", rerank, {
      "idempotency-key": "quoted",
      "x-tollgate-cost-mode": "quote",
    });
    expect(quote.status).toBe(200);
    expect((await send(account, "quoted")).status).toBe(200);
  });

  test("files a quota application once", async () => {
    const account = await tollgate.openAccount();
    const wish = { expected_rpm: 9_000, expected_tpm: 9_000_000, models: ["gpt-4o"], use_case: "search" };
    const file = () => tollgate.post(account, "/v1/limits/requests", wish, { "idempotency-key": "apply" });
    const first = (await (await file()).json()) as { id: string };
    const conflict = await conflictOf(await file());
    expect(conflict.original.request_id).toBe(first.id);
    expect((await tollgate.store.quotas.list("open")).filter(({ id }) => id === first.id)).toHaveLength(1);
  });
});

test("a key is kept for 24 hours after its call ended and free afterwards", async () => {
  let wallMs = Date.parse("2026-03-01T12:00:00Z");
  const clock = { wallMs: () => wallMs, monotonicMs: () => performance.now() };
  const timed = await openTestGateway({ clock });
  try {
    const account = await timed.openAccount();
    const again = () => timed.post(account, "/v1/rerank", rerank, { "idempotency-key": "daily" });
    expect((await again()).status).toBe(200);
    wallMs += 24 * 3_600_000 - 1;
    expect((await again()).status).toBe(409);
    wallMs += 2;
    expect((await again()).status).toBe(200);
    expect(await timed.sandbox.book()).toHaveLength(2);
    expect(await timed.audit()).toEqual([]);
  } finally {
    await timed.close();
  }
});

import { describe, expect, test } from "bun:test";
import { callerAt } from "../support/caller.ts";
import { failpoints, streamFailpoints, withFailpoint, type Failpoint } from "./failpoints.ts";
import { openFailpointProgram as openProgram, openSuccessor } from "./failpoint-program.ts";
import { openTestGateway, type TestAccount } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

const path = "/v1/chat/completions";
const body = { model: "gpt-4o", messages: [{ role: "user", content: "hello" }], max_tokens: 50 };

/** What must be true after the process died at a failpoint and another one took over. */
const afterKill: Record<
  Failpoint,
  { dispatched: 0 | 1; charged: boolean; retry: number; code: string | undefined }
> = {
  "auth.done": { dispatched: 0, charged: false, retry: 200, code: undefined },
  "limit.taken": { dispatched: 0, charged: false, retry: 200, code: undefined },
  "hold.before_commit": { dispatched: 0, charged: false, retry: 200, code: undefined },
  // From here on nobody can prove that nothing was sent, so nothing is ever sent again.
  "hold.after_commit": { dispatched: 0, charged: false, retry: 409, code: "outcome_unknown" },
  "dispatch.before": { dispatched: 0, charged: false, retry: 409, code: "outcome_unknown" },
  "dispatch.sent": { dispatched: 1, charged: false, retry: 409, code: "outcome_unknown" },
  "upstream.end": { dispatched: 1, charged: false, retry: 409, code: "outcome_unknown" },
  "settle.before_commit": { dispatched: 1, charged: false, retry: 409, code: "outcome_unknown" },
  "settle.after_commit": { dispatched: 1, charged: true, retry: 409, code: "request_already_completed" },
  "respond.before_end": { dispatched: 1, charged: true, retry: 409, code: "request_already_completed" },
};

describe("a process killed with kill -9", () => {
  for (const failpoint of failpoints) {
    test(`at ${failpoint} neither loses nor doubles the call`, async () => {
      // The first gateway only makes the account and lends its sandbox and its database file.
      const home = await openTestGateway();
      try {
        const account = await home.openAccount();
        if (failpoint === "dispatch.sent") await home.sandbox.fault({ vendor: "openai", latency_ms: 1_200 });
        const doomed = await openProgram(home, failpoint);
        const lost = await send(doomed.url, account).then(
          () => false,
          () => true,
        );
        expect(lost).toBe(true);
        expect(await doomed.exited).toBe(137);
        await home.sandbox.settled();

        const expected = afterKill[failpoint];
        expect(await home.sandbox.book()).toHaveLength(expected.dispatched);
        const next = await openSuccessor(home);
        const receipts = await receiptsOf(next.url, account);
        const charges = receipts.filter((receipt) => receipt.charged_micros_usd > 0);
        expect(charges).toHaveLength(expected.charged ? 1 : 0);
        expect(receipts.filter(({ status }) => status !== "settled" && status !== "released")).toEqual([]);
        expect((await home.balance(account)).held).toBe(0);

        const retry = await send(next.url, account);
        expect(retry.status).toBe(expected.retry);
        const { error } = (await retry.json()) as { error?: { code: string } };
        expect(error?.code).toBe(expected.code);
        expect((await home.sandbox.book()).length).toBeLessThanOrEqual(1);
        expect(await home.audit()).toEqual([]);
        await next.close();
      } finally {
        await home.close();
      }
    });
  }
});

describe("a part that throws", () => {
  for (const failpoint of failpoints.filter((name) => name !== "respond.before_end")) {
    test(`at ${failpoint} is answered with an error, and the hold still ends`, async () => {
      let thrown = 0;
      const tollgate = await openTestGateway({
        wrap: (parts) =>
          withFailpoint(parts, failpoint, () => {
            if (thrown++ === 0) throw new Error("a part failed");
          }),
      });
      try {
        const account = await tollgate.openAccount();
        const response = await send(tollgate.url, account);
        expect([500, 503]).toContain(response.status);
        expect(await response.text()).not.toContain("a part failed");
        await until(async () => (await tollgate.balance(account)).held === 0);
        const book = await tollgate.sandbox.book();
        const charged = 2_000_000 - (await tollgate.balance(account)).balance;
        // After the settlement is on disk the charge stands; before, the caller got nothing and pays nothing.
        expect(charged > 0).toBe(failpoint === "settle.after_commit");
        expect(book.length).toBeLessThanOrEqual(1);
        expect((await send(tollgate.url, account, "another-key")).status).toBe(200);
        expect(await tollgate.audit()).toEqual([]);
      } finally {
        await tollgate.close();
      }
    });
  }
});

describe("a stall of a minute on a virtual clock", () => {
  for (const failpoint of failpoints.filter((name) => name !== "respond.before_end")) {
    test(`at ${failpoint} changes nothing: one dispatch, one charge, no hold`, async () => {
      const clock = createVirtualClock(Date.parse("2026-05-31T23:59:30Z"));
      const tollgate = await openTestGateway({
        clock,
        wrap: (parts) => withFailpoint(parts, failpoint, () => clock.advance(60_000)),
      });
      try {
        // The stall crosses midnight and the end of a month, with a budget in force.
        const account = await tollgate.openAccount({ budget: { limitMicros: 1_000_000n, window: "month" } });
        const response = await send(tollgate.url, account);
        expect(response.status).toBe(200);
        const cost = Number(response.headers.get("x-tollgate-cost-micros-usd"));
        expect(cost).toBeGreaterThan(0);
        expect(await tollgate.balance(account)).toEqual({ balance: 2_000_000 - cost, held: 0 });
        expect(await tollgate.sandbox.book()).toHaveLength(1);
        expect(await tollgate.audit()).toEqual([]);
      } finally {
        await tollgate.close();
      }
    });
  }
});

const send = (url: string, account: TestAccount, key = "once"): Promise<Response> =>
  callerAt(url).post(account, path, body, { "idempotency-key": key });

async function receiptsOf(url: string, account: TestAccount) {
  const response = await callerAt(url).call(account, "/v1/requests");
  const { data } = (await response.json()) as {
    data: { status: string; charged_micros_usd: number; held_micros_usd: number }[];
  };
  return data;
}

describe("a stream", () => {
  const streamed = { ...body, stream: true };
  /** Piece by piece. */
  const slowly = { vendor: "openai", chunk_delay_ms: 5 };
  const begin = (url: string, account: TestAccount): Promise<Response> =>
    callerAt(url).post(account, path, streamed, { "idempotency-key": "stream" });

  for (const failpoint of streamFailpoints) {
    test(`whose process is killed at ${failpoint} is neither lost nor doubled`, async () => {
      const home = await openTestGateway();
      try {
        const account = await home.openAccount();
        await home.sandbox.fault(slowly);
        const doomed = await openProgram(home, failpoint);
        await begin(doomed.url, account)
          .then((response) => response.text())
          .catch(() => {});
        expect(await doomed.exited).toBe(137);
        const next = await openSuccessor(home);
        const receipts = await receiptsOf(next.url, account);
        expect(receipts).toHaveLength(1);
        const {
          status = "",
          charged_micros_usd: charged = -1,
          held_micros_usd: held = 0,
        } = receipts[0] ?? {};
        // The first output is noted as it passes; whether the note was written by then is a matter of milliseconds.
        if (failpoint === "upstream.mid" && status === "settled") {
          expect(charged).toBeGreaterThan(0);
          expect(charged).toBeLessThan(held);
        } else expect({ status, charged }).toEqual({ status: "released", charged: 0 });
        expect((await begin(next.url, account)).status).toBe(409);
        expect(await home.sandbox.book()).toHaveLength(1);
        expect({ held: (await home.balance(account)).held, findings: await home.audit() }).toEqual({
          held: 0,
          findings: [],
        });
        await next.close();
      } finally {
        await home.close();
      }
    });

    test(`through a part that throws at ${failpoint} ends, and so does its hold`, async () => {
      const tollgate = await openTestGateway({
        wrap: (parts) =>
          withFailpoint(parts, failpoint, () => {
            throw new Error("a part failed");
          }),
      });
      try {
        const account = await tollgate.openAccount();
        await tollgate.sandbox.fault(slowly);
        const response = await begin(tollgate.url, account);
        const text = await response.text();
        expect(response.status).toBe(failpoint === "upstream.headers" ? 500 : 200);
        expect(text).not.toContain("a part failed");
        await until(async () => (await tollgate.balance(account)).held === 0);
        const charged = 2_000_000 - (await tollgate.balance(account)).balance;
        // What had passed is paid for; before the first byte nothing had.
        expect(charged > 0).toBe(failpoint === "upstream.mid");
        expect(await tollgate.audit()).toEqual([]);
      } finally {
        await tollgate.close();
      }
    });

    test(`that stalls for a minute at ${failpoint} is charged once, as its vendor's book says`, async () => {
      const clock = createVirtualClock(Date.parse("2026-05-31T23:59:30Z"));
      const tollgate = await openTestGateway({
        clock,
        wrap: (parts) => withFailpoint(parts, failpoint, () => clock.advance(60_000)),
      });
      try {
        const account = await tollgate.openAccount({ budget: { limitMicros: 1_000_000n, window: "day" } });
        const response = await begin(tollgate.url, account);
        const cost = Number(/"cost_micros_usd":(\d+)/.exec(await response.text())?.[1]);
        expect(cost).toBeGreaterThan(0);
        expect(await tollgate.balance(account)).toEqual({ balance: 2_000_000 - cost, held: 0 });
        expect(await tollgate.sandbox.book()).toHaveLength(1);
        expect(await tollgate.audit()).toEqual([]);
      } finally {
        await tollgate.close();
      }
    });
  }
});

describe("a process killed in the middle of a stream", () => {
  // Each waits for seconds of its own process, so they wait together.
  const stream = { ...body, stream: true, max_tokens: 4_000 };

  interface Kill {
    readonly afterMs: number;
    readonly fault?: object;
    /** The caller is not there any more when it happens. */
    readonly leaves?: true;
  }

  /** Reads for a while, kills the process, and looks at the books after the next start. */
  const booksAfter = async ({ afterMs, fault = { chunk_delay_ms: 150 }, leaves }: Kill) => {
    const home = await openTestGateway();
    try {
      const account = await home.openAccount();
      await home.sandbox.fault({ vendor: "openai", ...fault });
      const doomed = await openProgram(home, undefined);
      const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
      const long = { ...stream, messages: [{ role: "user", content: "a long story ".repeat(60) }] };
      const leaving = new AbortController();
      const response = await fetch(doomed.url + path, {
        method: "POST",
        headers,
        body: JSON.stringify(long),
        signal: leaving.signal,
      });
      const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader();
      const startedMs = performance.now();
      const killed = Bun.sleep(afterMs).then(() => doomed.kill("SIGKILL"));
      const mayRead = () => performance.now() - startedMs < (leaves ? afterMs / 4 : afterMs);
      while (mayRead() && (await reader?.read().catch(() => undefined))?.done === false) {}
      if (leaves) leaving.abort();
      await killed;
      await doomed.exited;
      const next = await openSuccessor(home);
      const [receipt] = await receiptsOf(next.url, account);
      const findings = await home.audit();
      const { held } = await home.balance(account);
      await next.close();
      return { receipt, findings, held };
    } finally {
      await home.close();
    }
  };

  test.concurrent("is charged for what it had delivered, give or take two seconds, and not for its hold", async () => {
    const books = await Promise.all([booksAfter({ afterMs: 700 }), booksAfter({ afterMs: 4_500 })]);
    for (const { receipt, findings, held } of books) {
      expect(receipt?.status).toBe("settled");
      expect(receipt?.charged_micros_usd).toBeLessThan((receipt?.held_micros_usd ?? 0) / 10);
      expect({ findings, held }).toEqual({ findings: [], held: 0 });
    }
    const charges = books.map(({ receipt }) => receipt?.charged_micros_usd ?? 0);
    expect(charges[0]).toBeGreaterThan(0);
    expect(charges[1]).toBeGreaterThan(charges[0] ?? 0);
  });

  test.concurrent("is charged although the caller had left, for what was read on until then too", async () => {
    const books = await Promise.all([
      booksAfter({ afterMs: 4_500, leaves: true }),
      booksAfter({ afterMs: 10_000, leaves: true }),
    ]);
    const charges = books.map(({ receipt }) => receipt?.charged_micros_usd ?? 0);
    expect(charges[0]).toBeGreaterThan(0);
    expect(charges[1]).toBeGreaterThan(charges[0] ?? 0);
    for (const { findings, held } of books) expect({ findings, held }).toEqual({ findings: [], held: 0 });
  });

  test.concurrent("that has begun and said nothing yet is released: as if its vendor had cut it there", async () => {
    const silent = { mode: "stall_stream", after_events: 1, latency_ms: 60_000 };
    const { receipt, findings, held } = await booksAfter({ afterMs: 4_500, fault: silent });
    expect(receipt).toMatchObject({ status: "released", charged_micros_usd: 0 });
    expect({ findings, held }).toEqual({ findings: [], held: 0 });
  });
});

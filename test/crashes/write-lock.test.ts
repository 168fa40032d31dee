import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expectWithin } from "../../gateway/src/platform/test-within.ts";
import { dialects } from "../streams/dialects.ts";
import {
  expectChargeOf,
  lastInBook,
  lastReceipt,
  models,
  openModelVendors,
  usageInBook,
  type ModelVendors,
} from "../streams/model-vendors.ts";
import { openStreamCaller } from "../streams/stream-caller.ts";
import { json, type Refused } from "../support/answers.ts";
import { snapshotPath } from "../support/purchases.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { takeWriteLock } from "../support/write-lock.ts";
import {
  asynchronous,
  createPath,
  createTask,
  shiftedClock,
  stuck,
  taskPath,
  video,
} from "../tasks/task-caller.ts";

let tollgate: TestGateway;
const folders: string[] = [];
afterEach(async () => {
  expect(await tollgate.audit()).toEqual([]);
  await tollgate.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe("another process holds the write lock", () => {
  test("for a moment: calls wait their turn and the event loop goes on", async () => {
    tollgate = await openTestGateway();
    const account = await tollgate.openAccount();
    const unlock = takeWriteLock(tollgate.databasePath);
    const waiting = tollgate.call(account, snapshotPath);
    await Bun.sleep(300);
    const healthy = await expectWithin(250, () => fetch(`${tollgate.url}/healthz`));
    expect(healthy.status).toBe(200);
    unlock();
    expect((await waiting).status).toBe(200);
  });

  test("for too long: 503 billing_dependency_timeout, and the upstream was not asked", async () => {
    tollgate = await openTestGateway();
    const account = await tollgate.openAccount();
    const unlock = takeWriteLock(tollgate.databasePath);
    const refused = await tollgate.call(account, snapshotPath);
    unlock();
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("1");
    const { error } = await json<Refused>(refused);
    expect(error).toMatchObject({ code: "billing_dependency_timeout", retryable: true });
    expect(error.request_id).toBe(refused.headers.get("x-request-id") ?? "");
    expect(await tollgate.sandbox.book()).toHaveLength(0);
    expect(await tollgate.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
    expect((await tollgate.call(account, snapshotPath)).status).toBe(200);
  });

  test("for too long: what is free is refused in the same words, and a poll tells what is known", async () => {
    const clock = shiftedClock();
    tollgate = await openTestGateway({ clock });
    const account = await tollgate.openAccount();
    const { output } = await createTask(tollgate, account, video(stuck));
    const unlock = takeWriteLock(tollgate.databasePath);
    clock.forward(3_100);
    const wish = { expected_rpm: 100, expected_tpm: 100, models: ["m"], use_case: "u" };
    const [polled, linked, applied] = await Promise.all([
      tollgate.call(account, taskPath(output.task_id)),
      tollgate.post(account, "/apis/v1/social_a/auth_social_a", {}),
      tollgate.post(account, "/v1/limits/requests", wish),
    ]);
    unlock();
    expect(await polled.json()).toMatchObject({ output: { task_status: "PENDING" } });
    for (const refused of [linked, applied]) {
      expect(refused.status).toBe(503);
      const { error } = await json<Refused>(refused);
      expect(error).toMatchObject({ code: "billing_dependency_timeout", retryable: true });
    }
    expect((await tollgate.post(account, "/apis/v1/social_a/auth_social_a", {})).status).toBe(200);
  });

  test("for too long: what is only read is refused in the same words, and so is a key that was used before", async () => {
    tollgate = await openTestGateway();
    const account = await tollgate.openAccount();
    const keyed = { "idempotency-key": "k1", ...asynchronous };
    expect((await tollgate.post(account, createPath, video(stuck), keyed)).status).toBe(200);
    // What it noted is not posted yet, and whoever reads posts.
    expect((await tollgate.call(account, snapshotPath)).status).toBe(200);
    const unlock = takeWriteLock(tollgate.databasePath);
    const refused = await Promise.all([
      tollgate.call(account, "/v1/credits/balance"),
      tollgate.call(account, `/v1/usage?start_time=${Math.floor(Date.now() / 1000) - 60}`),
      tollgate.post(account, createPath, video(stuck), keyed),
    ]);
    unlock();
    for (const answer of refused) {
      const { error } = await json<Refused>(answer);
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(error).toMatchObject({ code: "billing_dependency_timeout", retryable: true });
    }
    const logged = tollgate.logged.join("");
    expect(logged).toContain("the books could not be read");
    expect(logged).not.toContain("could not be written");
    expect((await tollgate.call(account, "/v1/credits/balance")).status).toBe(200);
  });

  test("when a call ends: its answer waits for the settlement", async () => {
    tollgate = await openTestGateway();
    const account = await tollgate.openAccount();
    await tollgate.sandbox.fault({ vendor: "financialdatasets", latency_ms: 600 });
    const calling = tollgate.call(account, snapshotPath);
    await tollgate.sandbox.busyWith(1);
    const unlock = takeWriteLock(tollgate.databasePath);
    let answered = false;
    calling.then(() => (answered = true)).catch(() => {});
    await tollgate.sandbox.settled();
    await Bun.sleep(300);
    expect(answered).toBe(false);
    unlock();
    const response = await calling;
    expect(response.status).toBe(200);
    expect(response.headers.get("x-tollgate-cost-micros-usd")).toBe("48000");
  });

  test("until nobody waits for the end of a stream: its caller has all of it, and pays for it later", async () => {
    await withUnbookedStream(async ({ vendors, account, unlock }) => {
      expect(tollgate.gateway.callsInFlight()).toBe(1);
      unlock();
      await until(async () => (await tollgate.balance(account)).held === 0);
      const receipt = await lastReceipt(tollgate, account);
      expect(receipt).toMatchObject({ status: "settled", outcome: "succeeded", usage_source: "provider" });
      expectChargeOf(receipt, usageInBook(lastInBook(vendors.doubles.openai)));
      // Whoever stops the gateway waits for such an end as for any call.
      await until(() => tollgate.gateway.callsInFlight() === 0);
    });
  });

  test("until nobody waits for the end of a stream, and the gateway stops: the next start charges it", async () => {
    await withUnbookedStream(async ({ vendors, account, unlock, reopen }) => {
      unlock();
      await reopen();
      const receipt = await lastReceipt(tollgate, account);
      expect(receipt).toMatchObject({ status: "settled", outcome: "unknown", usage_source: "estimated" });
      expectChargeOf(receipt, usageInBook(lastInBook(vendors.doubles.openai)));
      expect((await tollgate.balance(account)).held).toBe(0);
    });
  });
});

interface Unbooked {
  readonly vendors: ModelVendors;
  readonly account: TestAccount;
  /** Gives the write lock back. */
  readonly unlock: () => void;
  /** Closes the gateway and opens another on the same data. */
  readonly reopen: () => Promise<void>;
}

/** Has a stream delivered to its last event while nothing can be written, until its settlement was given up. */
async function withUnbookedStream(look: (unbooked: Unbooked) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-stream-"));
  folders.push(folder);
  const vendors = await openModelVendors();
  const time = { offsetMs: 0 };
  const monotonicMs = (): number => performance.now() + time.offsetMs;
  const options = { folder, config: vendors.config({ more: "sandbox: off" }), store: { monotonicMs } };
  tollgate = await openTestGateway(options);
  const account = await tollgate.openAccount();
  let unlock = (): void => {};
  try {
    vendors.doubles.openai.answerNext({ kind: "stream", everyMs: 50 });
    const caller = openStreamCaller(tollgate.port, {
      account,
      path: dialects.openai.path(models.openai, true),
      body: dialects.openai.body({ turns: [{ user: "Go on." }] }, models.openai, true),
    });
    await caller.untilFrames(1);
    unlock = takeWriteLock(tollgate.databasePath);
    await until(() => caller.body().includes("[DONE]"));
    // Patience begins when the lock is first found taken, and it is longer than a test should wait.
    await Bun.sleep(200);
    time.offsetMs += 30_000;
    expect(await caller.ended).toBe(true);
    const reopen = async (): Promise<void> => {
      await tollgate.close();
      tollgate = await openTestGateway(options);
    };
    await look({ vendors, account, unlock, reopen });
  } finally {
    unlock();
    await vendors.close();
  }
}

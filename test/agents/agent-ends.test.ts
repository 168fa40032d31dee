// How the calls of agents end that were left, stopped or not written down: agents are told what is true of their money.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../gateway/src/store/store.ts";
import { InDoubt, StoreBusy } from "../../gateway/src/ledger/store-errors.ts";
import { askModern, errorOf, openOldClient, useTool } from "./agent-client.ts";
import { snapshotOrder, usePurchases, videoOrder } from "./agent-purchases.ts";
import { snapshotMicros } from "../support/purchases.ts";
import { withFailpoint } from "../crashes/failpoints.ts";
import { openGatewayProcess } from "../support/gateway-process.ts";
import { openSandboxProgram } from "../support/sandbox.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";

const { gateway, account, mcp, spent } = await usePurchases();

describe("leaving", () => {
  test("after dispatch changes nothing: one settled charge", async () => {
    const asked = (await gateway.sandbox.book()).length;
    await gateway.sandbox.fault({ vendor: "financialdatasets", latency_ms: 400 });
    const leaving = new AbortController();
    const call = askModern(
      mcp,
      account.key,
      "tools/call",
      { name: "use", arguments: snapshotOrder(0.1) },
      { signal: leaving.signal },
    ).catch(() => {});
    await until(async () => (await gateway.sandbox.book()).length > asked);
    leaving.abort();
    await call;
    await until(async () => (await spent()) === snapshotMicros);
    await until(async () => (await gateway.balance(account)).held === 0);
    expect(await spent()).toBe(snapshotMicros);
  });

  test("in the middle of a batch starts nothing more", async () => {
    const asked = (await gateway.sandbox.book()).length;
    await gateway.sandbox.fault({ vendor: "financialdatasets", latency_ms: 400 });
    const leaving = new AbortController();
    const calls = Array.from({ length: 5 }, () => snapshotOrder(0.1));
    const batch = askModern(
      mcp,
      account.key,
      "tools/call",
      { name: "batch_use", arguments: { calls } },
      { signal: leaving.signal },
    ).catch(() => {});
    await until(async () => (await gateway.sandbox.book()).length > asked);
    leaving.abort();
    await batch;
    await until(async () => (await spent()) === snapshotMicros);
    await Bun.sleep(300);
    expect(await spent()).toBe(snapshotMicros);
    expect((await gateway.sandbox.book()).length).toBe(asked + 1);
  });
});

test("a stop waits for what agents are running, and tells them how it ended", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const sandbox = await openSandboxProgram();
  const program = await openGatewayProcess({ dataFolder: folder, config: `sandbox: "${sandbox.url}"` });
  const old = await openOldClient(`${program.url}/mcp`, program.key);
  await sandbox.fault({ vendor: "financialdatasets", latency_ms: 700 });
  const call = old.ask("tools/call", { name: "use", arguments: snapshotOrder(0.1) });
  await until(async () => (await sandbox.book()).length > 0);
  program.signal("SIGTERM");
  expect((await call).message.result).toMatchObject({ structuredContent: { status: "completed" } });
  expect(await program.exited).toBe(0);
  sandbox.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe("an end that the store did not take", () => {
  type Settle = Store["ledger"]["settle"];

  /** A gateway whose settlements come to this, the first time. */
  const withFaulty = async (
    settle: (settle: Settle) => Settle,
    run: (faulty: TestGateway) => Promise<void>,
  ) => {
    let settlements = 0;
    const faulty = await openTestGateway({
      wrap: (parts) => {
        const { ledger } = parts.store;
        const first: Settle = (asked) => (settlements++ === 0 ? settle(ledger.settle) : ledger.settle)(asked);
        return { ...parts, store: { ...parts.store, ledger: { ...ledger, settle: first } } };
      },
    });
    try {
      await run(faulty);
      expect(await faulty.audit()).toEqual([]);
    } finally {
      await faulty.close();
    }
  };

  test("is told to an agent as free, and it is", () =>
    withFaulty(
      () => () => Promise.reject(new StoreBusy()),
      async (faulty) => {
        const owner = await faulty.openAccount({ creditUsd: "5" });
        const told = await useTool(`${faulty.url}/mcp`, owner.key, "use", snapshotOrder(0.1));
        expect(told.structuredContent).toMatchObject({ status: "failed", error: { charged: "no" } });
        await until(async () => (await faulty.balance(owner)).held === 0);
        expect((await faulty.balance(owner)).balance).toBe(5_000_000);
      },
    ));

  test("as far as anybody knows is not told to an agent as free: it was charged", () =>
    withFaulty(
      (settle) => async (settlement) => {
        await settle(settlement);
        throw new InDoubt();
      },
      async (faulty) => {
        const owner = await faulty.openAccount({ creditUsd: "5" });
        const told = await useTool(`${faulty.url}/mcp`, owner.key, "use", snapshotOrder(0.1));
        expect(told.structuredContent["status"]).toBe("failed");
        expect(errorOf(told)).toMatchObject({ charged: "unknown", retryable: false });
        expect(errorOf(told)["message"]).toContain("look at the receipt");
        expect((await faulty.balance(owner)).balance).toBe(5_000_000 - snapshotMicros);
      },
    ));
});

test("an agent whose video was created but could not be written down yet is not told that it costs nothing", async () => {
  let takesNothing = true;
  const faulty = await openTestGateway({
    wrap: (parts) =>
      withFailpoint(parts, "task.created_upstream", () => {
        if (takesNothing) throw new Error("the store takes nothing");
      }),
  });
  try {
    const owner = await faulty.openAccount({ creditUsd: "5" });
    const { structuredContent } = await useTool(
      `${faulty.url}/mcp`,
      owner.key,
      "use",
      videoOrder(1, "a fox"),
    );
    expect(structuredContent).toMatchObject({ status: "failed", error: { charged: "unknown" } });
    // A stop waits until it is written, and whoever looks at the log can ask the vendor.
    expect(faulty.gateway.callsInFlight()).toBe(1);
    expect(faulty.logged.join("\n")).toMatch(/"upstream_task_id":"[^"]+"/);
    takesNothing = false;
    await until(() => faulty.gateway.callsInFlight() === 0);
    expect((await faulty.balance(owner)).held).toBeGreaterThan(0);
  } finally {
    await faulty.close();
  }
});

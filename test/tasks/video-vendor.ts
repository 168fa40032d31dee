// A vendor of videos that can be told what to answer, and a gateway in front of it whose clock can be put forward.

import { afterAll, afterEach, expect } from "bun:test";
import { openDashScopeDouble } from "../doubles/dashscope.ts";
import type { ScriptedAnswer } from "../doubles/scripted-answer.ts";
import { openAttackerListener } from "../doubles/vendor-double.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { pollUntil, shiftedClock } from "./task-caller.ts";

export const key = "sk-operator-dashscope-0000000000";
export const richMicros = 20_000_000;
export const untouched = { balance: richMicros, held: 0 };

export const json = (status: number, body: unknown): ScriptedAnswer => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

/** To be called once in a file of tests; the books are audited and the vendor's rules looked at after each of them. */
export async function useVideoVendor() {
  const clock = shiftedClock();
  const openAt = (url: string, operatorKey = key): Promise<TestGateway> =>
    openTestGateway({
      clock,
      config: `upstreams: { video: { protocol: dashscope, url: "${url}", key: "${operatorKey}", timeout_ms: 2000 } }`,
    });
  const vendor = await openDashScopeDouble({ key });
  const attacker = await openAttackerListener();
  const gateway = await openAt(vendor.url);

  afterEach(async () => {
    expect(await gateway.audit()).toEqual([]);
    expect(vendor.violations).toEqual([]);
  });
  afterAll(async () => {
    expect(gateway.logged.join("\n")).not.toContain(key);
    expect([attacker.connections(), attacker.bytes()]).toEqual([0, 0]);
    // An operation with a real upstream never falls back to the sandbox.
    expect(await gateway.sandbox.book()).toEqual([]);
    await gateway.close();
    await vendor.close();
    await attacker.close();
  });

  return {
    clock,
    vendor,
    attacker,
    gateway,
    openAt,
    rich: (at = gateway): Promise<TestAccount> => at.openAccount({ creditUsd: "20" }),
    /** The vendor's own id of the task created last. */
    vendorId: (at = vendor): string => at.tasks().at(-1)?.id ?? "",
    /** Puts the clock past every pause, until the task has this status. */
    reaches: (account: TestAccount, taskId: string, status: string, at = gateway) =>
      pollUntil(at, account, { taskId, status, pause: () => clock.forward(60_000) }),
    receiptOf: (account: TestAccount, requestId: string, at = gateway) => at.receipt(account, requestId),
  };
}

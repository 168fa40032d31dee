// Clients that resume their session count its ids from the start, so that a new request may look like a repetition.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { openOldClient, type OldClient } from "../agents/agent-client.ts";
import { tagOrder, videoOrder } from "../agents/agent-purchases.ts";
import { openTwoNodes, type TwoNodes } from "../support/two-nodes.ts";
import type { TestAccount } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

const clock = createVirtualClock();
const tagMicros = 1_450;

let nodes: TwoNodes;
let account: TestAccount;
let old: OldClient;

beforeAll(async () => {
  nodes = await openTwoNodes({ clock });
});
beforeEach(async () => {
  await nodes.first.sandbox.clear();
  account = await nodes.first.openAccount({ creditUsd: "5" });
  nodes.sendTo("first");
  old = await openOldClient(`${nodes.url}/mcp`, account.key);
});
afterAll(async () => {
  expect(await nodes.second.audit()).toEqual([]);
  await nodes.close();
});

const spent = async (): Promise<number> => 5_000_000 - (await nodes.second.balance(account)).balance;
const ask = async (node: "first" | "second", params: object): Promise<string> => {
  nodes.sendTo(node);
  return JSON.stringify((await old.ask("tools/call", params, 0)).message.result);
};
const use = (given: object) => ({ name: "use", arguments: given });
const batch = (...calls: object[]) => ({ name: "batch_use", arguments: { calls } });

test("a session that was ended at one process is answered by another for a minute at most", async () => {
  expect(await ask("second", use(tagOrder(0.1)))).toContain('"status":"completed"');
  const headers = {
    authorization: `Bearer ${account.key}`,
    accept: "text/event-stream",
    "mcp-session-id": old.sessionId,
  };
  const listening = await fetch(`${nodes.url}/mcp`, { headers });
  expect(listening.status).toBe(200);
  nodes.sendTo("first");
  expect((await fetch(`${nodes.url}/mcp`, { method: "DELETE", headers })).status).toBe(200);
  clock.advance(60_000);
  nodes.sendTo("second");
  const late = await old.ask("tools/call", use(tagOrder(0.1)), 1);
  expect([late.status, await spent()]).toEqual([404, tagMicros]);
  expect(await listening.text()).not.toContain("data: {");
});

describe("what a session asks for again under the id of an earlier request", () => {
  test.each([
    ["a use", use(tagOrder(0.1)), tagMicros],
    ["a batch", batch(tagOrder(0.1), tagOrder(0.2)), 2 * tagMicros],
  ])(
    "%s is a repetition for ten minutes, and a new request afterwards, at every process",
    async (_, params, micros) => {
      expect(await ask("first", params)).toContain('"status":"completed"');
      clock.advance(9 * 60_000);
      expect(await ask("second", params)).toContain("idempotency_conflict");
      expect(await ask("first", params)).toContain('"status":"completed"');
      expect(await spent()).toBe(micros);
      clock.advance(7 * 60_000);
      expect(await ask("first", params)).toContain('"status":"completed"');
      expect(await ask("second", params)).toContain("idempotency_conflict");
      expect(await spent()).toBe(2 * micros);
    },
  );

  test("a video is another one ten minutes after the first one's end", async () => {
    const fox = use(videoOrder(1, "a fox"));
    const taskIn = (told: string): string | undefined => /"task_id":"([^"]+)"/.exec(told)?.[1];
    const first = taskIn(await ask("first", fox));
    expect(first).toBeDefined();
    expect(taskIn(await ask("second", fox))).toBe(first);
    await nodes.first.call(account, `/apis/v1/services/aigc/tasks/${first}/cancel`, { method: "POST" });
    clock.advance(9 * 60_000);
    expect(taskIn(await ask("second", fox))).toBe(first);
    clock.advance(2 * 60_000);
    const second = taskIn(await ask("second", fox));
    expect([second === undefined, second === first]).toEqual([false, false]);
  });

  test("a batch that takes longer is one all the time: its first calls are not bought again while it runs", async () => {
    const params = batch(tagOrder(0.1), tagOrder(0.2));
    await nodes.first.sandbox.fault({ vendor: "tikhub", latency_ms: 0 });
    await nodes.first.sandbox.fault({ vendor: "tikhub", latency_ms: 600 });
    const first = ask("first", params);
    await until(async () => {
      const { length } = (await nodes.first.sandbox.book()).filter(({ status }) => status === null);
      return length === 1 && (await spent()) === tagMicros;
    });
    clock.advance(11 * 60_000);
    const again = await ask("second", params);
    expect(again).toContain("request_id");
    expect(again).not.toContain('"status":"completed"');
    expect(await first).toContain('"completed":2');
    expect(await spent()).toBe(2 * tagMicros);
  }, 10_000);
});

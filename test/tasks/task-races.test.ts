// Two workers and a polling client meet the last transition of a thousand tasks at once: one charge each.

import { expect, test } from "bun:test";
import { startTaskWorker } from "../../gateway/src/doors/worker/task-worker.ts";
import { createStoreNews } from "../../gateway/src/store/store-news.ts";
import type { GatewayParts } from "../../gateway/src/gateway.ts";
import { createTaskDesk } from "../../gateway/src/tasks/task-desk.ts";
import { openDashScopeDouble } from "../doubles/dashscope.ts";
import { openTestGateway, type TestAccount } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { createTask, poll, shiftedClock, video, videoMicros } from "./task-caller.ts";

const tasksInAll = 1_000;
/** Tasks a key may have open. */
const tasksPerKey = 3;

test("a thousand tasks that end under the eyes of two workers and a client are charged once each", async () => {
  const vendor = await openDashScopeDouble({ key: "a-key-of-the-vendor" });
  const clock = shiftedClock();
  const kept: { parts?: GatewayParts } = {};
  const tollgate = await openTestGateway({
    clock,
    config: `
upstreams: { video: { protocol: dashscope, url: "${vendor.url}", key: a-key-of-the-vendor, poll_qps: 10000 } }
tiers: { growth: { rpm: 1000000, tpm: 1000000, concurrency: 100 } }`,
    wrap: (parts) => (kept.parts = parts),
  });
  const { parts } = kept;
  if (!parts) throw new Error("The gateway has no parts.");
  await tollgate.gateway.stop();
  try {
    const accounts = await Promise.all(
      Array.from({ length: Math.ceil(tasksInAll / tasksPerKey) }, () => tollgate.openAccount()),
    );
    const begun: { account: TestAccount; taskId: string }[] = [];
    for (const account of accounts) {
      const created = await Promise.all(
        Array.from({ length: Math.min(tasksPerKey, tasksInAll - begun.length) }, () =>
          createTask(tollgate, account, video("a red fox")),
        ),
      );
      begun.push(...created.map(({ output }) => ({ account, taskId: output.task_id })));
    }
    expect(vendor.tasks()).toHaveLength(tasksInAll);
    for (const { id } of vendor.tasks()) vendor.move(id, "SUCCEEDED");
    clock.forward(5_000);

    const storeNews = createStoreNews({ ...clock, ping: parts.store.ping, log: parts.log });
    // Claims that run out at once: every worker sees the end of the same tasks, and each tries to book it.
    const workers = [1, 2].map(() =>
      startTaskWorker({
        desk: createTaskDesk({
          tasks: parts.store.tasks,
          ledger: parts.store.ledger,
          forwarder: parts.forwarder,
          upstreamOf: (name) =>
            tollgate.gateway.offer().taskUpstreams.find((at) => at.upstream.name === name),
          clock,
          random: Math.random,
          log: parts.log,
          storeNews,
          metrics: parts.metrics,
          leaseMs: 0,
        }),
        upstreams: () => tollgate.gateway.offer().taskUpstreams,
        storeNews,
      }),
    );
    const seen = new Map<string, string>();
    const look = async (): Promise<void> => {
      for (const { account, taskId } of begun.toReversed()) {
        const { output } = await poll(tollgate, account, taskId);
        seen.set(taskId, output.task_status);
      }
    };
    await look();
    const openCount = async (): Promise<number> => {
      const counts = await Promise.all(accounts.map(({ keyId }) => parts.store.tasks.countOpen(keyId)));
      return counts.reduce((sum, count) => sum + count, 0);
    };
    await until(async () => (await openCount()) === 0, 60_000);
    await Promise.all(workers.map((worker) => worker.stop()));
    clock.forward(1_000);
    await look();

    // Three books: the vendor's, the ledger's, and what the clients saw.
    expect(vendor.book).toHaveLength(tasksInAll);
    expect([...seen.values()].filter((status) => status === "SUCCEEDED")).toHaveLength(tasksInAll);
    for (const account of accounts.slice(0, -1)) {
      const balance = 2_000_000 - tasksPerKey * videoMicros;
      expect(await tollgate.balance(account)).toEqual({ balance, held: 0 });
    }
    const charges = `SELECT count(*) AS n, CAST(-sum(amount_micros) AS BIGINT) AS total FROM entry
                     WHERE kind = 'charge' AND party LIKE 'acc%'`;
    expect(await tollgate.data.query(charges)).toEqual([{ n: tasksInAll, total: tasksInAll * videoMicros }]);
    // The race did take place: tasks were claimed again while others were still asking about them.
    const [claims] = await tollgate.data.query<{ n: number }>(
      "SELECT CAST(sum(fence) AS BIGINT) AS n FROM task",
    );
    expect(claims?.n).toBeGreaterThan(tasksInAll);
    expect(await tollgate.audit()).toEqual([]);
  } finally {
    await tollgate.close();
    await vendor.close();
  }
}, 120_000);

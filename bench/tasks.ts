// Many open tasks at one vendor: how often it is asked against its quota, how evenly the tasks get their turns, and
// what that costs in memory. The vendor is a process of its own, so that only the gateway's memory is measured.
//
//   TASKS=10000 POLL_QPS=500 SECONDS=60 bun bench/tasks.ts

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTaskWorker } from "../gateway/src/doors/worker/task-worker.ts";
import { createTerms } from "../gateway/src/operation/terms.ts";
import { systemClock } from "../gateway/src/platform/clock.ts";
import { createLog } from "../gateway/src/platform/log.ts";
import { createMetrics } from "../gateway/src/platform/metrics.ts";
import { openSqliteStore } from "../gateway/src/stores/sqlite/sqlite-store.ts";
import { createTaskDesk } from "../gateway/src/tasks/task-desk.ts";
import { createForwarder } from "../gateway/src/upstreams/forwarder.ts";
import { httpClient } from "../gateway/src/upstreams/http-client.ts";
import { protocols } from "../gateway/src/upstreams/protocols.ts";

if (process.env["VENDOR"] === "1") serveVendor();
else await measure();

/** Answers that every task is running, and keeps count of who was asked about when. */
function serveVendor(): void {
  const asked = new Map<string, number>();
  const atMs: number[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/book") return Response.json({ asked: [...asked.values()], atMs });
      const id = pathname.slice("/tasks/".length);
      asked.set(id, (asked.get(id) ?? 0) + 1);
      atMs.push(performance.now());
      return Response.json({ request_id: "r", output: { task_id: id, task_status: "RUNNING" } });
    },
  });
  process.stdout.write(`${server.port}\n`);
}

async function measure(): Promise<void> {
  const tasks = Number(process.env["TASKS"] ?? "10000");
  const pollQps = Number(process.env["POLL_QPS"] ?? "500");
  const seconds = Number(process.env["SECONDS"] ?? "60");
  const vendor = Bun.spawn([process.execPath, import.meta.path], {
    env: { ...process.env, VENDOR: "1" },
    stdout: "pipe",
  });
  const port = await firstLine(vendor.stdout);
  const folder = mkdtempSync(join(tmpdir(), "tollgate-bench-"));
  const store = openSqliteStore({ path: join(folder, "bench.db") });
  try {
    await openTasks(store, tasks);
    Bun.gc(true);
    const rssBefore = process.memoryUsage.rss();
    let rssMost = rssBefore;
    const upstream = {
      upstream: {
        name: "vendor",
        protocol: "dashscope",
        url: `http://127.0.0.1:${port}`,
        key: "a-key-of-the-vendor",
        keyHeader: "authorization",
        secrets: [],
        transport: "native",
        timeoutMs: undefined,
        quotaRpm: undefined,
        pollQps,
        weight: 1,
        onCallerLeft: "drain",
        sandbox: false,
      },
      tasksPath: "/tasks",
    } as const;
    const log = createLog({
      level: "error",
      nowMs: Date.now,
      write: (line) => void process.stderr.write(line),
    });
    const worker = startTaskWorker({
      desk: createTaskDesk({
        tasks: store.tasks,
        ledger: store.ledger,
        forwarder: createForwarder(httpClient, protocols),
        upstreamOf: () => upstream,
        clock: systemClock,
        random: Math.random,
        log,
        metrics: createMetrics(),
      }),
      upstreams: () => [upstream],
      log,
    });
    const cpuBefore = process.cpuUsage();
    const startedMs = performance.now();
    while (performance.now() - startedMs < seconds * 1000) {
      await Bun.sleep(100);
      rssMost = Math.max(rssMost, process.memoryUsage.rss());
    }
    const cpu = process.cpuUsage(cpuBefore);
    await worker.stop();
    const lastedSeconds = (performance.now() - startedMs) / 1000;
    const response = await fetch(`http://127.0.0.1:${port}/book`);
    const { asked, atMs } = (await response.json()) as { asked: number[]; atMs: number[] };
    const { findings } = await store.auditor.audit();
    const report = {
      tasks,
      poll_qps: pollQps,
      polls_per_second: Math.round((atMs.length / lastedSeconds) * 10) / 10,
      most_in_a_second: mostInASecond(atMs),
      tasks_asked_about: asked.length,
      fewest_polls_of_a_task: asked.length < tasks ? 0 : Math.min(...asked),
      most_polls_of_a_task: Math.max(...asked),
      cpu_ms_per_poll: Math.round((cpu.user + cpu.system) / 10 / Math.max(1, atMs.length)) / 100,
      rss_mb_before: Math.round(rssBefore / 1e6),
      rss_mb_growth: Math.round((rssMost - rssBefore) / 1e6),
      audit_findings: findings.length,
    };
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } finally {
    vendor.kill();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of stream) {
    text += new TextDecoder().decode(chunk);
    if (text.includes("\n")) break;
  }
  return text.trim();
}

/** Tasks that a vendor has, opened as calls open them. */
async function openTasks(store: ReturnType<typeof openSqliteStore>, count: number): Promise<void> {
  const nowMs = Date.now();
  const terms = createTerms("bench", undefined, { second_720p: 1_000_000n });
  await store.ledger.beginRun(nowMs);
  await store.ledger.recordPrices([{ operationId: "bench", model: undefined, terms }]);
  await store.accounts.create({
    id: "acc_bench",
    name: "bench",
    tier: "free",
    planMultiplierPpm: 1_000_000n,
    creditMicros: 1_000_000_000n,
    nowMs,
  });
  await store.keys.issue({
    id: "key_bench",
    accountId: "acc_bench",
    name: "bench",
    scope: "key",
    budget: undefined,
    expiresAtMs: undefined,
    secretHash: crypto.getRandomValues(new Uint8Array(32)),
    last4: "0000",
    nowMs,
  });
  const open = async (): Promise<void> => {
    const callId = Bun.randomUUIDv7();
    const taskId = crypto.randomUUID();
    await store.ledger.hold({
      callId,
      accountId: "acc_bench",
      keyId: "key_bench",
      operationId: "bench",
      model: undefined,
      amountMicros: 5n,
      terms,
      multiplierPpm: 1_000_000n,
      createdAtMs: nowMs,
      budget: undefined,
      idempotency: undefined,
      task: { id: taskId, expected: { second_720p: 5 }, deadlineAtMs: nowMs + 86_400_000, openMax: count },
    });
    await store.tasks.begin({
      taskId,
      upstream: "vendor",
      upstreamTaskId: `v-${taskId}`,
      state: "PENDING",
      attempts: [],
      askedAtMs: nowMs,
      nextPollAtMs: nowMs,
    });
  };
  for (let left = count; left > 0; left -= 500) {
    await Promise.all(Array.from({ length: Math.min(500, left) }, open));
  }
}

function mostInASecond(atMs: readonly number[]): number {
  let most = 0;
  let first = 0;
  for (const [at, endMs] of atMs.entries()) {
    while ((atMs[first] ?? 0) <= endMs - 1_000) first++;
    most = Math.max(most, at - first + 1);
  }
  return most;
}

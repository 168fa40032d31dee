import { expect, test } from "bun:test";
import { until } from "../../../test/support/until.ts";
import { StoreBusy } from "../ledger/store-errors.ts";
import { createLog } from "../platform/log.ts";
import { createStoreNews } from "./store-news.ts";

const lookEveryMs = 20;

test("a store that fails is told of once, with its reason, and once more when it works again", async () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "info",
    nowMs: () => 0,
    write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  let works = false;
  let looks = 0;
  const ping = async (): Promise<void> => {
    looks++;
    if (!works) throw new Error("still away");
  };
  const news = createStoreNews({ ping, monotonicMs: () => performance.now(), log, lookEveryMs });
  const cause = new Error("connection refused");
  for (let n = 0; n < 50; n++)
    news.failed("the ledger could not be written", new StoreBusy({ cause }), { request_id: "call" });
  news.failed("the ledger could not be written", new Error("a bug"));
  expect(lines).toMatchObject([
    {
      level: "error",
      error: expect.stringContaining("busy") as unknown,
      because: "Error: connection refused",
    },
    { level: "error", error: "Error: a bug" },
  ]);
  await until(() => looks >= 3);
  expect(lines).toHaveLength(2);
  works = true;
  await until(() => lines.length > 2);
  expect(lines.slice(2)).toMatchObject([{ level: "warn", event: "the store works again", failures: 51 }]);
  news.failed("the ledger could not be written", new StoreBusy({ cause }));
  expect(lines).toHaveLength(4);
});

test("a store was in trouble from its first failure until it was found to work again", async () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "info",
    nowMs: () => 0,
    write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  let nowMs = 1_000;
  const news = createStoreNews({ ping: async () => {}, monotonicMs: () => nowMs, log, lookEveryMs });
  news.failed("the ledger could not be written", new Error("away"));
  nowMs += 27_000;
  await until(() => lines.length > 1);
  expect(lines[1]).toMatchObject({ event: "the store works again", failures: 1, troubled_ms: 27_000 });
});

test("a store that fails for another reason each time fills neither the log nor the memory", () => {
  let lines = 0;
  const log = createLog({ level: "info", nowMs: () => 0, write: () => void lines++ });
  const news = createStoreNews({ ping: async () => {}, monotonicMs: () => 0, log, lookEveryMs: 60_000 });
  const failWith = (reason: string): void =>
    news.failed("the ledger could not be written", new Error(reason));
  for (let n = 0; n < 20; n++) failWith(`${n}`);
  const usedBytes = (): number => (Bun.gc(true), process.memoryUsage().heapUsed);
  const beforeBytes = usedBytes();
  for (let n = 0; n < 200; n++) failWith(`${n} ${"a reason ".repeat(50_000)}`);
  expect(usedBytes() - beforeBytes).toBeLessThan(20_000_000);
  expect(lines).toBe(20);
});

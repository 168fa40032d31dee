import { expect, test } from "bun:test";
import { cpuSecondsBetween, readCpu } from "./cpu.ts";

const reading = (tickSeconds: number, threads: Record<string, number>) => ({
  tickSeconds,
  threadSeconds: new Map(Object.entries(threads)),
});

test("what a process worked is found in its accounts", () => {
  const [before, own] = [readCpu(process.pid), process.cpuUsage()];
  for (const untilMs = performance.now() + 300; performance.now() < untilMs;);
  const used = cpuSecondsBetween(before, readCpu(process.pid));
  const { user, system } = process.cpuUsage(own);
  expect(Math.abs(used - (user + system) / 1e6)).toBeLessThan(0.05);
});

test("threads are counted finely while they live, and not forgotten when they end", () => {
  const before = reading(10, { "1/1": 5, "1/2": 5 });
  expect(cpuSecondsBetween(before, reading(10.01, { "1/1": 5.0123, "1/2": 5.0001 }))).toBeCloseTo(0.0124, 6);
  expect(cpuSecondsBetween(before, reading(11, { "1/1": 5.2, "1/3": 0.1 }))).toBe(1);
});

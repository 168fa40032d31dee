import { expect, test } from "bun:test";
import { systemClock } from "../platform/clock.ts";
import { createLog } from "../platform/log.ts";
import { drain } from "./drain.ts";

async function stopWith(callsInFlight: () => number): Promise<readonly Record<string, unknown>[]> {
  const lines: string[] = [];
  const log = createLog({ level: "info", nowMs: systemClock.wallMs, write: (line) => void lines.push(line) });
  await drain({ callsInFlight, closed: Promise.resolve(), clock: systemClock, log, patienceMs: 200 });
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

test("a stop that had to cut calls off says how many", async () => {
  expect(await stopWith(() => 3)).toMatchObject([
    {
      level: "warn",
      event: "running calls did not end in time and are cut off",
      calls_cut: 3,
      waited_ms: 200,
    },
  ]);
});

test("a stop waits for the last call and then has nothing to say", async () => {
  let calls = 2;
  const ending = setInterval(() => calls--, 40);
  expect(await stopWith(() => Math.max(0, calls))).toEqual([]);
  expect(calls).toBeLessThanOrEqual(0);
  clearInterval(ending);
});

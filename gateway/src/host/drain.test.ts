import { expect, test } from "bun:test";
import { systemClock } from "../platform/clock.ts";
import { createLog } from "../platform/log.ts";
import { drain } from "./drain.ts";

/** The calls end when no upstream is waited for any more, unless it is told that they do not. */
async function stopWith(
  running: () => number,
  answering: () => number = running,
  { callsEnd = true } = {},
): Promise<readonly Record<string, unknown>[]> {
  const lines: string[] = [];
  const log = createLog({ level: "info", nowMs: systemClock.wallMs, write: (line) => void lines.push(line) });
  let areCallsLeft = false;
  let areAnswersCut = false;
  await drain({
    callsInFlight: () => (areCallsLeft ? 0 : running()),
    openRequests: () => (areAnswersCut ? 0 : answering()),
    leaveUpstreams: () => void (areCallsLeft = callsEnd),
    cutAnswers: () => void (areAnswersCut = true),
    closed: Promise.resolve(),
    clock: systemClock,
    log,
    patienceMs: 200,
    bookingMs: 100,
  });
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

test("a stop waits for the last answer to leave, and says how many did not", async () => {
  let answers = 2;
  const leaving = setInterval(() => answers--, 40);
  const noCalls = (): number => 0;
  expect(await stopWith(noCalls, () => Math.max(0, answers))).toEqual([]);
  expect(answers).toBeLessThanOrEqual(0);
  clearInterval(leaving);

  expect(await stopWith(noCalls, () => 2)).toMatchObject([
    { level: "warn", event: "answers were not read in time and are cut off", answers_cut: 2, waited_ms: 200 },
  ]);
});

test("a stop says of how many calls it could not see the end", async () => {
  const said = await stopWith(
    () => 3,
    () => 0,
    { callsEnd: false },
  );
  expect(said).toMatchObject([
    { level: "warn", calls_cut: 3 },
    { level: "error", event: "calls could not be ended; the next start ends them", calls: 3 },
  ]);
});

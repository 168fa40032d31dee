import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";

interface Draining {
  readonly callsInFlight: () => number;
  /** Those whose answers have not left yet, too: a caller who reads slowly has paid for all of it. */
  readonly openRequests: () => number;
  /** Waits for no upstream any more, so that every call comes to its end. */
  readonly leaveUpstreams: () => void;
  /** Waits for no caller any more. */
  readonly cutAnswers: () => void;
  /** Resolves when the listener has no connection left. */
  readonly closed: Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  /** How long running calls may take to end, and their answers to leave. */
  readonly patienceMs?: number;
  /** How long the books may take to write down the ends of those that were cut off. */
  readonly bookingMs?: number;
}

/** docs/running.md says so, because whoever kills a process that does not stop must wait longer than this. */
export const patienceUsualMs = 30_000;
/** Ends are written within milliseconds; a store that takes longer may not come back, and the next start finds them. */
const bookingUsualMs = 4_000;
/** Whoever is told that its call was cut off hears it within this time, or not at all. */
const tellingMs = 500;
const lookEveryMs = 20;

/** Lets running calls end and be answered. Those that do not are cut off, and their vendors may bill them all the same. */
export async function drain(parts: Draining): Promise<void> {
  const { callsInFlight, openRequests, clock, patienceMs = patienceUsualMs } = parts;
  const isBusy = (): boolean => callsInFlight() > 0 || openRequests() > 0;
  await waitWhile(isBusy, patienceMs, clock);
  const cut = { calls_cut: callsInFlight(), answers_cut: openRequests(), waited_ms: patienceMs };
  if (cut.calls_cut > 0) parts.log.warn("running calls did not end in time and are cut off", cut);
  else if (cut.answers_cut > 0) parts.log.warn("answers were not read in time and are cut off", cut);
  if (isBusy()) await cutOff(parts);
  // Connections that idle on after their last call must not hold up the end.
  await Promise.race([parts.closed, Bun.sleep(200)]);
}

/** Calls that did not end are booked as they stand, so that no money stays held until the next start. */
async function cutOff(parts: Draining): Promise<void> {
  const { callsInFlight, openRequests, leaveUpstreams, clock, bookingMs = bookingUsualMs } = parts;
  const deadlineMs = clock.monotonicMs() + tellingMs;
  while ((callsInFlight() > 0 || openRequests() > 0) && clock.monotonicMs() < deadlineMs) {
    // Again and again: a stream may have been about to begin, with nobody yet who could be told that it ends.
    leaveUpstreams();
    await Bun.sleep(lookEveryMs);
  }
  // The end of a stream that has come whole may wait for a caller who does not read.
  parts.cutAnswers();
  await waitWhile(() => callsInFlight() > 0, bookingMs, clock);
  const calls = callsInFlight();
  if (calls > 0) parts.log.error("calls could not be ended; the next start ends them", { calls });
}

async function waitWhile(isSo: () => boolean, mostMs: number, clock: Clock): Promise<void> {
  const deadlineMs = clock.monotonicMs() + mostMs;
  while (isSo() && clock.monotonicMs() < deadlineMs) await Bun.sleep(lookEveryMs);
}

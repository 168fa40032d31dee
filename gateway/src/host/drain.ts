import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";

interface Draining {
  readonly callsInFlight: () => number;
  /** Those whose answers have not left yet, too: a caller who reads slowly has paid for all of it. */
  readonly openRequests: () => number;
  /** Resolves when the listener has no connection left. */
  readonly closed: Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  /** How long running calls may take to end, and their answers to leave. */
  readonly patienceMs?: number;
}

/** docs/running.md says so, because whoever kills a process that does not stop must wait longer than this. */
export const patienceUsualMs = 30_000;
const lookEveryMs = 20;

/** Lets running calls end and be answered. Those that do not are cut off, and their vendors may bill them all the same. */
export async function drain(parts: Draining): Promise<void> {
  const { callsInFlight, openRequests, clock, patienceMs = patienceUsualMs } = parts;
  const deadlineMs = clock.monotonicMs() + patienceMs;
  const isBusy = (): boolean => callsInFlight() > 0 || openRequests() > 0;
  while (isBusy() && clock.monotonicMs() < deadlineMs) await Bun.sleep(lookEveryMs);
  const cut = { calls_cut: callsInFlight(), answers_cut: openRequests(), waited_ms: patienceMs };
  if (cut.calls_cut > 0) parts.log.warn("running calls did not end in time and are cut off", cut);
  else if (cut.answers_cut > 0) parts.log.warn("answers were not read in time and are cut off", cut);
  // Connections that idle on after their last call must not hold up the end.
  await Promise.race([parts.closed, Bun.sleep(200)]);
}

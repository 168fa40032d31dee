import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";

interface Draining {
  readonly callsInFlight: () => number;
  /** Resolves when the listener has no connection left. */
  readonly closed: Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  /** How long running calls may take to end. */
  readonly patienceMs?: number;
}

/** docs/running.md says so, because whoever kills a process that does not stop must wait longer than this. */
export const patienceUsualMs = 30_000;
const lookEveryMs = 20;

/** Lets running calls end. Those that do not are cut off, and their vendors may bill them all the same. */
export async function drain(parts: Draining): Promise<void> {
  const { callsInFlight, clock, patienceMs = patienceUsualMs } = parts;
  const deadlineMs = clock.monotonicMs() + patienceMs;
  while (callsInFlight() > 0 && clock.monotonicMs() < deadlineMs) await Bun.sleep(lookEveryMs);
  const cut = callsInFlight();
  if (cut > 0) {
    parts.log.warn("running calls did not end in time and are cut off", {
      calls_cut: cut,
      waited_ms: patienceMs,
    });
  }
  // Connections that idle on after their last call must not hold up the end.
  await Promise.race([parts.closed, Bun.sleep(200)]);
}

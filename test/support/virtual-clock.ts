import type { Clock } from "../../gateway/src/platform/clock.ts";

/** A clock that stands until told. Both hands move together, unless somebody sets the wall clock. */
export interface VirtualClock extends Clock {
  readonly advance: (ms: number) => void;
  /** Somebody sets the wall clock, forward or back. */
  readonly stepWall: (ms: number) => void;
}

export function createVirtualClock(startWallMs = Date.UTC(2026, 5, 1, 12)): VirtualClock {
  let wallMs = startWallMs;
  let monotonicMs = 1_000_000;
  return {
    wallMs: () => wallMs,
    monotonicMs: () => monotonicMs,
    advance: (ms) => {
      wallMs += ms;
      monotonicMs += ms;
    },
    stepWall: (ms) => {
      wallMs += ms;
    },
  };
}

import { systemClock, type Clock } from "./clock.ts";

/** Notices when what is waited for does not come. */
export interface SilenceWatch {
  /** From now on something is waited for; says what time it is, for whoever needs to know that too. */
  readonly wait: () => number;
  /** It came. */
  readonly heard: () => void;
  /** Nothing will be waited for any more. */
  readonly end: () => void;
}

/**
 * Calls `onSilence` each time the wait has lasted for `limitMs`. A stream is waited for at every piece, and a timer
 * for each would cost more than the piece: so one timer looks now and then how long the wait has lasted.
 */
export function watchSilence(
  limitMs: number,
  onSilence: () => void,
  { monotonicMs }: Clock = systemClock,
): SilenceWatch {
  let waitsSinceMs: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let hasEnded = false;

  const look = (): void => {
    const nowMs = monotonicMs();
    const silent = waitsSinceMs !== undefined && nowMs - waitsSinceMs >= limitMs;
    if (silent) {
      waitsSinceMs = nowMs;
      onSilence();
    }
    if (hasEnded) return;
    const leftMs = waitsSinceMs === undefined ? limitMs : limitMs - (nowMs - waitsSinceMs);
    // Timers keep whole milliseconds, and one that is early by less must not look in vain.
    timer = setTimeout(look, Math.ceil(leftMs));
  };

  return {
    wait: () => {
      const nowMs = monotonicMs();
      waitsSinceMs = nowMs;
      if (!hasEnded) timer ??= setTimeout(look, limitMs);
      return nowMs;
    },
    heard: () => {
      waitsSinceMs = undefined;
    },
    end: () => {
      hasEnded = true;
      clearTimeout(timer);
    },
  };
}

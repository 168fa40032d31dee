import { expect } from "bun:test";

/** That four times as much takes about four times as long: what grows with the square takes sixteen times as long. */
export function expectInProportion(prepare: (size: number) => () => void, size: number): void {
  for (let tries = 1; ; tries++) {
    const allowedMs = 11 * leastMs(prepare(size)) + 50;
    const tookMs = leastMs(prepare(4 * size), allowedMs);
    // A machine that others use slows down one of the two now and then; the square of the size is there every time.
    if (tookMs >= allowedMs && tries < triesMax) continue;
    expect(tookMs).toBeLessThan(allowedMs);
    return;
  }
}

const triesMax = 3;

/** The least of some, or the first that is short enough: what others do on this machine only ever makes it longer. */
function leastMs(run: () => void, enoughMs = 0): number {
  let least = timed(run);
  for (let more = 2; more > 0 && least >= enoughMs; more--) least = Math.min(least, timed(run));
  return least;
}

function timed(run: () => void): number {
  const startedMs = performance.now();
  run();
  return performance.now() - startedMs;
}

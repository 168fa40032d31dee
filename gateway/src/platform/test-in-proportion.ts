import { expect } from "bun:test";

/** That four times as much takes about four times as long: what grows with the square takes sixteen times as long. */
export function expectInProportion(prepare: (size: number) => () => void, size: number): void {
  const once = leastMs(prepare(size));
  expect(leastMs(prepare(4 * size))).toBeLessThan(11 * once + 50);
}

/** The least of some: what others do on this machine only ever makes it longer. */
const leastMs = (run: () => void): number => Math.min(...[1, 2, 3].map(() => timed(run)));

function timed(run: () => void): number {
  const startedMs = performance.now();
  run();
  return performance.now() - startedMs;
}

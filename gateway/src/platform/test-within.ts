import { expect } from "bun:test";

/** A machine that others use stands still now and then; what is slow by itself is so every time. */
const triesMax = 3;

/** That it takes less than so long. What it came to is that of the last try. */
export async function expectWithin<Result>(
  limitMs: number,
  act: () => Result | Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    const startedMs = performance.now();
    const result = await act();
    const tookMs = performance.now() - startedMs;
    if (tookMs >= limitMs && tries < triesMax) continue;
    expect(tookMs).toBeLessThan(limitMs);
    return result;
  }
}

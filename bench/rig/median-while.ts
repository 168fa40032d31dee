import { median } from "./statistics.ts";

const lookEveryMs = 200;

/** What is seen for as long as the work goes on, for figures of which one look says little. */
export async function medianWhile(work: () => Promise<void>, look: () => number): Promise<number> {
  const seen = [look()];
  const looking = setInterval(() => seen.push(look()), lookEveryMs);
  try {
    await work();
  } finally {
    clearInterval(looking);
  }
  return median(seen);
}

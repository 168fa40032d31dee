// Tests that go by the wall clock wait for the moment they need, not for longer.

/** Waits until the running second is over; says which one has begun. */
export async function nextSecond(): Promise<number> {
  const next = Math.floor(Date.now() / 1_000) + 1;
  // A timer may wake a moment early.
  while (Date.now() < next * 1_000) await Bun.sleep(next * 1_000 - Date.now());
  return next;
}

const dayMs = 86_400_000;

/** For files whose tests take today's date twice: near midnight in UTC they begin on the next day. */
export async function awayFromMidnight(): Promise<void> {
  const leftMs = dayMs - (Date.now() % dayMs);
  if (leftMs < 60_000) await Bun.sleep(leftMs + 50);
}

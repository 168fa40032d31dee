/** Resolves when the program says there that all is well; one that has ended never will. */
export async function waitUntilServing(url: string, program: Bun.Subprocess): Promise<void> {
  for (let triesLeft = 2_000; triesLeft > 0; triesLeft--) {
    if (program.exitCode !== null) throw new Error(`It ended with ${program.exitCode} before it served.`);
    try {
      const { ok } = await fetch(url, { signal: AbortSignal.timeout(1_000) });
      if (ok) return;
    } catch {
      // Nobody listens yet.
    }
    await Bun.sleep(5);
  }
  throw new Error(`Nothing answers at ${url}.`);
}

/** A port nobody listens on at the moment, for programs that cannot choose one themselves. */
export async function freePort(): Promise<number> {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const { port } = server;
  await server.stop(true);
  if (port === undefined) throw new Error("The system gave no port.");
  return port;
}

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

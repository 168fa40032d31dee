import { waitUntilServing } from "./wait-until-serving.ts";
import { endingWithUs, tied } from "./leftovers.ts";

export interface BunProcess {
  readonly pid: number;
  readonly close: () => Promise<void>;
}

/** Bun allows 256 outgoing requests at once unless told before it starts; contestants get the same leave. */
const outgoingMax = "20000";

/** Runs a program with the Bun that runs this one, and waits until it serves. */
export async function openBunProcess(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  url: string,
): Promise<BunProcess> {
  const child = tied(
    Bun.spawn([...endingWithUs, process.execPath, ...words], {
      env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: outgoingMax, ...environment },
      stdout: "ignore",
      stderr: "inherit",
    }),
  );
  await waitUntilServing(url, child);
  return {
    pid: child.pid,
    close: async () => {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

// The sandbox as a program. Loopback only: it accepts a well-known key.

import { openListener } from "./listener.ts";
import { createSandbox } from "./sandbox.ts";
import { openShelfFile, type ShelfFile } from "./shelf-file.ts";

const {
  SANDBOX_PORT,
  SANDBOX_PUBLIC_URL,
  SANDBOX_KEY,
  SANDBOX_CONTROL_TOKEN,
  SANDBOX_EXIT_WITH_PARENT,
  SANDBOX_POLL_QPS,
  SANDBOX_FILE,
} = process.env;

const endsWithParent = SANDBOX_EXIT_WITH_PARENT === "1";

const listener = await openListener({ port: wholeNumber("SANDBOX_PORT", SANDBOX_PORT || "0", 65_535) });
const file = SANDBOX_FILE ? openUsable(SANDBOX_FILE) : undefined;
const sandbox = createSandbox({
  now: Date.now,
  publicUrl: (SANDBOX_PUBLIC_URL || `${listener.url}/public`).replace(/\/+$/, ""),
  secret: file?.secret ?? crypto.randomUUID(),
  key: SANDBOX_KEY || "sandbox",
  controlToken: SANDBOX_CONTROL_TOKEN || undefined,
  pollQps: SANDBOX_POLL_QPS ? wholeNumber("SANDBOX_POLL_QPS", SANDBOX_POLL_QPS, 1_000_000) : undefined,
  file,
});
listener.serve((request) => sandbox.fetch(request));

process.on("SIGTERM", () => process.exit(0));
// A terminal interrupts the parent and its children alike, but the parent's last calls may still need this program.
process.on("SIGINT", () => {
  if (!endsWithParent) process.exit(0);
});

// A killed parent cannot tell its children, but its end of the pipe closes all the same.
if (endsWithParent) process.stdin.on("end", () => process.exit(0)).resume();

console.log(JSON.stringify({ sandbox: listener.url }));

/** Stand-ins with a short memory serve better than none, and whoever started us may have real vendors besides. */
function openUsable(path: string): ShelfFile | undefined {
  try {
    return openShelfFile(path, Date.now());
  } catch (error) {
    console.error(
      `The sandbox forgets its work when it stops, because ${path} cannot be used: ${String(error)}. Without that file it begins anew.`,
    );
    return undefined;
  }
}

function wholeNumber(name: string, text: string, most: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= most) return number;
  console.error(`${name} must be a whole number up to ${most}, not ${JSON.stringify(text)}`);
  return process.exit(2);
}

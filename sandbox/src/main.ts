// The sandbox as a program. Loopback only: it accepts a well-known key.
import { openListener } from "./listener.ts";
import { createSandbox } from "./sandbox.ts";

const { SANDBOX_PORT, SANDBOX_PUBLIC_URL, SANDBOX_KEY, SANDBOX_CONTROL_TOKEN, SANDBOX_EXIT_WITH_PARENT } =
  process.env;

const listener = await openListener({ port: portOf(SANDBOX_PORT || "0") });
const sandbox = createSandbox({
  now: Date.now,
  publicUrl: (SANDBOX_PUBLIC_URL || `${listener.url}/public`).replace(/\/+$/, ""),
  secret: crypto.randomUUID(),
  key: SANDBOX_KEY || "sandbox",
  controlToken: SANDBOX_CONTROL_TOKEN || undefined,
});
listener.serve((request) => sandbox.fetch(request));

process.on("SIGTERM", () => process.exit(0));
process.on("SIGINT", () => process.exit(0));

// A killed parent cannot tell its children, but its end of the pipe closes all the same.
if (SANDBOX_EXIT_WITH_PARENT === "1") process.stdin.on("end", () => process.exit(0)).resume();

console.log(JSON.stringify({ sandbox: listener.url }));

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  console.error(`SANDBOX_PORT must be a port number, not ${JSON.stringify(text)}`);
  return process.exit(2);
}

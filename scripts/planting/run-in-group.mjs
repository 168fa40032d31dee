import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** The group of processes that runs now; whoever stops us stops them. */
let running;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  process.on(signal, () => {
    if (running !== undefined) endGroup(running);
    process.exit(1);
  });

/** Runs a program in a group of its own, so that nothing it started outlives it. */
export function runInGroup(program, args, { folder, env }) {
  const lines = [];
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: folder,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env,
    });
    for (const output of [child.stdout, child.stderr])
      createInterface({ input: output }).on("line", (line) => lines.push(line));
    running = child.pid;
    child.on("close", (code) => {
      endGroup(child.pid);
      running = undefined;
      resolve({ code, lines });
    });
  });
}

/** Tests that stop at the first failure leave behind the servers that they had started. */
function endGroup(pid) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody is left.
  }
}

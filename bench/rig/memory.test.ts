import { expect, test } from "bun:test";
import { residentMegabytes } from "./memory.ts";
import { processTree } from "./process-tree.ts";

const program = `const kept = Buffer.alloc(100e6, 1); console.log(kept.length); setInterval(() => kept, 1000)`;

test("what grandchildren keep counts", async () => {
  // A shell that has something left to do stays. It begins when it is told to, and not while it is still looked at alone.
  const child = Bun.spawn(["sh", "-c", `read begin; sh -c '"${process.execPath}" -e "${program}"; :'; :`], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  const alone = residentMegabytes(child.pid);
  await child.stdin.write("\n");
  await child.stdin.flush();
  await child.stdout.getReader().read();
  expect(residentMegabytes(child.pid) - alone).toBeGreaterThan(90);
  for (const pid of processTree(child.pid).keys()) process.kill(pid);
  await child.exited;
});

test("a process that has ended keeps nothing", () => {
  expect(residentMegabytes(999_999_999)).toBe(0);
});

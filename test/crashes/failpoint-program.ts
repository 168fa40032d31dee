// Starts failpoint-gateway.ts as a process of its own, on the data and the sandbox of a gateway that lends them.

import { join } from "node:path";
import type { Failpoint, StreamFailpoint, TaskFailpoint } from "./failpoints.ts";
import { projectFolder } from "../support/project-folder.ts";
import type { TestGateway } from "../support/test-gateway.ts";
import { endingWithUs } from "../services/private-server.ts";

export interface FailpointProgram {
  readonly url: string;
  readonly exited: Promise<number>;
  readonly kill: (signal?: NodeJS.Signals) => void;
}

export async function openFailpointProgram(
  home: TestGateway,
  failpoint: Failpoint | StreamFailpoint | TaskFailpoint | undefined,
  { aheadMs = 0 }: { readonly aheadMs?: number } = {},
): Promise<FailpointProgram> {
  const words = [process.execPath, join(projectFolder, "test/crashes/failpoint-gateway.ts")];
  const child = Bun.spawn([...endingWithUs("KILL"), ...words], {
    env: {
      PATH: process.env["PATH"],
      DATABASE: home.databasePath,
      SANDBOX: home.sandbox.url,
      FAILPOINT: failpoint ?? "",
      AHEAD_MS: String(aheadMs),
    },
    stdout: "pipe",
    stderr: "inherit",
  });
  let port = "";
  for await (const chunk of child.stdout) {
    port += new TextDecoder().decode(chunk);
    if (port.includes("\n")) break;
  }
  return {
    url: `http://127.0.0.1:${port.trim()}`,
    exited: child.exited,
    kill: (signal) => child.kill(signal),
  };
}

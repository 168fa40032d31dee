// Starts failpoint-gateway.ts as a process of its own, on the data and the sandbox of a gateway that lends them.

import { dirname, join } from "node:path";
import { systemClock } from "../../gateway/src/platform/clock.ts";
import type { Failpoint, StreamFailpoint, TaskFailpoint } from "./failpoints.ts";
import { programEnvironment } from "../support/program-environment.ts";
import { projectFolder } from "../support/project-folder.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";
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
      ...programEnvironment,
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

/** Who takes over when the last process was killed. Nobody kills this one, so it need not be a process. */
export const openSuccessor = (
  home: TestGateway,
  { aheadMs = 0 }: { readonly aheadMs?: number } = {},
): Promise<TestGateway> =>
  openTestGateway({
    folder: dirname(home.databasePath),
    clock: { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs },
    sandbox: home.sandbox,
  });

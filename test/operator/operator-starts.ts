// The program as its operator starts it, in a folder of one's own.

import { afterEach, beforeEach } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callerAt } from "../support/caller.ts";
import { openGatewayProcess, type GatewayProcess } from "../support/gateway-process.ts";
import { snapshotPath } from "../support/purchases.ts";
import { until } from "../support/until.ts";

type Meant = Omit<Parameters<typeof openGatewayProcess>[0], "dataFolder"> & { readonly dataFolder?: string };

export interface Starts {
  readonly folder: string;
  readonly start: (meant?: Meant) => Promise<GatewayProcess>;
  /** What a start that fails says. */
  readonly complaint: (environment: Record<string, string>) => Promise<string>;
  /** Ends whoever still runs, and removes the folder. */
  readonly close: () => Promise<void>;
}

export function openStarts(): Starts {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-operator-"));
  const running: GatewayProcess[] = [];

  const start: Starts["start"] = async (meant = {}) => {
    const started = await openGatewayProcess({ dataFolder: folder, ...meant });
    running.push(started);
    return started;
  };

  return {
    folder,
    start,
    complaint: (environment) =>
      start({ environment }).then(
        () => "it started",
        (error: unknown) => String(error),
      ),
    close: async () => {
      for (const started of running) {
        started.signal("SIGKILL");
        await started.exited;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** To be called once in a file of tests; each of them has a folder of its own. */
export function useStarts(): Omit<Starts, "close"> {
  let starts: Starts;
  beforeEach(() => {
    starts = openStarts();
  });
  afterEach(() => starts.close());
  return {
    get folder() {
      return starts.folder;
    },
    start: (meant) => starts.start(meant),
    complaint: (environment) => starts.complaint(environment),
  };
}

/** Stops it, and answers with its log up to the last word. */
export async function allToldBy(gateway: GatewayProcess): Promise<string> {
  // From then on it ends in good order when it is told to.
  await until(() => gateway.stderr().includes('"event":"serving"'));
  gateway.signal("SIGTERM");
  await until(() => gateway.stderr().includes('"event":"stopped"'));
  await gateway.exited;
  return gateway.stderr();
}

/** What a snapshot would cost by now, asked with the key of the greeting. */
export async function snapshotMicrosNow(gateway: GatewayProcess): Promise<number> {
  const headers = { "x-tollgate-cost-mode": "quote" };
  const response = await callerAt(gateway.url).call(gateway, snapshotPath, { headers });
  const quote = (await response.json()) as { max_cost_micros_usd: number };
  return quote.max_cost_micros_usd;
}

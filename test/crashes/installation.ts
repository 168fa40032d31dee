// A gateway as a program of its own in a data folder, whose books can be read whether it runs or not.

import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { openGatewayProcess, type GatewayProcess } from "../support/gateway-process.ts";
import { runTollgate, type Ran } from "../support/run-tollgate.ts";
import { openSandboxProgram, type SandboxControl } from "../support/sandbox.ts";

export interface Installation {
  readonly sandbox: SandboxControl;
  readonly dataFolder: string;
  readonly start: () => Promise<GatewayProcess>;
  /** The key of the first start's greeting. */
  readonly key: () => string;
  /** Runs the command line beside the server, or without one. */
  readonly tollgate: (...words: string[]) => Promise<Ran>;
  /** Reads the file as it is: rows of ended calls are there at once, sums when the journal is posted. */
  readonly read: <Row>(sql: string, ...values: string[]) => Row[];
  /** Posts the journal, as whoever asks for a balance does. */
  readonly post: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A data folder with limits that a load test does not meet, and vendors that outlive the gateway. */
export async function openInstallation(): Promise<Installation> {
  const sandbox = await openSandboxProgram();
  const dataFolder = mkdtempSync(join(tmpdir(), "tollgate-kills-"));
  const config = [
    `sandbox: ${sandbox.url}`,
    "signup_credit_usd: 1000000",
    "tiers: { free: { rpm: 100000000, tpm: 100000000000, concurrency: 100000 } }",
  ].join("\n");
  const running = new Set<GatewayProcess>();
  let key = "";

  return {
    sandbox,
    dataFolder,
    start: async () => {
      const gateway = await openGatewayProcess({ dataFolder, config, environment: { TOLLGATE_LOG: "warn" } });
      running.add(gateway);
      key ||= gateway.key;
      return gateway;
    },
    key: () => key,
    tollgate: (...words) =>
      runTollgate(words, { folder: dataFolder, environment: { TOLLGATE_DATA: dataFolder } }),
    read: <Row>(sql: string, ...values: string[]) => {
      const db = new Database(join(dataFolder, "tollgate.db"), { readonly: true });
      try {
        return db.query<Row, string[]>(sql).all(...values);
      } finally {
        db.close();
      }
    },
    post: async () => {
      const store = openSqliteStore({ path: join(dataFolder, "tollgate.db") });
      await store.accounts.list();
      await store.close();
    },
    close: async () => {
      for (const gateway of running) gateway.signal("SIGKILL");
      await Promise.all([...running].map((gateway) => gateway.exited));
      sandbox.stop();
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
}

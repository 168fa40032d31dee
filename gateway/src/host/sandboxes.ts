import { join } from "node:path";
import type { Config } from "../config/config.ts";
import type { Settings } from "../config/environment.ts";
import type { Environment } from "../config/variable.ts";
import type { Log } from "../platform/log.ts";
import { openSandboxProcess, type SandboxProcess } from "./sandbox-process.ts";

/** Which sandbox a configuration means: none, one that runs elsewhere, or our own. */
export interface Sandboxes {
  /** Starts our own when a configuration asks for it first; it then runs until the stop, whatever later ones say. */
  readonly urlFor: (config: Config) => Promise<string | undefined>;
  readonly stop: () => Promise<void>;
}

interface Parts {
  readonly settings: Settings;
  readonly environment: Environment;
  readonly projectFolder: string;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly log: Log;
}

export function createSandboxes(parts: Parts, publicUrl: string): Sandboxes {
  let running: SandboxProcess | undefined;
  return {
    urlFor: async (config) => {
      if (config.sandbox === "off") return undefined;
      if (config.sandbox !== "on") return config.sandbox.url;
      running ??= await openSandboxProcess({
        program: join(parts.projectFolder, "sandbox/src/main.ts"),
        publicUrl,
        controlToken: Buffer.from(parts.randomBytes(16)).toString("hex"),
        file: sandboxFile(parts.settings),
        environment: parts.environment,
        log: parts.log,
      });
      return running.url;
    },
    stop: async () => running?.stop(),
  };
}

/** Beside the books, where one server at a time may write; nodes of a Postgres need not have a place to write at all. */
const sandboxFile = ({ store }: Settings): string | undefined =>
  store.kind === "sqlite" ? `${store.path}.sandbox` : undefined;

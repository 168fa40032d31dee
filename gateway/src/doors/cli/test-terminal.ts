// A terminal for tests: runs commands as a person would and keeps what they printed.

import { randomBytes } from "node:crypto";
import { completeAddresses } from "../../config/addresses.ts";
import { createSecrets } from "../../keys/secrets.ts";
import type { CliParts } from "./cli-parts.ts";
import { runCommand } from "./run-command.ts";

interface Shown {
  readonly exitCode: number;
  readonly out: readonly string[];
  readonly errors: readonly string[];
}

export interface Terminal {
  readonly run: (...words: string[]) => Promise<Shown>;
  /** Runs with --json, expects success, and returns the one object printed. */
  readonly json: (...words: string[]) => Promise<Record<string, unknown>>;
  /** Moves both clocks. */
  readonly pass: (ms: number) => void;
  readonly nowMs: () => number;
}

export const testSecrets = createSecrets("a secret for tests");

const startMs = Date.UTC(2026, 2, 14, 12, 0, 0);

export function createTerminal(parts: Pick<CliParts, "openStore"> & Partial<CliParts>): Terminal {
  let passedMs = 0;
  const nowMs = (): number => startMs + passedMs;

  const run = async (...words: string[]): Promise<Shown> => {
    const out: string[] = [];
    const errors: string[] = [];
    const speech = {
      print: (line: string) => void out.push(line),
      printError: (line: string) => void errors.push(line),
    };
    const exitCode = await runCommand(words, speech, async () => ({
      openOrBeginStore: parts.openStore,
      hasData: async () => true,
      secrets: async () => testSecrets,
      clock: { wallMs: nowMs, monotonicMs: () => passedMs },
      platformClient: { redeem: unexpected, refresh: unexpected, revoke: unexpected, whoIs: unexpected },
      newId: () => Bun.randomUUIDv7(),
      randomBytes,
      backUp: unexpected,
      backUpInto: unexpected,
      restore: unexpected,
      moveBooks: unexpected,
      undoMove: unexpected,
      serve: unexpected,
      loadOffer: unexpected,
      findConfigFile: () => ({ path: "/etc/tollgate.yaml", isThere: true }),
      checkStart: () => {},
      dataName: "the data of tests",
      lookAtData: async () => undefined,
      checkRoom: () => {},
      explain: (error) => error,
      findFingerprint: () => testSecrets.fingerprint,
      secretPlace: () => "/data/secret",
      notesOnSettings: [],
      lookAtLimits: async () => "memory",
      addresses: () => completeAddresses("http://127.0.0.1:8787"),
      probe: unexpected,
      askListing: unexpected,
      version: () => "1.2.3",
      caller: () => ({ apiKey: undefined, baseUrl: "http://127.0.0.1:9" }),
      write: (text) => out.push(text) > 0,
      showProgress: () => {},
      ...parts,
      ...speech,
    }));
    return { exitCode, out, errors };
  };

  return {
    run,
    json: async (...words) => {
      const shown = await run(...words, "--json");
      if (shown.exitCode !== 0) throw new Error(`${words.join(" ")}: ${shown.errors.join("\n")}`);
      if (shown.out.length !== 1) throw new Error(`${words.join(" ")} printed ${shown.out.length} lines.`);
      return JSON.parse(shown.out[0] ?? "") as Record<string, unknown>;
    },
    pass: (ms) => {
      passedMs += ms;
    },
    nowMs,
  };
}

const unexpected = (): Promise<never> => Promise.reject(new Error("This command has no business here."));

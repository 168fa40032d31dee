// The command line on a file of books, for tests: each test has a file of its own, and whatever a command opens it closes.

import { afterEach, beforeEach, expect } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../store/store.ts";
import type { Credential } from "../../keys/keys.ts";
import type { HoldResult } from "../../ledger/ledger.ts";
import { unbound } from "../../ledger/test-unbound.ts";
import { createTerms } from "../../prices/terms.ts";
import { openSqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { createTerminal, testSecrets, type Terminal } from "./test-terminal.ts";

interface TestBooks {
  readonly terminal: Terminal;
  readonly path: () => string;
  /** How many times commands of this test opened the store. */
  readonly opened: () => number;
  readonly withBooks: <Result>(use: (store: Store) => Promise<Result>) => Promise<Result>;
  readonly findCredential: (key: string) => Promise<Credential | undefined>;
  readonly createAccount: (...words: string[]) => Promise<string>;
  readonly issueKey: (accountId: string, ...words: string[]) => Promise<{ keyId: string; key: string }>;
  readonly holdFor: (
    accountId: string,
    keyId: string,
    amountMicros: bigint,
    callId?: string,
  ) => Promise<HoldResult>;
}

const terms = createTerms("test.call", undefined, { call: 1_000_000_000n });

/** To be called once in a file of tests. */
export function useTestBooks(): TestBooks {
  let folder = "";
  let opened = 0;
  let closed = 0;
  let current: Terminal;
  const path = (): string => join(folder, "tollgate.db");

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "tollgate-cli-"));
    opened = 0;
    closed = 0;
    current = createTerminal({ openStore: async () => counted(openSqliteStore({ path: path() })) });
  });

  afterEach(() => {
    expect(closed).toBe(opened);
    rmSync(folder, { recursive: true, force: true });
  });

  /** The real store, which also tells whether commands close what they open. */
  const counted = (store: Store): Store => {
    opened++;
    return {
      ...store,
      close: async () => {
        closed++;
        await store.close();
      },
    };
  };

  const terminal: Terminal = {
    run: (...words) => current.run(...words),
    json: (...words) => current.json(...words),
    pass: (ms) => current.pass(ms),
    nowMs: () => current.nowMs(),
  };

  const withBooks: TestBooks["withBooks"] = async (use) => {
    const store = openSqliteStore({ path: path() });
    try {
      return await use(store);
    } finally {
      await store.close();
    }
  };

  return {
    terminal,
    path,
    opened: () => opened,
    withBooks,
    findCredential: (key) =>
      withBooks((store) => store.keys.findCredential(testSecrets.hashKey(key), terminal.nowMs())),
    createAccount: async (...words) =>
      String((await terminal.json("account", "create", "--name", "Ada", ...words))["account_id"]),
    issueKey: async (accountId, ...words) => {
      const issued = await terminal.json("key", "issue", "--account", accountId, ...words);
      return { keyId: String(issued["key_id"]), key: String(issued["key"]) };
    },
    holdFor: (accountId, keyId, amountMicros, callId = "call-1") =>
      withBooks(async (store) => {
        await store.ledger.recordPrices([{ operationId: "test.call", model: undefined, terms }]);
        await store.ledger.beginRun(terminal.nowMs());
        const key = await store.keys.find(keyId);
        return store.ledger.hold({
          callId,
          accountId,
          keyId,
          operationId: "test.call",
          model: undefined,
          amountMicros,
          terms,
          multiplierPpm: 1_000_000n,
          createdAtMs: terminal.nowMs(),
          ...unbound,
          budget: key?.budget,
        });
      }),
  };
}

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../store/store.ts";
import { unbound } from "../../ledger/test-unbound.ts";
import { createTerms } from "../../prices/terms.ts";
import { openSqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { createTerminal } from "./test-terminal.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-beside-"));
  path = join(folder, "tollgate.db");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const sources = join(import.meta.dir, "..", "..");

/** Runs one command in a process of its own, on the same data. */
async function inItsOwnProcess(...words: string[]): Promise<{ exitCode: number; errors: string }> {
  const script = `
    import { createTerminal } from ${JSON.stringify(join(import.meta.dir, "test-terminal.ts"))};
    import { openSqliteStore } from ${JSON.stringify(join(sources, "stores", "sqlite", "sqlite-store.ts"))};
    const terminal = createTerminal({ openStore: async () => openSqliteStore({ path: ${JSON.stringify(path)}, patienceMs: 20_000 }) });
    const shown = await terminal.run(...${JSON.stringify(words)});
    process.stderr.write(shown.errors.join("\\n"));
    process.exit(shown.exitCode);`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "ignore", stderr: "pipe" });
  const errors = await child.stderr.text();
  return { exitCode: await child.exited, errors };
}

const terminal = createTerminal({ openStore: async () => openSqliteStore({ path }) });

test("commands started at the same moment on a folder nobody used yet all succeed", async () => {
  const names = ["a", "b", "c", "d", "e", "f"];
  const ended = await Promise.all(names.map((name) => inItsOwnProcess("account", "create", "--name", name)));
  expect(ended).toEqual(names.map(() => ({ exitCode: 0, errors: "" })));
  expect((await terminal.json("account", "list"))["accounts"]).toHaveLength(names.length);
}, 20_000);

test("payments by other processes and calls of a running server add up to the micro", async () => {
  const account = await terminal.json("account", "create", "--name", "Ada", "--credit-usd", "1");
  const accountId = String(account["account_id"]);
  const keyId = String((await terminal.json("key", "issue", "--account", accountId))["key_id"]);
  const server = openSqliteStore({ path });
  await server.ledger.recordPrices([{ operationId: "test.call", model: undefined, terms }]);
  await server.ledger.beginRun(terminal.nowMs());

  let running = true;
  let calls = 0;
  const serving = (async () => {
    while (running) await oneCall(server, { callId: `call-${calls++}`, accountId, keyId });
  })();
  const payments = Array.from({ length: 5 }, () =>
    inItsOwnProcess("topup", "--account", accountId, "--usd", "2"),
  );
  const adjust = ["adjust", "--account", accountId, "--usd", "-0.5", "--reason", "test"];
  const reports = ["account", "upstream"].map((by) => inItsOwnProcess("account", "usage", "--by", by));
  const commands = [...payments, inItsOwnProcess(...adjust), inItsOwnProcess("audit"), ...reports];
  const ended = await Promise.all(commands);
  running = false;
  await serving;
  await server.close();

  expect(ended).toEqual(Array.from(commands, () => ({ exitCode: 0, errors: "" })));
  expect(await terminal.json("account", "show", accountId)).toMatchObject({
    balance_micros_usd: 10_500_000 - calls,
    held_micros_usd: 0,
    topped_up_micros_usd: 10_000_000,
    tier: "starter",
  });
  expect(await terminal.json("audit")).toMatchObject({ balanced: true, calls });
  for (const by of ["day", "account", "upstream"])
    expect((await terminal.json("account", "usage", "--by", by))["totals"]).toMatchObject({
      requests: calls,
      charged_micros_usd: calls,
    });
}, 20_000);

const terms = createTerms("test.call", undefined, { call: 1_000_000n });

async function oneCall(
  store: Store,
  { callId, accountId, keyId }: { callId: string; accountId: string; keyId: string },
): Promise<void> {
  const held = await store.ledger.hold({
    callId,
    accountId,
    keyId,
    operationId: "test.call",
    model: undefined,
    amountMicros: 1n,
    terms,
    multiplierPpm: 1_000_000n,
    createdAtMs: terminal.nowMs(),
    ...unbound,
  });
  expect(held).toEqual({ kind: "held" });
  await store.ledger.settle({
    callId,
    outcome: "succeeded",
    used: { call: 1 },
    usageSource: "provider",
    valuePico: 1_000_000n,
    httpStatus: 200,
    attempts: [],
    settledAtMs: terminal.nowMs(),
  });
}

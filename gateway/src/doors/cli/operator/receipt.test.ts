import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openScriptedGateway } from "../../../../../client/scripted-gateway.ts";
import { openSqliteStore } from "../../../stores/sqlite/sqlite-store.ts";
import { createBookkeeper } from "../test-bookkeeper.ts";
import { createTerminal, type Terminal } from "../test-terminal.ts";

let folder: string;
let terminal: Terminal;
let accountId: string;
let keyId: string;
const openStore = async () => openSqliteStore({ path: join(folder, "tollgate.db") });

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-cli-receipt-"));
  terminal = createTerminal({ openStore });
  const account = await terminal.json("account", "create", "--name", "Ada", "--credit-usd", "2");
  accountId = String(account["account_id"]);
  const issued = await terminal.json("key", "issue", "--account", accountId, "--name", "ci");
  keyId = String(issued["key_id"]);
  const books = createBookkeeper(openStore, terminal.nowMs);
  await books.call({ callId: "call-1", accountId, keyId, micros: 48_000n, model: "gpt-x" });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("without a key, beside the data, anybody's receipt is shown, and whose it is", async () => {
  const { exitCode, out } = await terminal.run("receipt", "call-1");
  expect(exitCode).toBe(0);
  const text = out.join("\n");
  expect(text).toMatch(new RegExp(`^account +${accountId} \\(Ada\\)$`, "m"));
  expect(text).toMatch(new RegExp(`^key +${keyId} \\(ci\\)$`, "m"));
  expect(text).toMatch(/^operation +test\.call \(gpt-x\)$/m);
  expect(text).toMatch(/^charged +0\.048 USD$/m);
  expect(text).toMatch(/^unit +quantity +list price +value\ncall +48000 +0\.000001 USD each +0\.048 USD$/m);
  expect(await terminal.json("receipt", "call-1")).toMatchObject({
    request_id: "call-1",
    account_id: accountId,
    account_name: "Ada",
    key_id: keyId,
    key_name: "ci",
    charged_micros_usd: 48_000,
    explanation: expect.stringContaining("charged 48000") as unknown,
  });
});

test("a client that made the call is named, and its name moves no terminal", async () => {
  const name = "Desk\n\u001B[2Jcharged  0 USD";
  const store = await openStore();
  await store.grants.create({
    id: "gr_desk",
    accountId,
    keyId,
    clientId: "desk",
    clientName: name,
    redirectHost: "desk.example",
    scopes: ["tools:read", "tools:spend"],
    spendPolicy: {
      perCallMicros: 100_000n,
      perDayMicros: 100_000n,
      expiresAtMs: terminal.nowMs() + 86_400_000,
    },
    createdAtMs: terminal.nowMs(),
  });
  await store.close();
  const grant = { id: "gr_desk", perDayMicros: 100_000n };
  const books = createBookkeeper(openStore, terminal.nowMs);
  await books.call({ callId: "call-3", accountId, keyId, micros: 48_000n, grant });
  const { out } = await terminal.run("receipt", "call-3");
  expect(out).toContain("client     gr_desk (Desk  [2Jcharged  0 USD)");
  expect(out.join("\n")).not.toContain("\u001B");
  expect(await terminal.json("receipt", "call-3")).toMatchObject({ client: { grant_id: "gr_desk", name } });

  expect((await terminal.run("receipt", "call-1")).out.join("\n")).not.toMatch(/^client/m);
  expect(await terminal.json("receipt", "call-1")).toMatchObject({ client: null });
});

test("a call that is not in the books is said so", async () => {
  const { exitCode, out, errors } = await terminal.run("receipt", "call-2");
  expect([exitCode, out]).toEqual([1, []]);
  expect(errors[0]).toStartWith("There is no call call-2 in the books.");
});

test("with a key, or without data, the gateway is asked, and the data stays closed", async () => {
  const closed = () => Promise.reject(new Error("The data was opened."));
  const gateway = await openScriptedGateway({ answers: [] });
  const { baseUrl } = gateway.transport;
  const apiKey = `tgk_${"a".repeat(36)}`;
  try {
    for (const [given, hasData, said] of [
      [apiKey, true, "no such request"],
      [undefined, false, "There is no data here. Put a key into the environment as TOLLGATE_KEY"],
      [
        "",
        false,
        "or, as the operator, run this where the server runs, or set TOLLGATE_DATA or TOLLGATE_STORE.",
      ],
    ] as const) {
      const elsewhere = createTerminal({
        openStore: closed,
        hasData: async () => hasData,
        caller: () => ({ apiKey: given, baseUrl }),
      });
      const { exitCode, errors } = await elsewhere.run("receipt", "call-1");
      expect(exitCode).toBe(1);
      expect(errors[0]).toContain(said);
    }
    expect(gateway.lookUps.map(({ path, headers }) => [path, headers["authorization"]])).toEqual([
      ["/v1/requests/call-1", `Bearer ${apiKey}`],
    ]);
  } finally {
    await gateway.close();
  }
});

test("the help says when it shows whose", async () => {
  const { out } = await terminal.run("receipt", "--help");
  expect(out.join("\n")).toContain("one of its account's with a key in TOLLGATE_KEY, any without");
});

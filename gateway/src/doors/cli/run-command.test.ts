import { describe, expect, test } from "bun:test";
import { StoreBusy } from "../../ledger/store-errors.ts";
import { useTestBooks } from "./test-books.ts";
import { createTerminal } from "./test-terminal.ts";

const { terminal, opened, createAccount, issueKey, holdFor } = useTestBooks();

describe("ids nobody has", () => {
  const unknownAccount = [
    ["account", "show", "acc_x"],
    ["account", "update", "acc_x", "--suspend"],
    ["topup", "--account", "acc_x", "--usd", "1"],
    ["adjust", "--account", "acc_x", "--usd", "-1", "--reason", "r"],
    ["key", "issue", "--account", "acc_x"],
    ["key", "list", "--account", "acc_x"],
    ["link", "list", "--account", "acc_x"],
    ["grant", "list", "--account", "acc_x"],
  ];
  const unknownKey = [
    ["key", "update", "key_x", "--name", "n"],
    ["key", "rotate", "key_x"],
    ["key", "revoke", "key_x"],
  ];
  const all = [
    ...unknownAccount.map((words) => ({ words, sentence: "There is no account acc_x." })),
    ...unknownKey.map((words) => ({ words, sentence: "There is no key key_x." })),
  ];
  test.each(all)("$words: one sentence on stderr, exit code 1", async ({ words, sentence }) => {
    expect(await terminal.run(...words)).toEqual({ exitCode: 1, out: [], errors: [sentence] });
    const shown = await terminal.run(...words, "--json");
    expect(shown).toMatchObject({ exitCode: 1, out: [] });
    expect(shown.errors.map((line): unknown => JSON.parse(line))).toEqual([{ error: sentence }]);
  });

  test("a secret given where an id belongs is not repeated", async () => {
    const { key } = await issueKey(await createAccount());
    for (const words of [
      ["key", "revoke", key],
      ["key", "rotate", key],
      ["account", "show", key],
      ["key", "list", key],
      [key],
      ["key", key],
      [`--${key}`],
      ["key", "list", `--${key}`],
      ["key", "revoke", "a", key],
      ["key", "issue", "--account", key],
      ["help", key],
    ]) {
      for (const flags of [[], ["--json"]]) {
        const shown = await terminal.run(...words, ...flags);
        expect(shown.exitCode).toBeGreaterThan(0);
        expect(shown.errors).toHaveLength(1);
        expect([...shown.out, ...shown.errors].join("\n")).not.toContain(key);
      }
    }
  });
});

describe("wrong usage", () => {
  test.each([
    [[], 'No command is given; "tollgate help" lists them.'],
    [["--json"], 'No command is given; "tollgate help" lists them.'],
    [["fly"], 'There is no command "fly"; "tollgate help" lists them.'],
    [["account"], '"tollgate account" is followed by one of: create, list, show, update, ledger, usage.'],
    [
      ["account", "close", "acc_x"],
      '"tollgate account" is followed by one of: create, list, show, update, ledger, usage.',
    ],
    [["account", "create"], "--name N is missing."],
    [["account", "create", "--name"], "--name needs a value: --name N."],
    [["account", "create", "--name="], "--name needs a value: --name N."],
    [["account", "create", "--name", "--tier", "free"], "--name needs a value: --name N."],
    [["account", "create", "--name", "a", "--name", "b"], "--name is given twice."],
    [["account", "create", "--name", "a", "--name=b"], "--name is given twice."],
    [
      ["account", "create", "--nam", "a"],
      'Unknown flag --nam; "tollgate account create" takes --name, --tier, --credit-usd, --plan-multiplier, --json.',
    ],
    [["version", "--toString", "b"], 'Unknown flag --toString; "tollgate version" takes --json.'],
    [["version", "--"], 'Unknown flag --; "tollgate version" takes --json.'],
    [["account", "create", "--name", "a", "extra"], 'Unexpected word "extra".'],
    [["account", "create", "--name", "a", "--json", "--json"], "--json is given twice."],
    [["account", "create", "--name", "a", "--json=yes"], "--json takes no value."],
    [
      ["account", "create", "--name", "a", "--tier", "gold"],
      "--tier takes one of free, starter, growth, enterprise.",
    ],
    [["account", "create", "--name", "a", "--credit-usd", "-1"], "--credit-usd must not be negative."],
    [
      ["account", "create", "--name", "a", "--plan-multiplier", "-1"],
      "--plan-multiplier takes a number from 0 to 100 with at most 6 decimals, like 0.9.",
    ],
    [["account", "show"], "ID is missing."],
    [["account", "show", "a", "b"], 'Unexpected word "b".'],
    [["account", "usage", "a", "b"], 'Unexpected word "b".'],
    [["account", "usage", ""], "ACCOUNT_ID is missing."],
    [
      ["account", "update", "a"],
      "Nothing to change: give --name, --tier, --plan-multiplier, --rpm, --tpm, --concurrency, " +
        "--no-granted-limits, --suspend or --resume.",
    ],
    [["account", "update", "a", "--rpm", "0"], "--rpm takes a whole number from 1."],
    [["account", "update", "a", "--rpm", "10000000000"], "--rpm takes at most 9999999999."],
    [
      ["account", "update", "a", "--tpm", "5", "--no-granted-limits"],
      "--no-granted-limits excludes --rpm, --tpm and --concurrency.",
    ],
    [["account", "update", "a", "--suspend", "--resume"], "--suspend and --resume exclude each other."],
    [["account", "update", "a", "--suspend=yes"], "--suspend takes no value."],
    [["topup", "--usd", "1"], "--account ID is missing."],
    [["topup", "--account", "a", "--usd", "1000000.000001"], "--usd is limited to 1000000 USD at a time."],
    [["topup", "--account", "a", "--usd", "9999999999999999"], "--usd is limited to 1000000 USD at a time."],
    [
      ["topup", "--account", "a", "--usd", "1.0000001"],
      "--usd takes USD with at most 6 decimals, like 12.50.",
    ],
    [["topup", "--account", "a", "--usd", "1e3"], "--usd takes USD with at most 6 decimals, like 12.50."],
    [["adjust", "--account", "a", "--usd", "1"], "--reason R is missing."],
    [["key", "update", "k", "--budget-usd", "1"], "A budget needs both --budget-usd and --budget-window."],
    [
      ["key", "update", "k", "--budget-usd", "1", "--budget-window", "day", "--no-budget"],
      "--budget-usd and --no-budget exclude each other.",
    ],
    [
      ["key", "update", "k", "--expires", "2030-01-01", "--no-expiry"],
      "--expires and --no-expiry exclude each other.",
    ],
    [["backup"], "FILE is missing."],
    [["backup", "folder", "--keep", "0"], "--keep takes a whole number from 1."],
    [["serve", "--port", "1"], 'Unknown flag --port; "tollgate serve" takes --allow-sandbox-public, --json.'],
  ])("%j", async (words, sentence) => {
    const shown = await terminal.run(...words);
    expect(shown).toMatchObject({ exitCode: 2, out: [] });
    const asJson = words.some((word) => word === "--json");
    expect(shown.errors).toEqual([asJson ? JSON.stringify({ error: sentence }) : sentence]);
    expect(opened()).toBe(0);
  });

  test("a store that cannot be opened is one sentence and exit code 1", async () => {
    const broken = createTerminal({
      openStore: () => Promise.reject(new Error("The data folder is locked.")),
    });
    expect(await broken.run("account", "list")).toEqual({
      exitCode: 1,
      out: [],
      errors: ["The data folder is locked."],
    });
  });
});

describe("help", () => {
  test("lists every command in a line for people, with its flags for programs", async () => {
    const { commands } = (await terminal.json("help")) as { commands: { usage: string; summary: string }[] };
    expect(commands.map(({ usage }) => usage)).toEqual([
      "tollgate serve [--allow-sandbox-public]",
      "tollgate doctor [--ask] [--allow-sandbox-public]",
      "tollgate contract [--out FILE] [--account] [--client] [--from ADDRESS]",
      "tollgate version",
      "tollgate call OPERATION_ID [--arg NAME=TEXT …] [--json-arg NAME=JSON …] [--max-price-usd X] [--idempotency-key K] [--stream]",
      "tollgate quote OPERATION_ID [--arg NAME=TEXT …] [--json-arg NAME=JSON …]",
      "tollgate usage [--days N]",
      "tollgate receipt REQUEST_ID",
      "tollgate watch TASK_ID [--timeout-seconds N]",
      "tollgate account create --name N [--tier T] [--credit-usd X] [--plan-multiplier M]",
      "tollgate account list",
      "tollgate account show ID",
      "tollgate account update ID [--name N] [--tier T] [--plan-multiplier M] [--rpm N] [--tpm N] [--concurrency N] [--no-granted-limits] [--suspend] [--resume]",
      "tollgate account ledger ACCOUNT_ID [--limit N] [--before ID|TIME]",
      "tollgate account usage [ACCOUNT_ID] [--from DATE] [--to DATE] [--by day|account|key|model|operation|upstream]",
      "tollgate topup --account ID --usd X [--reference R]",
      "tollgate adjust --account ID --usd ±X --reason R",
      "tollgate key issue --account ID [--name N] [--scope key|account] [--budget-usd X] [--budget-window day|month|total] [--models NAMES] [--operations NAMES] [--expires DATE]",
      "tollgate key list [--account ID]",
      "tollgate key update KEY_ID [--name N] [--scope key|account] [--budget-usd X] [--budget-window day|month|total] [--no-budget] [--models NAMES] [--operations NAMES] [--all-models] [--all-operations] [--expires DATE] [--no-expiry]",
      "tollgate key rotate KEY_ID [--grace 24h]",
      "tollgate key revoke KEY_ID",
      "tollgate quota list [--state S]",
      "tollgate quota approve ID [--tier T] [--rpm N] [--tpm N] [--concurrency N]",
      "tollgate quota deny ID",
      "tollgate link list [--account ID] [--key KEY_ID]",
      "tollgate link revoke LINK_ID",
      "tollgate grant list [--account ID]",
      "tollgate grant revoke GRANT_ID",
      "tollgate audit",
      "tollgate backup FILE [--keep N]",
      "tollgate restore FILE [--over-moved-books]",
      "tollgate move [--from FILE] [--undo]",
    ]);
    const shown = await terminal.run("help");
    expect(shown).toMatchObject({ exitCode: 0, errors: [] });
    // People get a line for each, under what it is about; what it takes is told by its own help.
    const lines = shown.out.filter((line) => line.startsWith("  "));
    expect(lines.map((line) => line.slice(line.lastIndexOf("  ") + 2))).toEqual(
      commands.map(({ summary }) => summary),
    );
    expect(lines[4]).toMatch(/^ {2}call OPERATION_ID {2,}makes a call/);
    expect(shown.out.join("\n")).not.toContain("[--");
    expect(shown.out.at(-1)).toContain("--help");
    expect(await terminal.run("--help")).toEqual(shown);
  });

  test("--help explains one command or one family, and runs nothing", async () => {
    const issue = await terminal.run("key", "issue", "--account", "--help");
    expect(issue).toMatchObject({ exitCode: 0, errors: [] });
    expect(issue.out[0]).toStartWith("tollgate key issue --account ID");
    expect(issue.out.join("\n")).toContain("--budget-usd X");
    expect((await terminal.run("help", "key", "issue")).out).toEqual([...issue.out]);
    const family = await terminal.json("key", "--help");
    expect(family["commands"]).toHaveLength(5);
    expect((await terminal.run("key", "--help")).out.join("\n")).toContain(
      "tollgate key rotate KEY_ID [--grace 24h]",
    );
    expect((await terminal.run("revoke", "--help")).exitCode).toBe(2);
    expect(opened()).toBe(0);
  });
});

test("the version and help are told to whoever asks in the usual words", async () => {
  for (const words of [["version"], ["--version"]]) {
    expect(await terminal.run(...words)).toEqual({ exitCode: 0, out: ["tollgate 1.2.3"], errors: [] });
    expect(await terminal.json(...words)).toEqual({ version: "1.2.3" });
  }
  for (const words of [[], ["key"], ["key", "issue"], ["key", "issue", "--account", "a"]]) {
    const asked = await terminal.run(...words, "-h");
    expect(asked).toEqual(await terminal.run(...words, "--help"));
    expect(asked.exitCode).toBe(0);
  }
  expect(opened()).toBe(0);
});

describe("audit", () => {
  test("says what was checked and that it balances", async () => {
    const accountId = await createAccount("--credit-usd", "3");
    await terminal.json("topup", "--account", accountId, "--usd", "4");
    const { keyId } = await issueKey(accountId);
    await holdFor(accountId, keyId, 1_000n);
    expect(await terminal.run("audit")).toEqual({
      exitCode: 0,
      out: ["Checked every account (1), call (1) and entry (4).", "The books balance."],
      errors: [],
    });
    expect(await terminal.json("audit")).toEqual({
      balanced: true,
      accounts: 1,
      calls: 1,
      entries: 4,
      findings: [],
      truncated: false,
    });
  });
});

describe("serve, backup and restore", () => {
  test("serve hands its flag on and its exit code back", async () => {
    const served: boolean[] = [];
    const serving = createTerminal({
      openStore: () => Promise.reject(new Error("serve opens its own store")),
      serve: async ({ allowSandboxPublic }) => {
        served.push(allowSandboxPublic);
        return allowSandboxPublic ? 0 : 7;
      },
    });
    expect(await serving.run("serve")).toEqual({ exitCode: 7, out: [], errors: [] });
    expect(await serving.run("serve", "--allow-sandbox-public", "--json")).toEqual({
      exitCode: 0,
      out: [],
      errors: [],
    });
    expect(served).toEqual([false, true]);
  });

  test("serve greets while it goes on, people in words and programs with one object", async () => {
    const serving = createTerminal({
      openStore: () => Promise.reject(new Error("serve opens its own store")),
      serve: async (_, greet) => {
        greet("It is open.\nHave a look.", { address: "http://127.0.0.1:8787" });
        return 0;
      },
    });
    expect((await serving.run("serve")).out).toEqual(["It is open.\nHave a look."]);
    expect((await serving.run("serve", "--json")).out).toEqual(['{"address":"http://127.0.0.1:8787"}']);
  });

  test("backup and restore name the file, and pass on why it cannot be done", async () => {
    const files: string[] = [];
    const take = async (file: string): Promise<undefined> => {
      if (file === "bad") throw new Error("A server is running on this data; stop it first.");
      files.push(file);
    };
    const copying = createTerminal({
      openStore: () => Promise.reject(new Error("no")),
      backUp: take,
      restore: take,
    });
    const secret = "Without the secret in /data/secret no key of it would work: keep a copy of that, too.";
    expect((await copying.run("backup", "a.db")).out).toEqual(["The data is backed up in a.db.", secret]);
    expect(await copying.json("backup", "b.db")).toEqual({ file: "b.db" });
    const rotating = createTerminal({
      openStore: () => Promise.reject(new Error("no")),
      backUpInto: async (place, keep) => ({ file: `${place}/new.db`, deleted: keep === 7 ? ["old.db"] : [] }),
    });
    expect((await rotating.run("backup", "safe", "--keep", "7")).out).toEqual([
      "The data is backed up in safe/new.db.",
      secret,
      "old.db was older than those to keep, and is deleted.",
    ]);
    expect(await rotating.json("backup", "safe", "--keep", "8")).toEqual({
      file: "safe/new.db",
      deleted: [],
    });
    expect((await copying.run("restore", "c.db")).out).toEqual(["The data is what c.db holds."]);
    expect(await copying.json("restore", "d.db")).toEqual({
      file: "d.db",
      kept: null,
      lacks_secret: false,
    });
    expect(files).toEqual(["a.db", "b.db", "c.db", "d.db"]);
    const replacing = createTerminal({
      openStore: () => Promise.reject(new Error("no")),
      restore: async () => "data/tollgate.db.before-restore-1",
    });
    expect((await replacing.run("restore", "e.db")).out).toEqual([
      "The data is what e.db holds.",
      "What was there before is kept as data/tollgate.db.before-restore-1; delete it when nobody misses it.",
    ]);
    const told: boolean[] = [];
    const overMoved = createTerminal({
      openStore: () => Promise.reject(new Error("no")),
      restore: async (_file, options) => void told.push(options.overMoved),
    });
    await overMoved.run("restore", "f.db");
    await overMoved.run("restore", "f.db", "--over-moved-books");
    expect(told).toEqual([false, true]);
    for (const command of ["backup", "restore"]) {
      expect(await copying.run(command, "bad")).toEqual({
        exitCode: 1,
        out: [],
        errors: ["A server is running on this data; stop it first."],
      });
    }
  });
});

test("a store that could not be used is told with the reason", async () => {
  const cause = new Error("The server takes no writes.");
  const refused = createTerminal({ openStore: () => Promise.reject(new StoreBusy({ cause })) });
  const { exitCode, errors } = await refused.run("topup", "--account", "acc_x", "--usd", "1");
  expect([exitCode, errors]).toEqual([
    1,
    ["The store was busy for too long. The reason: The server takes no writes."],
  ]);
});

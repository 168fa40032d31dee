import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "../../../../config/load-config.ts";
import { createOffer } from "../../../../offer/create-offer.ts";
import { loadCatalogue } from "../../../../operation/catalogue.ts";
import { openSqliteStore } from "../../../../stores/sqlite/sqlite-store.ts";
import { createTerminal, testSecrets, type Terminal } from "../../test-terminal.ts";

const catalogue = await loadCatalogue([join(import.meta.dir, "../../../../../../catalogue")]);
const config = parseConfig("", "test", {});

let folder: string;
let path: string;
let terminal: Terminal;
let accountId: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-allowed-"));
  path = join(folder, "tollgate.db");
  terminal = open(async () => ({ config, offer: createOffer(catalogue, config, "http://sandbox.invalid") }));
  accountId = String((await terminal.json("account", "create", "--name", "Ada"))["account_id"]);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (loadOffer: Parameters<typeof createTerminal>[0]["loadOffer"]): Terminal =>
  createTerminal({ openStore: async () => openSqliteStore({ path }), ...(loadOffer ? { loadOffer } : {}) });

const issue = (...words: string[]) => terminal.run("key", "issue", "--account", accountId, ...words);

async function allowedBy(key: string): Promise<unknown[]> {
  const store = openSqliteStore({ path });
  try {
    const found = await store.keys.findCredential(testSecrets.hashKey(key), terminal.nowMs());
    return [found?.allowedModels?.patterns, found?.allowedOperations?.patterns];
  } finally {
    await store.close();
  }
}

describe("what a key may call", () => {
  test("is set when it is issued, shown with it and in the list, and kept when it is rotated", async () => {
    const words = ["--models", "gpt-4o, claude-*,gpt-4o", "--operations", "chat.*,rerank.create"];
    const issued = await terminal.json("key", "issue", "--account", accountId, ...words);
    const rule = {
      allowed_models: ["gpt-4o", "claude-*"],
      allowed_operations: ["chat.*", "rerank.create"],
    };
    expect(issued).toMatchObject(rule);
    expect((await terminal.json("key", "list"))["keys"]).toMatchObject([rule]);
    const [, row = ""] = (await terminal.run("key", "list")).out;
    expect(row).toContain("gpt-4o, claude-*");
    expect(row).toContain("chat.*, rerank.create");
    const rotated = await terminal.json("key", "rotate", String(issued["key_id"]));
    expect(rotated).toMatchObject(rule);
    for (const key of [issued["key"], rotated["key"]]) {
      expect(await allowedBy(String(key))).toEqual([rule.allowed_models, rule.allowed_operations]);
    }
  });

  test("is everything unless said otherwise, and a long list is short in a table", async () => {
    const { out } = await issue();
    expect(out.join("\n")).toMatch(/models +all\noperations +all\n/);
    await issue("--models", "gpt-4o,gpt-4o-mini,o3,claude-*,gemini-*");
    const { out: list } = await terminal.run("key", "list");
    expect(list.join("\n")).toContain("gpt-4o, gpt-4o-mini, o3 and 2 more");
  });

  test("is changed by name and lifted, each by itself", async () => {
    const issued = await terminal.json("key", "issue", "--account", accountId, "--models", "gpt-4o");
    const keyId = String(issued["key_id"]);
    const update = (...words: string[]) => terminal.json("key", "update", keyId, ...words);
    expect(await update("--operations", "chat.*")).toMatchObject({
      allowed_models: ["gpt-4o"],
      allowed_operations: ["chat.*"],
    });
    expect(await update("--all-models")).toMatchObject({
      allowed_models: null,
      allowed_operations: ["chat.*"],
    });
    expect(await update("--name", "CI", "--models", "o3")).toMatchObject({
      allowed_models: ["o3"],
      allowed_operations: ["chat.*"],
    });
    expect(await update("--all-models", "--all-operations")).toMatchObject({
      allowed_models: null,
      allowed_operations: null,
    });
    for (const of of ["models", "operations"]) {
      const refused = await terminal.run("key", "update", keyId, `--${of}`, "x", `--all-${of}`);
      expect(refused.exitCode).toBe(2);
      expect(refused.errors.join("\n")).toContain(`--${of} and --all-${of} exclude each other.`);
    }
  });

  test("may name what is not on offer yet: that is told, and done all the same", async () => {
    const { exitCode, out, errors } = await issue(
      "--models",
      "gpt-4o,gpt-99,nobody-*",
      "--operations",
      "chat.*,chat.create,usage.get",
    );
    expect(exitCode).toBe(0);
    expect(errors).toEqual([
      "No model on offer now is called gpt-99.",
      "No model on offer now is called nobody-*.",
      "No operation of a vendor that is on offer now is called chat.create.",
      "No operation of a vendor that is on offer now is called usage.get.",
    ]);
    expect(await allowedBy(out.at(-1) ?? "")).toEqual([
      ["gpt-4o", "gpt-99", "nobody-*"],
      ["chat.*", "chat.create", "usage.get"],
    ]);
    expect((await issue("--models", "gpt-4o", "--operations", "*")).errors).toEqual([]);
  });

  test("can be set also while the configuration cannot be used", async () => {
    terminal = open(() => Promise.reject(new Error("broken")));
    const { exitCode, errors } = await issue("--models", "gpt-4o");
    expect(exitCode).toBe(0);
    expect(errors.join("\n")).toContain("these names were not checked");
    expect((await issue("--name", "CI")).errors).toEqual([]);
  });

  test.each([
    ["nothing", " "],
    ["a gap", "gpt-4o,,o3"],
    ["a star within", "gpt-*-mini"],
    ["two stars", "gpt-**"],
    ["a blank", "gpt 4o"],
    ["a control character", "gpt\u00074o"],
    ["201 characters", "x".repeat(201)],
    ["65 names", Array.from({ length: 65 }, (_, at) => `m${at}`).join(",")],
  ])("takes no %s", async (_what, written) => {
    for (const flag of ["--models", "--operations"]) {
      const { exitCode, errors } = await issue(`${flag}=${written}`);
      expect(exitCode).toBe(2);
      expect(errors.join("\n")).toContain(`${flag} takes 1 to 64 names`);
    }
    expect((await terminal.json("key", "list"))["keys"]).toEqual([]);
  });

  test("takes 64 names of 200 characters", async () => {
    const names = Array.from({ length: 64 }, (_, at) => `${at}`.padEnd(199, "x") + "*");
    const { out } = await issue("--models", names.join(","));
    expect((await allowedBy(out.at(-1) ?? ""))[0]).toEqual(names);
  });
});

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { operations } from "../../../../../../client/src/operations.ts";
import { parseConfig } from "../../../../config/load-config.ts";
import { operationsOf } from "../../../../contract/contract-document.ts";
import { sha256 } from "../../../../contract/create-contract.ts";
import { createOffer } from "../../../../offer/create-offer.ts";
import { loadCatalogue } from "../../../../operation/catalogue.ts";
import type { JsonObject } from "../../../../platform/json.ts";
import { factsIn } from "../../caller/contract-facts.ts";
import { createTerminal } from "../../test-terminal.ts";

const folder = mkdtempSync(join(tmpdir(), "tollgate-contract-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const catalogue = await loadCatalogue([join(import.meta.dir, "../../../../../../catalogue")]);
const config = parseConfig("", "test", {});
const terminal = createTerminal({
  openStore: () => Promise.reject(new Error("A contract needs no store.")),
  loadOffer: async () => ({ config, offer: createOffer(catalogue, config, "http://sandbox.invalid") }),
});

test("the contract is printed, or written where it is wanted, with its hash", async () => {
  const printed = await terminal.run("contract");
  const file = join(folder, "openapi.json");
  const { contentHash } = await terminal.json("contract", "--out", file);
  expect(contentHash).toBe(sha256(readFileSync(file)));
  expect(`${printed.out.join("\n")}\n`).toBe(readFileSync(file, "utf8"));
  expect(JSON.parse(printed.out.join("\n"))).toMatchObject({
    openapi: "3.1.0",
    servers: [{ url: "http://127.0.0.1:8787" }],
  });
});

test("the account part is written as OpenAPI 3.0.3", async () => {
  const printed = await terminal.run("contract", "--account");
  expect(JSON.parse(printed.out.join("\n"))).toMatchObject({ openapi: "3.0.3", info: { version: "1.0.0" } });
});

test("the contract says of every operation that ships what the client's own table knows of it", async () => {
  const printed = await terminal.run("contract");
  const document = JSON.parse(printed.out.join("\n")) as JsonObject;
  const told = operationsOf(document).map((one) => [one.id, factsIn(document, one)]);
  const bound = Object.entries(operations).map(([id, facts]) => [
    id,
    { ...facts, path: facts.path.replaceAll(/\{(social_[abc]|reseller|traffic_analytics)\}/g, "$1") },
  ]);
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(bound));
});

test("the account part has no other form, and no other place", async () => {
  for (const words of [["--client"], ["--from", "http://127.0.0.1:9"]]) {
    const shown = await terminal.run("contract", "--account", ...words);
    expect([shown.exitCode, shown.out]).toEqual([2, []]);
  }
});

test("a file that cannot be written is said, not thrown", async () => {
  const shown = await terminal.run("contract", "--out", join(folder, "no", "such", "folder.json"));
  expect([shown.exitCode, shown.out]).toEqual([1, []]);
  expect(shown.errors.join("")).toContain("ENOENT");
});

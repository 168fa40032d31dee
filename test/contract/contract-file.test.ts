import { afterAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programEnvironment } from "../support/program-environment.ts";
import { projectFolder } from "../support/project-folder.ts";

const folder = mkdtempSync(join(tmpdir(), "tollgate-contract-file-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (...words: string[]): { exitCode: number; said: string } => {
  const { exitCode, stdout, stderr } = Bun.spawnSync(
    [process.execPath, join(projectFolder, "scripts/write-contract.ts"), ...words],
    { env: programEnvironment },
  );
  return { exitCode, said: stdout.toString() + stderr.toString() };
};

test("the committed contract is the catalogue's, and has its line in the changelog", () => {
  const { exitCode, said } = run("--check");
  expect(said).toContain("is written down");
  expect(exitCode).toBe(0);
});

test("a contract that changed without its line fails the check, and one command puts it right", () => {
  cpSync(join(projectFolder, "contract"), folder, { recursive: true });
  const changelog = join(folder, "CHANGELOG.md");
  const hash = new Bun.CryptoHasher("sha256")
    .update(readFileSync(join(folder, "openapi.json")))
    .digest("hex");

  writeFileSync(changelog, readFileSync(changelog, "utf8").replaceAll(hash, "0".repeat(64)));
  const withoutLine = run("--check", folder);
  expect(withoutLine.said).toContain("CHANGELOG.md has no line");
  expect(withoutLine.exitCode).toBe(1);
  writeFileSync(
    join(folder, "openapi.json"),
    readFileSync(join(folder, "openapi.json"), "utf8").replace('"rerank.create"', '"rerank.made"'),
  );
  const withAnother = run("--check", folder);
  expect(withAnother.said).toContain("openapi.json is not");
  expect(withAnother.exitCode).toBe(1);

  expect(run(folder).exitCode).toBe(0);
  expect(run("--check", folder).exitCode).toBe(0);
  const [newest] = readFileSync(changelog, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("- "));
  expect(newest).toBe(`- \`${hash}\` Adds rerank.create. Breaking: removes rerank.made.`);
});

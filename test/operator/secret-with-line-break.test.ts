// A secret from a file that somebody mounted: it ends in a line break, which nobody sees.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSecrets } from "../../gateway/src/keys/secrets.ts";
import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { runTollgate, type Ran } from "../support/run-tollgate.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-line-break-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const mounted = "a secret from a mounted file\n";

const tollgate = (words: readonly string[], secret?: string): Promise<Ran> =>
  runTollgate(words, { folder, environment: { PORT: "0", TOLLGATE_SECRET: secret } });

const create = ["account", "create", "--name", "Ada"];

test("no data is begun under a secret that ends in a line break, and the doctor says so before", async () => {
  const sentence = "TOLLGATE_SECRET begins or ends with a space or a line break";
  for (const words of [create, ["serve"]]) {
    const ran = await tollgate(words, mounted);
    expect([ran.code, ran.out]).toEqual([1, ""]);
    expect(ran.errors).toContain(sentence);
  }
  const examined = await tollgate(["doctor"], mounted);
  expect(examined.code).toBe(1);
  expect(examined.out).toContain(`Store: ${sentence}`);
  expect(readdirSync(folder)).toEqual([]);
});

test("data that was written under one goes on under it", async () => {
  const store = openSqliteStore({ path: join(folder, "data/tollgate.db") });
  expect(await store.claimSecret(createSecrets(mounted).fingerprint)).toBe(true);
  await store.close();
  expect(await tollgate(create, mounted)).toMatchObject({ code: 0, errors: "" });
  expect(await tollgate(["doctor"], mounted)).toMatchObject({ code: 0, errors: "" });
});

test("whoever sets the secret of a data folder with its line break is asked whether there is one", async () => {
  expect((await tollgate(create)).code).toBe(0);
  const secret = readFileSync(join(folder, "data/secret"), "utf8");
  const question = "Set TOLLGATE_SECRET (is there a line break at its end?)";
  expect((await tollgate(["account", "list"], secret)).errors).toContain(question);
  expect((await tollgate(["doctor"], secret)).out).toContain(question);
  expect((await tollgate(["account", "list"], secret.trim())).code).toBe(0);
  const backup = join(folder, "backup.db");
  expect((await tollgate(["backup", backup])).code).toBe(0);
  expect((await tollgate(["restore", backup], secret)).errors).toContain(
    "(is there a line break at its end?)",
  );
});

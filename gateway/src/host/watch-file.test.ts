import { afterEach, beforeEach, expect, test } from "bun:test";
import { appendFileSync, chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../../test/support/until.ts";
import { watchFile } from "./watch-file.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-watch-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a file that is being written is told of when it has come to rest, once", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "before");
  let changes = 0;
  const stop = watchFile(file, () => changes++, 100);
  for (let lines = 0; lines < 60; lines++) {
    appendFileSync(file, "a line\n");
    await Bun.sleep(10);
  }
  expect(changes).toBe(0);
  await until(() => changes > 0);
  await Bun.sleep(300);
  expect(changes).toBe(1);
  stop();
});

test("a file that others may read than before is told of: whoever could not may now", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "before", { mode: 0o600 });
  let changes = 0;
  const stop = watchFile(file, () => changes++, 10);
  chmodSync(file, 0o644);
  await until(() => changes === 1);
  stop();
});

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "./database.ts";

let fresh: Uint8Array | undefined;

/** Writes a file as the first start makes it. Making it is five times the work of opening it, and tests want thousands. */
export function writeNewFile(path: string): void {
  fresh ??= makeOne();
  writeFileSync(path, fresh, { mode: 0o600 });
}

function makeOne(): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-new-file-"));
  const path = join(folder, "tollgate.db");
  openDatabase(path).close();
  const bytes = readFileSync(path);
  rmSync(folder, { recursive: true });
  return bytes;
}

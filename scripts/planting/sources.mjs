// A copy of the sources, and a bug put into it.

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../launch/root.mjs";

const parts = [
  "catalogue",
  "client",
  "gateway",
  "sandbox",
  "site",
  "contract",
  "docs",
  "test",
  "scripts",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "README.md",
];

/** Gives the folder of a copy to the work, and removes it afterwards. */
export async function withCopy(work) {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-mutant-"));
  try {
    for (const part of parts) {
      cpSync(join(root, part), join(folder, part), {
        recursive: true,
        filter: (source) => !source.includes("node_modules"),
      });
    }
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** False when the place for the bug is not there exactly once: the sources moved on and the mutant must follow. */
export function isPlaced({ file, find }, folder) {
  return readFileSync(join(folder, file), "utf8").split(find).length === 2;
}

export function plant({ file, find, replace }, folder) {
  const path = join(folder, file);
  const text = readFileSync(path, "utf8");
  writeFileSync(
    path,
    text.replace(find, () => replace),
  );
}

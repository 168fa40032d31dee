import { closeSync, fsyncSync, openSync } from "node:fs";
import { codeOf } from "./error-code.ts";

/** So that a power cut does not take the names that were given in it, where the file system can promise that. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } catch (error) {
    if (!unable.has(codeOf(error))) throw error;
  } finally {
    closeSync(handle);
  }
}

/** Folders that a host shares with a virtual machine are not synced, and what is in them is used all the same. */
const unable: ReadonlySet<string> = new Set(["EINVAL", "ENOTSUP", "EOPNOTSUPP"]);

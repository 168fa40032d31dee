import { statSync } from "node:fs";
import { resolve } from "node:path";
import { codeOf } from "../../../platform/error-code.ts";

/** Throws when the folder may not be read: that is not the same as nothing being in it. */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (!forbidden.has(codeOf(error))) throw error;
    throw new Error(`${resolve(path)} cannot be read by this user. Run this as the user who owns the data.`, {
      cause: error,
    });
  }
}

const forbidden: ReadonlySet<string> = new Set(["EACCES", "EPERM"]);

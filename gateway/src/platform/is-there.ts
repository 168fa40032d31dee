import { statSync } from "node:fs";
import { resolve } from "node:path";
import { codeOf } from "./error-code.ts";

/** Throws when the folder may not be read: that is not the same as nothing being in it. */
export const isThere = (path: string): boolean =>
  namingForbidden(path, () => statSync(path, { throwIfNoEntry: false }) !== undefined);

/** Says which path it is that this user may not read, and who may. */
export function namingForbidden<Seen>(path: string, look: () => Seen): Seen {
  try {
    return look();
  } catch (error) {
    if (!forbidden.has(codeOf(error))) throw error;
    throw new Error(`${resolve(path)} cannot be read by this user. Run this as the user who owns the data.`, {
      cause: error,
    });
  }
}

const forbidden: ReadonlySet<string> = new Set(["EACCES", "EPERM"]);

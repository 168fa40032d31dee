import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ConfigError } from "../platform/config-error.ts";
import { codeOf } from "../platform/error-code.ts";
import { messageOf } from "../platform/error-message.ts";

export interface ConfigFile {
  readonly path: string;
  /** Without it there are the defaults. */
  readonly mayBeAbsent: boolean;
}

/** What is written in it; undefined where there is none and none is needed. */
export function readConfigFile({ path, mayBeAbsent }: ConfigFile): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (mayBeAbsent && isAbsent(path)) return undefined;
    throw new ConfigError(path, [whyUnreadable(path, error)]);
  }
}

/**
 * Whether nothing has that name. A file that this user may not read, or a link to nowhere, is there and was meant: with the
 * defaults in its place everything would be sold from the sandbox.
 */
export function isAbsent(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

function whyUnreadable(path: string, error: unknown): string {
  switch (codeOf(error)) {
    case "EISDIR":
      return "it is a folder; name the file in it";
    case "EACCES":
    case "EPERM":
      return "it cannot be read by this user";
    case "ENOENT":
      return isLink(path) ? `it leads to ${endOfLinks(path)}, which is not there` : "there is no such file";
    default:
      return messageOf(error);
  }
}

const isLink = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

/** Links that lead in a circle are another error than one that leads nowhere. */
function endOfLinks(path: string): string {
  const next = resolve(dirname(path), readlinkSync(path));
  return isLink(next) ? endOfLinks(next) : next;
}

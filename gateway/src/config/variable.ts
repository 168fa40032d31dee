import { readFileSync, statSync } from "node:fs";
import { codeOf } from "../platform/error-code.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What a variable says, or what stands in the file that NAME_FILE names, where containers have their secrets. A file is read
 * each time, so a new secret needs no new process; the line break at its end belongs to none. Empty is not set: files for
 * containers write `${NAME:-}` for what nobody gave.
 */
export function readVariable(environment: Environment, name: string): string | undefined {
  const said = environment[name] === "" ? undefined : environment[name];
  const inFile = fileVariableOf(name);
  const path = secretFileOf(environment, name);
  if (path === undefined) return said;
  if (said !== undefined) throw new Error(`${name} and ${inFile} are both set; one of them can hold`);
  const text = readSecretFile(path, inFile).replace(/\r?\n$/, "");
  if (text === "") throw new Error(`${inFile}: ${path} is empty`);
  return text;
}

/** The file that is read for a variable, where one is named. */
export const secretFileOf = (environment: Environment, name: string): string | undefined =>
  environment[fileVariableOf(name)] || undefined;

const fileVariableOf = (name: string): string => `${name}_FILE`;

/** A secret is short; whatever is longer was named by mistake. */
const secretBytesMax = 64 * 1024;

function readSecretFile(path: string, inFile: string): string {
  try {
    const found = statSync(path);
    if (!found.isFile()) throw new Error(`${inFile}: ${path} is no file`);
    if (found.size > secretBytesMax) throw new Error(`${inFile}: ${path} is too long for a secret`);
    return readFileSync(path, "utf8");
  } catch (error) {
    const why = unreadable[codeOf(error)];
    if (why === undefined) throw error;
    throw new Error(`${inFile}: ${path} ${why}`, { cause: error });
  }
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: "is not there",
  ENOTDIR: "is not there",
  EACCES: "cannot be read by this user",
  EPERM: "cannot be read by this user",
};

import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { codeOf } from "../platform/error-code.ts";
import { messageOf } from "../platform/error-message.ts";
import { giveToOwnerOf } from "../platform/give-to-owner.ts";
import { isThere, namingForbidden } from "../platform/is-there.ts";
import { makeFolder } from "../platform/make-folder.ts";
import { syncFolder } from "../platform/sync-folder.ts";

/** The secret of this installation: from the environment, or from the data folder; undefined when none was made yet. */
export function findInstallationSecret(
  fromEnvironment: string | undefined,
  dataFolder: string,
): string | undefined {
  if (fromEnvironment !== undefined) {
    if (fromEnvironment.length < 16) throw new Error("TOLLGATE_SECRET must be at least 16 characters.");
    return fromEnvironment;
  }
  const file = secretFile(dataFolder);
  return isThere(file) ? read(file) : undefined;
}

/**
 * Where that secret stands, for people. Beside data that is there, whoever finds no file has it in the environment of the
 * server.
 */
export function secretPlace(fromEnvironment: string | undefined, dataFolder: string): string {
  const file = secretFile(dataFolder);
  return fromEnvironment === undefined && existsSync(file) ? file : "TOLLGATE_SECRET";
}

/** Made once in the data folder, for its owner's eyes only. */
export function makeInstallationSecret(
  dataFolder: string,
  randomBytes: (count: number) => Uint8Array,
): string {
  const file = secretFile(dataFolder);
  try {
    makeFolder(dataFolder);
    make(file, (bytes) => Buffer.from(randomBytes(bytes)).toString("hex"));
  } catch (error) {
    throw new Error(`${file} cannot be made: ${messageOf(error)}.`, { cause: error });
  }
  return read(file);
}

const secretFile = (dataFolder: string): string => join(dataFolder, "secret");

function read(file: string): string {
  const secret = textOf(file).trim();
  if (secret === "") {
    throw new Error(
      `${file} is empty. Restore it from a backup: without it no key can be recognised. ` +
        "Where there is no data yet, remove it, and the next start makes one.",
    );
  }
  return secret;
}

function textOf(file: string): string {
  try {
    return namingForbidden(file, () => readFileSync(file, "utf8"));
  } catch (error) {
    if (codeOf(error) !== "EISDIR") throw error;
    throw new Error(
      `${file} is a folder. Container engines make one where the file that they should mount does not exist. ` +
        "Remove it, and put the secret in its place, or set TOLLGATE_SECRET to it.",
      { cause: error },
    );
  }
}

/** It is whole before it has its name: whoever meets a full disk, or is killed, must not leave half of one behind. */
function make(file: string, randomHex: (bytes: number) => string): void {
  const draft = `${file}.${randomHex(8)}`;
  try {
    const handle = openSync(draft, "wx", 0o600);
    try {
      writeFileSync(handle, `${randomHex(32)}\n`);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    giveToOwnerOf(dirname(file), draft);
    publish(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
  // Before any data is under it.
  syncFolder(dirname(file));
}

/** When another process was faster, its secret is the one to use. */
function publish(draft: string, file: string): void {
  try {
    linkOrCopy(draft, file);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

/** Neither replaces what is there. */
function linkOrCopy(draft: string, file: string): void {
  try {
    linkSync(draft, file);
  } catch (error) {
    if (!withoutSecondNames.has(codeOf(error))) throw error;
    copyFileSync(draft, file, constants.COPYFILE_EXCL);
  }
}

/** Not every file system lets a file have two names. */
const withoutSecondNames: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

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
  return existsSync(file) ? read(file) : undefined;
}

/** Made once in the data folder, for its owner's eyes only. */
export function makeInstallationSecret(
  dataFolder: string,
  randomBytes: (count: number) => Uint8Array,
): string {
  const file = secretFile(dataFolder);
  make(file, dataFolder, randomBytes);
  return read(file);
}

const secretFile = (dataFolder: string): string => join(dataFolder, "secret");

function read(file: string): string {
  const secret = readFileSync(file, "utf8").trim();
  if (secret === "")
    throw new Error(`${file} is empty. Restore it from a backup: without it no key can be recognised.`);
  return secret;
}

function make(file: string, dataFolder: string, randomBytes: (count: number) => Uint8Array): void {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  try {
    // "wx" fails when another process was faster; its secret is then the one to use.
    const handle = openSync(file, "wx", 0o600);
    writeSync(handle, `${Buffer.from(randomBytes(32)).toString("hex")}\n`);
    fsyncSync(handle);
    closeSync(handle);
  } catch (error) {
    if (!existsSync(file)) throw error;
  }
}

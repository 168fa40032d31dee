import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";

/** Whoever serves from the file writes to all of this; throws what of it this user cannot. Makes nothing. */
export function checkWritable(path: string): void {
  const folder = nearestFolder(dirname(path));
  if (!isAllowed(folder, constants.W_OK | constants.X_OK))
    throw new Error(`${folder} cannot be written by this user, and the data is kept in it.`);
  for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}.lock`, `${path}.ballast`]) {
    if (existsSync(file) && !isAllowed(file, constants.R_OK | constants.W_OK))
      throw new Error(`${file} cannot be written by this user.`);
  }
}

/** A folder that is not there is made, in the first one above it that is. */
export function nearestFolder(folder: string): string {
  const above = dirname(folder);
  return existsSync(folder) || above === folder ? folder : nearestFolder(above);
}

function isAllowed(place: string, mode: number): boolean {
  try {
    accessSync(place, mode);
    return true;
  } catch {
    return false;
  }
}

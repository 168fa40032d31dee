import { lchownSync, statSync } from "node:fs";

/** What root makes among somebody else's data is theirs: a server that runs as its owner could not open it. */
export function giveToOwnerOf(place: string, file: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(place);
  try {
    // The name is asked and not what it may lead to: the folder's owner could have put anything behind it.
    lchownSync(file, uid, gid);
  } catch {
    // Where there are no rights it is used as it is.
  }
}

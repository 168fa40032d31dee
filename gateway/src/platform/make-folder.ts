import { mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { giveToOwnerOf } from "./give-to-owner.ts";

/** Makes a folder where there is none, for its owner's eyes only: whoever has the folder that it is made in. */
export function makeFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const above = dirname(resolve(first));
  for (let made = resolve(folder); made !== above; made = dirname(made)) giveToOwnerOf(above, made);
}

import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openTemporaryFolder } from "./leftovers.ts";
import { said } from "./machine.ts";
import { median } from "./statistics.ts";

/** Where databases live: beside the other unkept results, because a temporary folder of the system may live in memory. */
export const databaseHome = join(import.meta.dir, "../results/tmp");

/** On what the databases live and how long it takes to be sure of a write there: where that is nothing, durability is free. */
export function describeDisk(): string {
  const folder = openTemporaryFolder("disk", databaseHome);
  try {
    const kind = said(["df", "--output=fstype", folder.path]).split("\n").at(-1) ?? "";
    const fsyncMs = median(fsyncTimesMs(join(folder.path, "written")));
    return `databases on ${kind || "an unknown file system"}, where an fsync takes ${fsyncMs.toFixed(3)} ms (median of ${fsyncs})`;
  } finally {
    folder.remove();
  }
}

const fsyncs = 100;
/** As much as a small commit writes. */
const page = new Uint8Array(4096);

function fsyncTimesMs(path: string): number[] {
  const file = openSync(path, "w");
  const timesMs = Array.from({ length: fsyncs }, () => {
    writeSync(file, page);
    const startedMs = performance.now();
    fsyncSync(file);
    return performance.now() - startedMs;
  });
  closeSync(file);
  return timesMs;
}

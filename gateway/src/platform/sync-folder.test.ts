import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { syncFolder } from "./sync-folder.ts";

test("a folder is synced, and it is told when there is none", () => {
  expect(() => syncFolder(tmpdir())).not.toThrow();
  expect(() => syncFolder("/nowhere/at/all")).toThrow("ENOENT");
});

// As one that a host shares with a virtual machine.
test.skipIf(process.platform !== "linux")(
  "one whose file system syncs no folders stands in nobody's way",
  () => {
    expect(() => syncFolder("/proc")).not.toThrow();
  },
);

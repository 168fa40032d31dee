import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBallast } from "./ballast.ts";

const mebibyte = 1024 * 1024;
const wholeBytes = 8 * mebibyte;
const longEnoughMs = 6_000;

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-ballast-"));
  path = join(folder, "ballast");
});

describe("where there is room", () => {
  afterEach(() => rmSync(folder, { recursive: true }));

  test("it is thrown overboard once, and taken on again after a while", () => {
    let nowMs = 0;
    const ballast = createBallast(path, () => nowMs);
    expect(statSync(path).size).toBe(wholeBytes);
    expect(ballast.drop()).toBe(true);
    expect(ballast.drop()).toBe(false);
    expect(existsSync(path)).toBe(false);
    ballast.restore();
    expect(ballast.isGone()).toBe(true);
    nowMs = longEnoughMs;
    ballast.restore();
    expect(ballast.isGone()).toBe(false);
    expect(statSync(path).size).toBe(wholeBytes);
  });

  test.each([0, 3 * mebibyte, wholeBytes - 1, wholeBytes + 1])("a file of %d bytes is none", (bytes) => {
    writeFileSync(path, Buffer.alloc(bytes));
    expect(createBallast(path, () => 0).isGone()).toBe(false);
    expect(statSync(path).size).toBe(wholeBytes);
  });
});

const canMount = process.platform === "linux" && process.getuid?.() === 0;

// A newcomer without root sees this skipped by name; CI has root and fails without it.
describe.skipIf(!canMount && process.env["CI"] === undefined)(
  "on a disk of 20 MiB (a small tmpfs, needs root)",
  () => {
    const filler = (): string => join(folder, "filler");
    const leave = (freeBytes: number): void =>
      writeFileSync(filler(), Buffer.alloc(20 * mebibyte - freeBytes));

    beforeEach(() => {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=20m", "tmpfs", folder]);
    });
    afterEach(() => {
      execFileSync("umount", ["-l", folder]);
      rmdirSync(folder);
    });

    test.each([7.5 * mebibyte, wholeBytes, 15 * mebibyte])(
      "%d free bytes are no room for it",
      (freeBytes) => {
        leave(freeBytes);
        expect(createBallast(path, () => 0).isGone()).toBe(true);
        expect(existsSync(path)).toBe(false);
      },
    );

    test("it is taken on again when somebody has made room, and not in the room that it left itself", () => {
      let nowMs = 0;
      const ballast = createBallast(path, () => nowMs);
      leave(wholeBytes);
      expect(ballast.drop()).toBe(true);
      nowMs += longEnoughMs;
      ballast.restore();
      expect(ballast.isGone()).toBe(true);
      rmSync(filler());
      nowMs += longEnoughMs;
      ballast.restore();
      expect(ballast.isGone()).toBe(false);
      expect(statSync(path).size).toBe(wholeBytes);
    });
  },
);

import { expect, test } from "bun:test";
import { table } from "./output.ts";

test("the columns of a table stand below each other, whatever characters its names are written in", () => {
  // A terminal gives these seven characters two places each, a face two, and an accent none.
  const widest = "株式会社テスト";
  const rows = [widest, "demo", "Größe", "Ada 😀", "e\u0301te\u0301"].map((name) => [name, "free"]);
  expect(table(["NAME", "TIER"], rows, "There are none.")).toEqual([
    "NAME            TIER",
    "株式会社テスト  free",
    "demo            free",
    "Größe           free",
    "Ada 😀          free",
    "e\u0301te\u0301             free",
  ]);
});

import { expect, test } from "bun:test";
import { csvOf } from "./csv.ts";

test("a cell keeps what it says, whatever is in it", () => {
  const rows = [
    ["plain", "0.048", ""],
    ["a, b", 'say "hi"', "two\nlines"],
  ];
  expect(csvOf(rows)).toBe('plain,0.048,\r\n"a, b","say ""hi""","two\nlines"\r\n');
  expect(csvOf([])).toBe("");
});

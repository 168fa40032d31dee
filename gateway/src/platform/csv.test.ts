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

test("a cell that a spreadsheet would run is text to it, and a number stays one", () => {
  const cells = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "-0.5", "+3", "a=1"];
  expect(csvOf([cells])).toBe("'=1+1,'+A1,'-A1,'@SUM(A1),'\t=1,-0.5,+3,a=1\r\n");
});

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repeatedNames } from "./repeated-names.ts";

test.each([
  [
    "a second section",
    "models:\n  a: 1\ntiers:\n  b: 2\nmodels:\n  c: 3\n",
    ["models: written twice, in lines 1 and 5"],
  ],
  ["a second entry", "models:\n  a: 1\n  # a: 5\n\n  a: 3\n", ["models.a: written twice, in lines 2 and 5"]],
  ["in braces", "models: { a: { b: 1 }, c: 2, a: 3 }", ["models.a: written twice, in lines 1 and 1"]],
  ["in braces over lines", "models: {\n  a: 1,\n  a : 2 }", ["models.a: written twice, in lines 2 and 3"]],
  [
    "quoted once",
    `models:\n  gpt: 1\n  "gpt": 2\n  'gpt': 3`,
    ["models.gpt: written twice, in lines 2 and 3", "models.gpt: written twice, in lines 3 and 4"],
  ],
  [
    "with odd characters",
    `"llama:8b": 1\n@a/b.c-d: 1\n`.repeat(2).replaceAll("@a", '"@a').replaceAll("c-d:", 'c-d":'),
    ["llama:8b: written twice, in lines 1 and 3", "@a/b.c-d: written twice, in lines 2 and 4"],
  ],
  ["in a list", "a:\n  - b: 1\n    b: 2", ["a.0.b: written twice, in lines 2 and 3"]],
  ["with a colon inside", "llama:8b: 1\nllama:8b: 2", ["llama:8b: written twice, in lines 1 and 2"]],
])("a name written twice is found: %s", (_what, text, found) => {
  expect(repeatedNames(text)).toEqual(found);
});

test.each([
  ["nothing", ""],
  ["equal names at different places", "a:\n  x: 1\n  y: { x: 2, z: { x: 3 } }\nb:\n  x: 4\nx: 5"],
  ["equal members of a list", "a:\n  - x: 1\n  - x: 1\nb: [x, x]"],
  ["a text that looks like names", 'a: |\n  x: 1\n  x: 2\nb: >\n  y: 1\n  y: 1\nc: "z: 1, z: 2"'],
  ["comments", "# a: 1\n# a: 2\na: 3 # a: 4"],
  ["an address", 'a: { url: "https://x:1/a: b" }\nb: { url: https://x:1 }'],
  ["something merged", "a: &x { b: 1 }\nc:\n  <<: *x\n  b: 2"],
  ["the character that marks", "a: 1 # \u{E000}\na: 2"],
])("nothing is claimed of %s", (_what, text) => {
  expect(repeatedNames(text)).toEqual([]);
});

test("the configuration that ships has no name twice, commented or not", () => {
  const text = readFileSync(join(import.meta.dir, "../../../tollgate.yaml"), "utf8");
  const uncommented = text
    .split("\n")
    .map((line) => (/^# ( |\w+:)/.test(line) ? line.slice(2) : line))
    .join("\n");
  expect(uncommented.split("\n").filter((line) => /^\w+:/.test(line))).not.toEqual(
    text.split("\n").filter((line) => /^\w+:/.test(line)),
  );
  for (const written of [text, uncommented]) expect(repeatedNames(written)).toEqual([]);
});

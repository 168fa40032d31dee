import { expect, spyOn, test } from "bun:test";
import { countReadableLines } from "./readable-lines.ts";

const modelLine = (at: number): string =>
  `  model-${at}: { via: [openai, { spare: vendor/gpt-${at} }], price: { input: 2.5, output: 10 } }`;

/** One below the most that is searched. */
const longList = ["models:", ...Array.from({ length: 998 }, (_, at) => modelLine(at))];

test.each([1, 2, 500, 997, 998])(
  "in a list of a thousand lines the mistake in line %d is found in a few attempts: a server waits for them",
  (at) => {
    const parse = spyOn(Bun.YAML, "parse");
    try {
      expect(countReadableLines(longList.with(at, "  broken: { [ unclosed").join("\n"))).toBe(at);
      expect(parse.mock.calls.length).toBeLessThanOrEqual(20);
    } finally {
      parse.mockRestore();
    }
  },
);

test("however deep it is nested, attempts have an end, and what is told is true", () => {
  const stairs = Array.from({ length: 400 }, (_, depth) => `${" ".repeat(depth)}level:`);
  const parse = spyOn(Bun.YAML, "parse");
  try {
    const readable = countReadableLines([...stairs, `${" ".repeat(400)}broken: { [`].join("\n")) ?? 0;
    expect(readable).toBeGreaterThan(0);
    expect(parse.mock.calls.length).toBeLessThanOrEqual(50);
    expect(() => Bun.YAML.parse(stairs.slice(0, readable).join("\n"))).not.toThrow();
  } finally {
    parse.mockRestore();
  }
});

// Beginnings that end inside these cannot be read, although nothing is wrong with them.
const inManyLines = `names: {
  a: b,
  c: d
}
models:
  gpt-x: { via: [openai,
      spare],
    price: { input: 1 },
  }
  gpt-y:
    via: [
      openai
    ]
    about: "a long
      text"
# what follows is fine
tiers:
  free: { rpm: 1 }
list:
- a: 1
- text: |
    some text
    # no comment
`.split("\n");

test.each([
  [1, "names: { {"],
  [5, "models: : on"],
  [10, "  gpt-y: { price: 1"],
  [17, "tiers: ]"],
  [18, "  free: rpm: 1"],
  [18, '  free: "rpm'],
  [20, "- a: [1"],
])("a mistake in line %d (%j) is found among entries of several lines that are fine", (line, written) => {
  expect(() => Bun.YAML.parse(inManyLines.join("\n"))).not.toThrow();
  const text = inManyLines.with(line - 1, written).join("\n");
  expect(() => Bun.YAML.parse(text)).toThrow();
  expect(countReadableLines(text)).toBe(line - 1);
});

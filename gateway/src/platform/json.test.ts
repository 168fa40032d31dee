import { expect, test } from "bun:test";
import { parseJson } from "./json.ts";

const parse = (text: string) => parseJson(new TextEncoder().encode(text));
const deep = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
/** The array is a value, too. */
const wide = (values: number): string => JSON.stringify(Array.from({ length: values - 1 }, () => 1));

test("a body is nested 64 deep and no deeper", () => {
  expect(parse(deep(64))).toMatchObject({ ok: true });
  expect(parse(deep(65))).toEqual({ ok: false, why: "the body is nested deeper than 64" });
});

test("a body has 100 000 values and no more", () => {
  expect(parse(wide(100_000))).toMatchObject({ ok: true });
  expect(parse(wide(100_001))).toEqual({ ok: false, why: "the body has more than 100000 values" });
});

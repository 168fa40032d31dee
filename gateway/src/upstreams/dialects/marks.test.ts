import { expect, test } from "bun:test";
import { marked, readMarked } from "./marks.ts";

const kinds = ["anthropic", "redacted", "gemini", "unsigned"] as const;

/** Tokens of every length of padding, and one that both alphabets write differently. */
const tokens = ["", "s", "si", "sig", "sealed+/==", "\u00fb\u00ef\u00be??>>~~"];

const samples = kinds.flatMap((kind) => tokens.map((token) => ({ kind, token })));

test.each(samples)("a mark is standard base64 to a strict decoder: %j", ({ kind, token }) => {
  const written = marked(kind, token);
  expect(written).toMatch(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/);
  expect(btoa(atob(written))).toBe(written);
});

test.each(samples)("a mark is read after a client decoded it and encoded it anew: %j", ({ kind, token }) => {
  const bytes = Buffer.from(marked(kind, token), "base64");
  const standard = bytes.toString("base64");
  const forAddresses = bytes.toString("base64url");
  const padded = standard.replaceAll("+", "-").replaceAll("/", "_");
  for (const written of [standard, standard.replaceAll("=", ""), forAddresses, padded]) {
    expect(readMarked(written)).toEqual({ mark: kind, token });
  }
});

test("what others signed has no mark", () => {
  for (const written of ["", "EqQBCgIYAhIk", "tollgate", "tollgateother0000000"]) {
    expect(readMarked(written)).toBeUndefined();
  }
});

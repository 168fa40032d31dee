import { expect, test } from "bun:test";
import { repeatsSecret } from "./repeated-secret.ts";

const key = "sk-a/b+c-0123456789";

test("a key is known again as it is, and as other languages write it in JSON", () => {
  for (const written of [
    key,
    key.replace("/", String.raw`\/`),
    key.replace("+", String.raw`\u002B`),
    key.replace("+", String.raw`\\\\u002b`),
  ])
    expect([written, repeatsSecret([key], `{"detail":"${written}"}`)]).toEqual([written, true]);
  expect(repeatsSecret([key], String.raw`{"detail":"a\/b and \u002B"}`)).toBe(false);
});

test("backslashes in any number keep nobody waiting", () => {
  const text = String.raw`\u0041` + "\\".repeat(200_000);
  const startedMs = performance.now();
  expect(repeatsSecret([key], text)).toBe(false);
  // A run that is read anew from each of its backslashes takes many seconds.
  expect(performance.now() - startedMs).toBeLessThan(1_000);
});

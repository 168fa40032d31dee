// What others are told to write into tollgate.yaml has to be what it takes.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseConfig } from "./load-config.ts";

const textOf = (file: string): string => readFileSync(join(import.meta.dir, "../../..", file), "utf8");

const advisers = [
  "README.md",
  "docs/calling.md",
  "docs/running.md",
  "gateway/src/serve.ts",
  "gateway/src/config/public-sandbox.ts",
];

test("a setting that the documents or the log of a start advise is one that is understood", () => {
  const advised = advisers.flatMap((file) =>
    [...textOf(file).matchAll(/[` ]((?:sandbox|links): (?:off|\{[^}]*\}|https?:[^"`]+))/g)].map(
      ([, setting = ""]) => setting,
    ),
  );
  expect(advised.length).toBeGreaterThanOrEqual(6);
  for (const setting of advised) expect(() => parseConfig(setting, "tollgate.yaml", {})).not.toThrow();
});

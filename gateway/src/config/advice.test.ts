// What others are told to write into tollgate.yaml has to be what it takes.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseConfig } from "./load-config.ts";

const textOf = (file: string): string => readFileSync(join(import.meta.dir, "../../..", file), "utf8");

test("a setting that README or the log of a start advises is one that is understood", () => {
  const advised = ["README.md", "gateway/src/serve.ts"].flatMap((file) =>
    [...textOf(file).matchAll(/[` ]((?:sandbox|links): (?:off|\{[^}]*\}|https?:[^"`]+))/g)].map(
      ([, setting = ""]) => setting,
    ),
  );
  expect(advised.length).toBeGreaterThanOrEqual(6);
  for (const setting of advised) expect(() => parseConfig(setting, "tollgate.yaml", {})).not.toThrow();
});

// What the documents name is there: files they lead to, tests they lean on, commands they tell people to run.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dir, "..");
const rooms = [
  "bench",
  "bin",
  "catalogue",
  "client",
  "docs",
  "examples",
  "gateway",
  "sandbox",
  "scripts",
  "site",
  "test",
];
const notOurs = /(^|\/)(node_modules|results|portkey|dist)\//;

const list = (pattern: string): string[] => [...new Bun.Glob(pattern).scanSync({ cwd: root })];
const files = [...list("*.{md,yaml,json}"), ...rooms.flatMap((room) => list(`${room}/**/*.{md,ts,mjs,yaml}`))]
  .filter((file) => !notOurs.test(file))
  .toSorted();
const documents = files.filter((file) => file.endsWith(".md") && file !== "CHANGELOG.md");
const read = (document: string): string => readFileSync(join(root, document), "utf8");
const found = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, name = ""]) => name);

/** As the pages that show Markdown name a heading. */
const anchorsOf = (document: string): string[] =>
  found(read(document), /^#+ (.+)$/gm).map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{Letter}\p{Number} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

test("there are documents, and they fit their readers' patience", () => {
  expect(documents).toContain("README.md");
  expect(documents).toContain("docs/running.md");
  expect(read("README.md").split("\n").length).toBeLessThan(160);
  expect(read("ARCHITECTURE.md").split("\n").length).toBeLessThan(130);
});

describe.each(documents)("%s", (document) => {
  const text = read(document);

  test("leads nowhere that is not there", () => {
    for (const link of found(text, /\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link)) continue;
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? document : join(dirname(document), path);
      expect([link, existsSync(join(root, target))]).toEqual([link, true]);
      if (anchor !== undefined) expect([link, anchorsOf(target).includes(anchor)]).toEqual([link, true]);
    }
  });

  test("names files and tests that there are", () => {
    const named = found(text, /`([\w./-]+\.(?:ts|mjs|yaml))`/g).filter((name) => !name.startsWith("/"));
    const tests = found(text, /`([\w-]+(?:\.test|-conformance))`/g).map((name) => `${name}.ts`);
    for (const name of [...named, ...tests]) {
      const isThere = files.some((file) => file === name || file.endsWith(`/${name}`));
      expect([name, isThere]).toEqual([name, true]);
    }
  });

  test("tells people to run what can be run", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    for (const name of found(text, /\bnpm run (?:--silent )?([\w:-]+)/g))
      expect([name, name in scripts]).toEqual([name, true]);
  });
});

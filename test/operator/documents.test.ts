// What the documents name is there: files they lead to, tests they lean on, commands they tell people to run.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createTerminal } from "../../gateway/src/doors/cli/test-terminal.ts";

const root = join(import.meta.dir, "../..");
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

const linksIn = (text: string): string[] => found(text, /\]\(([^)\s]+)\)/g);
const filesIn = (text: string): string[] =>
  found(text, /`([\w./-]+\.(?:ts|mjs|yaml))`/g).filter((name) => !name.startsWith("/"));
const testsIn = (text: string): string[] =>
  found(text, /`([\w-]+(?:\.test|-conformance))`/g).map((name) => `${name}.ts`);
const scriptsIn = (text: string): string[] => found(text, /\bnpm run (?:--silent )?([\w:-]+)/g);
/** Commands of our own program, up to the remark beside them. */
const commandsIn = (text: string): string[] =>
  found(text, /(?:npx tollgate|tollgate\.mjs|as_tollgate|`tollgate) ([a-z][^`#\n]*)/g);

const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
const { commands } = (await createTerminal({
  openStore: () => Promise.reject(new Error("Help needs no store.")),
}).json("help")) as { commands: { usage: string }[] };
/** What the program says of each of its commands; that it lists them is one more. */
const usages = [...commands.map(({ usage }) => usage), "tollgate help"];

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

test("what they name is found in them", () => {
  expect(linksIn(read("README.md"))).toContain("docs/running.md");
  expect(filesIn(read("CONTRIBUTING.md"))).toContain("gateway/src/architecture.test.ts");
  expect(testsIn(read("ARCHITECTURE.md"))).toContain("holds-conformance.ts");
  expect(testsIn(read("ARCHITECTURE.md"))).toContain("spending.test.ts");
  expect(scriptsIn(read("CONTRIBUTING.md"))).toContain("test:services");
  expect(commandsIn(read("docs/running.md"))).toContain("key rotate KEY_ID --grace 24h");
  expect(commandsIn(read("examples/deploy/README.md"))).toContain("backup /backups --keep 14");
});

describe.each(documents)("%s", (document) => {
  const text = read(document);

  test("leads nowhere that is not there", () => {
    for (const link of linksIn(text)) {
      if (/^https?:/.test(link)) continue;
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? document : join(dirname(document), path);
      expect([link, existsSync(join(root, target))]).toEqual([link, true]);
      if (anchor !== undefined) expect([link, anchorsOf(target).includes(anchor)]).toEqual([link, true]);
    }
  });

  test("names files and tests that there are", () => {
    for (const name of [...filesIn(text), ...testsIn(text)]) {
      const isThere = files.some((file) => file === name || file.endsWith(`/${name}`));
      expect([name, isThere]).toEqual([name, true]);
    }
  });

  test("tells people to run what can be run", () => {
    for (const name of scriptsIn(text)) expect([name, name in scripts]).toEqual([name, true]);
    for (const command of commandsIn(text)) {
      const usage = usages.find((one) => {
        const [, name = ""] = /^tollgate ([a-z]+(?: [a-z]+)*)/.exec(one) ?? [];
        return `${command} `.startsWith(`${name} `);
      });
      expect([command, usage === undefined]).toEqual([command, false]);
      for (const flag of found(command, /(--[a-z-]+)/g))
        expect([command, flag, `${usage} `.replaceAll("]", " ").includes(`${flag} `)]).toEqual([
          command,
          flag,
          true,
        ]);
    }
  });
});

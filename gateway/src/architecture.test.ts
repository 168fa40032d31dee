// The plan of the house, checked: who may import whom. ARCHITECTURE.md says it in words.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const root = join(import.meta.dir, "../..");
const engine = "gateway/src";

/** The rooms of the domain from the ground up. Each may import those before it, so no two know each other. */
const domain = [
  "prices",
  "usage",
  "limits",
  "grants",
  "keys",
  "approvals",
  "ledger",
  "operation",
  "routing",
  "tasks",
  "config",
  "offer",
  "links",
  "contract",
  "store",
  "self-service",
];

/** Each room and the rooms it may import from, besides itself. */
const mayImport: Record<string, readonly string[]> = {
  catalogue: ["for-catalogues.ts"],
  "for-catalogues.ts": ["prices", "usage", "ledger", "operation", "platform"],
  sandbox: [],
  client: [],
  platform: [],
  ...Object.fromEntries(domain.map((room, height) => [room, [...domain.slice(0, height), "platform"]])),
  call: [...domain, "platform"],
  upstreams: ["prices", "operation", "links", "platform"],
  stores: [...domain, "platform"],
  "stores/sqlite": ["stores", ...domain, "platform"],
  "stores/postgres": ["stores", ...domain, "platform"],
  "stores/redis": ["stores", ...domain, "platform"],
  host: [...domain, "platform"],
  "doors/pages": [],
  "doors/wire": ["call", "limits", "platform"],
  "doors/http": ["call", "doors/wire", ...domain, "platform"],
  "doors/links": ["doors/wire", "doors/pages", ...domain, "platform"],
  "doors/sandbox": ["doors/wire", "doors/pages", ...domain, "platform"],
  "doors/operator": [...domain, "platform"],
  "doors/site": ["doors/pages", ...domain, "platform"],
  "doors/mcp": ["call", "doors/wire", ...domain, "platform"],
  "doors/people": ["doors/pages", ...domain, "platform"],
  "doors/oauth": ["doors/people", "doors/pages", ...domain, "platform"],
  "doors/account": ["doors/people", "doors/pages", ...domain, "platform"],
  "doors/cli": [...domain, "platform", "client"],
  "doors/worker": [...domain, "platform"],
  doors: [
    "doors/account",
    "doors/http",
    "doors/links",
    "doors/mcp",
    "doors/oauth",
    "doors/operator",
    "doors/people",
    "doors/sandbox",
    "doors/site",
    "doors/wire",
    "call",
    ...domain,
    "platform",
  ],
  "front-door.ts": ["doors", "doors/http", "platform"],
  "gateway.ts": [
    "front-door.ts",
    "call",
    "doors",
    "doors/mcp",
    "doors/oauth",
    "doors/site",
    "doors/wire",
    "doors/worker",
    ...domain,
    "platform",
  ],
  "reload-offer.ts": ["gateway.ts", "host", ...domain, "platform"],
  "serve.ts": ["gateway.ts", "reload-offer.ts", "host", ...domain, "platform"],
  "start-server.ts": ["serve.ts", "host", "stores", "stores/redis", "upstreams", ...domain, "platform"],
  "main.ts": [
    "start-server.ts",
    "host",
    "doors/cli",
    "stores",
    "stores/sqlite",
    "stores/postgres",
    "stores/redis",
    "upstreams",
    ...domain,
    "platform",
  ],
};

/** How each shows itself in a file. */
const technologies: Record<string, RegExp> = {
  "stores/sqlite": /"bun:sqlite"/,
  "stores/postgres": /import \{[^}]*\bSQL\b[^}]*\} from "bun"|\bBun\.(sql|SQL)\b/,
  "stores/redis": /\bRedisClient\b|\bBun\.redis\b/,
  host: /\bBun\.(serve|listen)\b/,
};

/** Tests, the suites that several of them share, and what helps them. */
const isForTests = (file: string): boolean => /(\.test|-conformance)\.ts$|\/test-[^/]+\.ts$/.test(file);

const files = ["catalogue", "sandbox/src", "client/src", engine]
  .flatMap((folder) => [...new Bun.Glob(`${folder}/**/*.ts`).scanSync(root)])
  .filter((file) => !isForTests(file));

/** What is run, loaded by its folder or published: nobody imports these. */
const entry = /^(catalogue\/[^/]+|gateway\/src\/main|sandbox\/src\/main|client\/src\/index)\.ts$/;

/** What is not imported by a path: a package, or something of the runtime's. */
const packageImport = /(?:from|import)\s*\(?\s*"(?!\.)/;

test("there are files in every room of the table", () => {
  expect(new Set(files.map(roomOf))).toEqual(new Set(Object.keys(mayImport)));
});

test("imports point inward", () => {
  const wrong = files.flatMap((file) =>
    importsOf(file)
      .filter(
        (target) => roomOf(target) !== roomOf(file) && !mayImport[roomOf(file)]?.includes(roomOf(target)),
      )
      .map((target) => `${file} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

test("a catalogue imports nothing but its own files and what for-catalogues.ts offers", () => {
  const inCatalogue = files.filter((file) => file.startsWith("catalogue/"));
  expect(inCatalogue.filter((file) => packageImport.test(textOf(file)))).toEqual([]);
});

test("what only tests use says so in its name, and nothing else uses that", () => {
  const imported = new Set(files.flatMap(importsOf));
  expect(files.filter((file) => !imported.has(file) && !entry.test(file))).toEqual([]);
  expect([...imported].filter(isForTests)).toEqual([]);
});

test("each technology is named in one room alone", () => {
  for (const [room, named] of Object.entries(technologies)) {
    const naming = files.filter((file) => file.startsWith(engine) && named.test(textOf(file)));
    expect([...new Set(naming.map(roomOf))]).toEqual([room]);
  }
});

test("the client is nobody's but the web's: it imports its own files and names no runtime", () => {
  const inClient = files.filter((file) => file.startsWith("client/src"));
  const foreign = inClient.filter((file) =>
    /(?:from|import)\s*\(?\s*"(?!\.\/)|\bBun\.|\bprocess\.|\bBuffer\b/.test(textOf(file)),
  );
  expect(foreign).toEqual([]);
});

function roomOf(file: string): string {
  if (!file.startsWith(engine)) return file.split("/")[0] ?? file;
  const [first = "", second = "", third] = file.slice(engine.length + 1).split("/");
  const isDivided = first === "doors" || first === "stores";
  return isDivided && third !== undefined ? `${first}/${second}` : first;
}

function importsOf(file: string): string[] {
  const found = textOf(file).matchAll(/(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+)"/g);
  return [...found].map((match) => relative(root, join(root, dirname(file), match[1] ?? "")));
}

function textOf(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

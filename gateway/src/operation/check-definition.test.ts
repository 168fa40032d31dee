import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "../platform/config-error.ts";
import { exchanges } from "../upstreams/protocols.ts";
import { loadCatalogue } from "./catalogue.ts";

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "tollgate-definition-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const fields = {
  id: '"weather.now"',
  title: '"Weather"',
  summary: '"How it is outside."',
  category: '"data"',
  method: '"GET"',
  path: '"/apis/v1/weather/now"',
  query: "z.looseObject({})",
  price: 'fixed("0.01")',
  servedBy: '{ tikhub: { exchange: "forward_query", path: "/weather" } }',
};

const engine = JSON.stringify(join(import.meta.dir, "../for-catalogues.ts"));

/** What loading says about a file whose operation differs in these fields; undefined leaves one out. */
async function saidOf(changed: Readonly<Record<string, string | undefined>>): Promise<string> {
  const written = Object.entries({ ...fields, ...changed }).filter(([, value]) => value !== undefined);
  writeFileSync(
    join(folder, "weather.ts"),
    `import { defineModel, defineOperation, fixed, free, z } from ${engine};
     export const weather = defineOperation({ ${written.map(([name, value]) => `${name}: ${value}`).join(", ")} });`,
  );
  return load();
}

const load = (): Promise<string> =>
  loadCatalogue([], { own: [folder], exchanges }).then(
    () => "it is in the catalogue",
    (error: unknown) => (error instanceof ConfigError ? error.message : `not told plainly: ${String(error)}`),
  );

describe("an operation of one's own", () => {
  const wrong: readonly (readonly [changed: Readonly<Record<string, string | undefined>>, said: string])[] = [
    [{ id: '"Weather Now"' }, "weather.id: expected words of letters, digits, _ and -, with dots between"],
    [{ method: '"FETCH"' }, 'weather.method: Invalid option: expected one of "GET"|"POST"'],
    [{ path: '"apis/v1/weather"' }, "weather.path: expected a path that begins with /apis/v1/"],
    [{ path: '"/weather"' }, "weather.path: expected a path that begins with /apis/v1/"],
    [{ path: '"/apis/v1/{city}/now"' }, "weather.params.city: {city} of the path is not declared"],
    [{ path: '"/apis/v1/{city/now"' }, "weather.path: a brace is not closed"],
    [
      { path: '"/apis/v1/{city}/{city}"', params: '{ city: "A city." }' },
      "weather.path: {city} stands in it twice",
    ],
    [{ dialects: '["klingon"]' }, "weather.dialects.0: Invalid option"],
    [{ dialects: "[]" }, "weather.dialects: expected one at least"],
    [{ dialectsUnder: '"/apis/v1/other/"' }, "weather.dialectsUnder: expected what its path begins with"],
    [{ dialectsUnder: '"/apis"' }, "weather.dialectsUnder: expected what its path begins with"],
    [{ shapeOf400: '"short"' }, "weather.shapeOf400: "],
    [{ params: '{ city: "A city." }' }, "weather.params.city: there is no {city} in the path"],
    [{ price: undefined }, 'weather.price: expected a price, such as fixed("0.01") or free'],
    [{ price: 'fixed("-0.01")' }, "weather.price.usd: expected USD, not below 0"],
    [{ price: "fixed(0.01)" }, 'weather.price.usd: expected USD as text, such as "0.01"'],
    [{ price: "{ kind: 'per_token' }" }, "weather.price.modelKind: "],
    [
      { price: "{ kind: 'by_cost', usualUsd: '0.1', atMostUsd: 'much' }" },
      "weather.price.atMostUsd: expected USD, at most 6 decimals",
    ],
    [{ query: "{ city: z.string() }" }, "weather.query: expected a schema, such as z.looseObject({ … })"],
    [{ servedBy: undefined }, "weather.servedBy: expected who serves it"],
    [
      { servedBy: '{ gopher: { exchange: "forward_query", path: "/w" } }' },
      "weather.servedBy.gopher: there is no such protocol; there are openai, anthropic",
    ],
    [
      { servedBy: '{ tikhub: { exchange: "forward_carefully", path: "/w" } }' },
      'weather.servedBy.tikhub.exchange: tikhub has no "forward_carefully"; it has forward_query',
    ],
    [
      { servedBy: '{ tikhub: { exchange: "forward_query", path: "w" } }' },
      "weather.servedBy.tikhub.path: expected a path that begins with /",
    ],
    [
      { servedBy: '{ tikhub: { exchange: "forward_query", path: "/w/{city}" } }' },
      "weather.servedBy.tikhub.path: nothing is put in the place of {city}",
    ],
    [
      { servedBy: '{ openai: { exchange: "chat", path: "", dialect: "opnai" } }' },
      'weather.servedBy.openai.dialect: Invalid option: expected one of "openai"',
    ],
    [{ title: undefined }, "weather.title: expected string"],
  ];
  for (const [changed, said] of wrong) {
    test(`is refused with the file and the field for ${JSON.stringify(changed)}`, async () => {
      const told = await saidOf(changed);
      expect(told).toStartWith(`${join(folder, "weather.ts")} cannot be used:\n`);
      expect(told).toContain(said);
    });
  }

  test("has all its mistakes told at once", async () => {
    const told = await saidOf({ id: '"Weather Now"', method: '"FETCH"', price: undefined });
    expect(told.split("\n")).toHaveLength(4);
  });

  const right: readonly Readonly<Record<string, string | undefined>>[] = [
    {},
    { price: 'fixed("to be set")' },
    { price: "free" },
    { path: '"/apis/v1/{social_a}/{city}"', params: '{ city: "A city." }' },
    { query: undefined },
    { dialects: '["openai", "anthropic"]', dialectsUnder: '"/apis/v1/weather/"' },
  ];
  for (const changed of right) {
    test(`is taken with ${JSON.stringify(changed)}`, async () => {
      expect(await saidOf(changed)).toBe("it is in the catalogue");
    });
  }
});

test("a model of one's own is checked too", async () => {
  writeFileSync(
    join(folder, "models.ts"),
    `import { defineModel } from ${engine};
     export const talker = defineModel({ id: "talker", kind: "talk", protocols: ["openai"], price: { input: "-1" } });`,
  );
  const told = await load();
  expect(told).toContain("talker.kind: Invalid option");
  expect(told).toContain("talker.price.input: expected USD, not below 0");
});

test("a price of a model that cannot be read, or is for nothing, is refused before it is sold at another one", async () => {
  const saidOfPrice = (price: string): Promise<string> => {
    const model = `{ id: "own", kind: "chat", protocols: ["openai"], price: { ${price} } }`;
    const text = `import { defineModel } from ${engine};\nexport const own = defineModel(${model});`;
    writeFileSync(join(folder, "models.ts"), text);
    return load();
  };
  const perMillion = "expected USD per 1,000,000 tokens, at most 6 decimals";
  for (const [price, said] of [
    ['input: "3", cache_write: "3,75", output: "15"', `own.price.cache_write: ${perMillion}`],
    ['input: "3", cache_read: "0.1234567", output: "15"', `own.price.cache_read: ${perMillion}`],
    ['input: "3", output: "$15"', `own.price.output: ${perMillion}`],
    [
      'input: "3", cache_wirte: "3.75"',
      "own.price.cache_wirte: there is no such price; there are input, output, ",
    ],
    ['second_720p: "0.1", second_1080p: "0,15"', "own.price.second_1080p: expected USD per second of video"],
  ] as const)
    expect(await saidOfPrice(price)).toContain(said);
  for (const price of ['input: "3", output: "15"', 'input: "to be set"', 'second_720p: "0.0000001"'])
    expect(await saidOfPrice(price)).toBe("it is in the catalogue");
});

test("everything that ships could be served", async () => {
  const shipped = await loadCatalogue([join(import.meta.dir, "../../../catalogue")], { exchanges });
  expect(shipped.operations.length).toBeGreaterThan(20);
});

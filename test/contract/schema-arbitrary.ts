// Values that a JSON Schema allows, for as much of JSON Schema as our contract uses.

import fc from "fast-check";
import { listOf, objectOf, resolve, type Json } from "./contract-reader.ts";

export interface Hints {
  readonly document: Json;
  /** Words for members that name something which exists: any text is valid, few are found. */
  readonly words: Readonly<Record<string, readonly string[]>>;
}

/** Long enough to matter; what is allowed beyond it only costs time. */
const lengthMax = 24;
const itemsMax = 3;
const depthMax = 6;

export function arbitraryOf(written: unknown, hints: Hints, depth = 0): fc.Arbitrary<unknown> {
  const schema = resolve(hints.document, written);
  if ("const" in schema) return fc.constant(schema["const"]);
  if (Array.isArray(schema["enum"])) return fc.constantFrom(...listOf(schema["enum"]));
  const alternatives = listOf(schema["anyOf"]);
  if (alternatives.length > 0) {
    return fc.oneof(...alternatives.map((one) => arbitraryOf(one, hints, depth + 1)));
  }
  const { type } = schema;
  if (Array.isArray(type)) {
    return fc.oneof(...type.map((one: unknown) => arbitraryOf({ ...schema, type: one }, hints, depth)));
  }
  switch (type) {
    case "object":
      return objects(schema, hints, depth);
    case "array": {
      const least = numberIn(schema, "minItems", 0);
      const most = Math.min(numberIn(schema, "maxItems", Infinity), least + itemsMax);
      return fc.array(arbitraryOf(schema["items"], hints, depth + 1), { minLength: least, maxLength: most });
    }
    case "string":
      return texts(schema);
    case "integer":
      return fc.integer({
        min: Math.max(numberIn(schema, "minimum", -1_000_000), Number.MIN_SAFE_INTEGER),
        max: Math.min(numberIn(schema, "maximum", 2_000_000_000), Number.MAX_SAFE_INTEGER),
      });
    case "number":
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    default:
      return anything;
  }
}

function objects(schema: Json, hints: Hints, depth: number): fc.Arbitrary<unknown> {
  if (depth > depthMax) return fc.constant({});
  const members = Object.fromEntries(
    Object.entries(objectOf(schema["properties"])).map(([name, member]) => {
      const usual = arbitraryOf(member, hints, depth + 1);
      const words = hints.words[name] ?? [];
      const named =
        words.length === 0 ? usual : fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...words) }, usual);
      return [name, named];
    }),
  );
  const requiredKeys = listOf(schema["required"]).map(String);
  const named = fc.record(members, { requiredKeys });
  if (schema["additionalProperties"] === false) return named;
  const further = fc.oneof(
    { weight: 4, arbitrary: fc.constant({}) },
    fc.dictionary(fc.stringMatching(/^[a-z]{3,8}$/), anything, { maxKeys: 2 }),
  );
  return fc.tuple(further, named).map(([extra, own]) => ({ ...extra, ...own }));
}

function texts(schema: Json): fc.Arbitrary<string> {
  const { pattern } = schema;
  if (typeof pattern === "string") return fc.stringMatching(new RegExp(pattern), { size: "small" });
  const minLength = numberIn(schema, "minLength", 0);
  const maxLength = Math.min(numberIn(schema, "maxLength", Infinity), minLength + lengthMax);
  return fc.string({ unit: fc.boolean().chain((plain) => (plain ? ascii : letters)), minLength, maxLength });
}

const ascii = fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 1 });
const letters = fc.constantFrom("é", "ß", "中", "😀", "Ω", "'", "\\", "\n", "\t", "&", "%", "/");

const numberIn = (schema: Json, name: string, otherwise: number): number => {
  const value = schema[name];
  return typeof value === "number" ? value : otherwise;
};

/** Any JSON, small. */
export const anything: fc.Arbitrary<unknown> = fc
  .jsonValue({ maxDepth: 2, depthSize: "small" })
  .map((value): unknown => JSON.parse(JSON.stringify(value)));

import { listIn, objectIn, resolve } from "../../../contract/contract-document.ts";
import { objectOrEmpty, type JsonObject } from "../../../platform/json.ts";

/** One member of a body, however deep: `messages[].role`. */
export interface SchemaRow {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
}

/** Deeper than this a table explains nothing; the contract has it all. */
const depthMax = 4;
const rowsMax = 150;

/** The members of a schema as a flat list, in the order they are declared. */
export function schemaRows(document: JsonObject, schema: unknown): SchemaRow[] {
  const rows: SchemaRow[] = [];
  addMembers(document, schema, "", 0, rows);
  return rows.slice(0, rowsMax);
}

function addMembers(
  document: JsonObject,
  written: unknown,
  prefix: string,
  depth: number,
  rows: SchemaRow[],
): void {
  if (depth > depthMax || rows.length >= rowsMax) return;
  const schema = resolve(document, written);
  if ("items" in schema) addMembers(document, schema["items"], `${prefix}[]`, depth, rows);
  for (const variant of variantsOf(schema)) addMembers(document, variant, prefix, depth, rows);
  const required = listIn(schema, "required");
  for (const [name, member] of Object.entries(objectIn(schema, "properties"))) {
    const full = prefix === "" ? name : `${prefix}.${name}`;
    if (rows.some((row) => row.name === full)) continue;
    rows.push({
      name: full,
      type: typeWords(document, member, 0),
      required: required.includes(name),
      description: describe(document, member),
    });
    addMembers(document, member, full, depth + 1, rows);
  }
}

const variantsOf = (schema: JsonObject): readonly unknown[] => [
  ...listIn(schema, "anyOf"),
  ...listIn(schema, "oneOf"),
  ...listIn(schema, "allOf"),
];

/** What a value may be, in words: "string or array of string". */
export function typeWords(document: JsonObject, written: unknown, depth: number): string {
  const schema = resolve(document, written);
  if ("const" in schema) return `\`${JSON.stringify(schema["const"])}\``;
  const values = listIn(schema, "enum");
  if (values.length > 0) return values.map((value) => `\`${String(value)}\``).join(" or ");
  const variants = variantsOf(schema);
  if (variants.length > 0 && depth < 3) {
    const words = variants.map((variant) => typeWords(document, variant, depth + 1));
    return [...new Set(words)].join(" or ");
  }
  const { type, format } = schema;
  if (type === "array") return `array of ${typeWords(document, schema["items"], depth + 1)}`;
  const name = Array.isArray(type) ? type.join(" or ") : typeof type === "string" ? type : "any";
  return typeof format === "string" ? `${name} (${format})` : name;
}

/** Its own words, and its bounds where it has some. */
export function describe(document: JsonObject, written: unknown): string {
  const own = objectOrEmpty(written)["description"];
  const schema = resolve(document, written);
  const { description = own } = schema;
  const bounds = Object.entries(boundWords).flatMap(([word, say]) => {
    const value = schema[word];
    // That a count is not negative goes without saying.
    return typeof value === "number" && value !== 0 && Math.abs(value) < Number.MAX_SAFE_INTEGER
      ? [say(value.toLocaleString("en-US"))]
      : [];
  });
  const fallback = "default" in schema ? [`default \`${JSON.stringify(schema["default"])}\``] : [];
  const extra = [...bounds, ...fallback].join(", ");
  const words = typeof description === "string" ? description : "";
  if (extra === "") return words;
  if (words === "") return `${extra.slice(0, 1).toUpperCase()}${extra.slice(1)}.`;
  return words.endsWith(".") ? `${words.slice(0, -1)} (${extra}).` : `${words} (${extra})`;
}

const boundWords: Readonly<Record<string, (value: string) => string>> = {
  minimum: (value) => `at least ${value}`,
  maximum: (value) => `at most ${value}`,
  maxLength: (value) => `at most ${value} characters`,
  minItems: (value) => `at least ${value}`,
  maxItems: (value) => `at most ${value}`,
};

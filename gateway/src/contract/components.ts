import { z } from "zod";
import { isJsonObject, type JsonObject } from "../platform/json.ts";
import { allowNull } from "./allow-null.ts";

/** Which OpenAPI the schemas are written for: 3.1 takes JSON Schema as it is, 3.0 has words of its own. */
export type SchemaTarget = "draft-2020-12" | "openapi-3.0";

/** What several operations share, written once and referred to by name. */
export interface Components {
  /** A schema, with everything in it that has a name moved to the shared part. */
  readonly schema: (schema: z.ZodType) => JsonObject;
  /** A reference to a shared part; `make` is asked the first time only. */
  readonly shared: (kind: SharedKind, name: string, make: () => JsonObject) => JsonObject;
  /** All shared parts, by name. */
  readonly all: () => JsonObject;
}

type SharedKind = "headers" | "parameters" | "responses";

export function createComponents(target: SchemaTarget): Components {
  const parts: Record<SharedKind | "schemas", Map<string, JsonObject>> = {
    headers: new Map(),
    parameters: new Map(),
    responses: new Map(),
    schemas: new Map(),
  };
  return {
    schema: (schema) => {
      const { written, named } = convert(schema, target);
      for (const [name, one] of Object.entries(named)) addOnce(parts.schemas, name, one);
      return written;
    },
    shared: (kind, name, make) => {
      if (!parts[kind].has(name)) parts[kind].set(name, make());
      return { $ref: `#/components/${kind}/${name}` };
    },
    all: () =>
      Object.fromEntries(
        Object.entries(parts)
          .filter(([, part]) => part.size > 0)
          .map(([kind, part]) => [kind, sortedByName(part)]),
      ),
  };
}

/** A name that stood for two things would show callers the wrong one. */
function addOnce(all: Map<string, JsonObject>, name: string, schema: JsonObject): void {
  const earlier = all.get(name);
  if (earlier && JSON.stringify(earlier) !== JSON.stringify(schema)) {
    throw new Error(`Two different schemas are called "${name}".`);
  }
  all.set(name, schema);
}

interface Converted {
  readonly written: JsonObject;
  /** The schemas with names that it is made of. */
  readonly named: Readonly<Record<string, JsonObject>>;
}

/** Schemas never change, and converting them is most of the work of a contract. */
const converted: Readonly<Record<SchemaTarget, WeakMap<z.ZodType, Converted>>> = {
  "draft-2020-12": new WeakMap(),
  "openapi-3.0": new WeakMap(),
};

export function convert(schema: z.ZodType, target: SchemaTarget): Converted {
  const earlier = converted[target].get(schema);
  if (earlier) return earlier;
  // What callers send is described before it is transformed, so that they see what to send.
  const options = { target, io: "input", unrepresentable: "any", override: tidy } as const;
  // A JSON Schema is a JSON object; zod's own type for it only says which members it may have.
  const whole = z.toJSONSchema(schema, options) as JsonObject;
  const { $schema: _, $defs, definitions, ...own } = whole;
  const named: Record<string, JsonObject> = {};
  const inside = $defs ?? definitions ?? {};
  for (const [name, one] of Object.entries(inside)) named[name] = moved(one);
  const { id } = schema.meta() ?? {};
  if (typeof id === "string" && !("$ref" in own)) named[id] = moved(own);
  const written = typeof id === "string" ? { $ref: `#/components/schemas/${id}` } : moved(own);
  const result = { written, named };
  converted[target].set(schema, result);
  return result;
}

/** Leaves out what zod adds for itself and no reader needs. */
function tidy({ jsonSchema: written }: { readonly jsonSchema: Record<string, unknown> }): void {
  delete written["id"];
  if (written["type"] === "integer" || written["format"] === "date-time") delete written["pattern"];
  if (written["minimum"] === Number.MIN_SAFE_INTEGER) delete written["minimum"];
  if (written["maximum"] === Number.MAX_SAFE_INTEGER) delete written["maximum"];
  // Without a word about further members they are allowed, which is what an empty schema says at more length.
  const further = written["additionalProperties"];
  if (typeof further === "object" && further !== null && Object.keys(further).length === 0) {
    delete written["additionalProperties"];
  }
}

/** Named schemas move to the shared part, and what refers to them follows. Only 3.0 marks what may be null. */
const moved = (schema: unknown): JsonObject =>
  JSON.parse(
    JSON.stringify(schema, (name, value: unknown) =>
      name === "$ref" && typeof value === "string"
        ? value.replace(/^#\/(\$defs|definitions)\//, "#/components/schemas/")
        : value,
    ),
    (_name, value: unknown) => (isJsonObject(value) && value["nullable"] === true ? allowNull(value) : value),
  ) as JsonObject;

const sortedByName = (part: ReadonlyMap<string, JsonObject>): JsonObject =>
  Object.fromEntries([...part].toSorted(([a], [b]) => (a < b ? -1 : 1)));

// JSON Schema as TypeScript a person can read. Only what the catalogue's schemas contain is known; anything else is a
// reason to stop, not to guess.

import { z } from "zod";

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  /** Ours: members without a name here are welcome. */
  readonly "x-loose"?: true;
}

export interface Converted {
  readonly schema: Schema;
  /** The schemas with names that it is made of, and itself where it has one. */
  readonly named: Readonly<Record<string, Schema>>;
}

export function convertSchema(schema: z.ZodType): Converted {
  const options = { io: "input", unrepresentable: "any", override: markLoose } as const;
  // Zod's own type for a JSON Schema says the same with more words.
  const { $defs, ...own } = z.toJSONSchema(schema, options) as Schema & { $defs?: Record<string, Schema> };
  const { id } = schema.meta() ?? {};
  if (typeof id !== "string") return { schema: own, named: { ...$defs } };
  // Zod refers to the whole by its own name in some versions of a schema, and writes it out in others.
  const itself = own.$ref === undefined ? { [id]: own } : {};
  return { schema: { $ref: `#/$defs/${id}` }, named: { ...$defs, ...itself } };
}

/** Zod writes a loose object and a plain one alike; who calls or reads needs the difference. */
function markLoose({
  zodSchema,
  jsonSchema,
}: {
  readonly zodSchema: z.core.$ZodTypes;
  readonly jsonSchema: Record<string, unknown>;
}): void {
  const { def } = zodSchema._zod;
  if (def.type === "object" && def.catchall?._zod.def.type === "unknown") jsonSchema["x-loose"] = true;
}

/**
 * The type of members without a name here. Whoever reads them must look first: `unknown`. Whoever hands them in may have
 * an `interface` of their own, which the compiler takes for such an object only where the members are `any`.
 */
type Further = "unknown" | "any";

/** A type, with everything after the first line already indented to stand at `depth`. */
export function printType(schema: Schema, depth = 0, further: Further = "unknown"): string {
  if (schema.$ref !== undefined) return schema.$ref.replace(/^.*\//, "");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return joined(either, " | ", depth, further);
  if (schema.allOf) return joined(schema.allOf, " & ", depth, further);
  if (Array.isArray(schema.type)) {
    return joined(
      (schema.type as string[]).map((type) => ({ ...schema, type })),
      " | ",
      depth,
      further,
    );
  }
  switch (schema.type) {
    case undefined:
      return "unknown";
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array":
      return `readonly ${inParentheses(printType(schema.items ?? {}, depth, further))}[]`;
    case "object":
      return printObject(schema, depth, further);
    default:
      throw new Error(`A schema of type ${String(schema.type)} has no form in TypeScript here.`);
  }
}

const joined = (schemas: readonly Schema[], by: string, depth: number, further: Further): string =>
  [...new Set(schemas.map((one) => printType(one, depth, further)))].join(by);

const inParentheses = (type: string): string => (/^[\w."]+$|^\{[^]*\}$/.test(type) ? type : `(${type})`);

export function printObject(schema: Schema, depth: number, further: Further = "unknown"): string {
  const members = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
    ...printDoc(member.description, depth + 1),
    printMember(
      name,
      printType(member, depth + 1, further),
      schema.required?.includes(name) === true,
      depth + 1,
    ),
  ]);
  if (members.length === 0) return printRecord(schema, depth, further);
  const open = schema["x-loose"] === true ? [`${indent(depth + 1)}readonly [name: string]: ${further};`] : [];
  return ["{", ...members, ...open, `${indent(depth)}}`].join("\n");
}

function printMember(name: string, type: string, required: boolean, depth: number): string {
  const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
  // Whoever compiles with exact optional properties may still pass on what is undefined.
  const orNothing = required ? "" : type === "unknown" ? "" : " | undefined";
  return `${indent(depth)}readonly ${key}${required ? "" : "?"}: ${type}${orNothing};`;
}

function printRecord(schema: Schema, depth: number, further: Further): string {
  const { additionalProperties: values } = schema;
  if (schema["x-loose"] === true) return `Readonly<Record<string, ${further}>>`;
  if (typeof values !== "object") return "Readonly<Record<string, never>>";
  return `Readonly<Record<string, ${printType(values, depth, further)}>>`;
}

const lineMax = 116;

export function printDoc(text: string | undefined, depth: number): string[] {
  if (text === undefined) return [];
  const safe = text.replaceAll("*/", "*\\/").replaceAll(/\s*\n\s*/g, " ");
  const one = `${indent(depth)}/** ${safe} */`;
  if (one.length <= lineMax) return [one];
  return [`${indent(depth)}/**`, ...wrapped(safe, depth), `${indent(depth)} */`];
}

function wrapped(text: string, depth: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && indent(depth).length + 3 + line.length + 1 + word.length > lineMax) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].map((one) => `${indent(depth)} * ${one}`);
}

export const indent = (depth: number): string => "  ".repeat(depth);

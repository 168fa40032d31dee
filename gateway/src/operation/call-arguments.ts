// An operation as one object of arguments, for doors that know no paths and queries: what they are called, and the
// request they make. Path parameters go by their names; the rest is the query of a GET or the body of a POST.

import { z } from "zod";
import { isJsonObject, objectOrEmpty, type JsonObject } from "../platform/json.ts";
import { refuse } from "../platform/refusals.ts";
import type { Example, Operation } from "./operation.ts";

/** A request as HTTP would bring it. */
export interface WrittenRequest {
  readonly method: string;
  readonly path: string;
  readonly rawQuery: string;
  readonly body: Uint8Array;
  /** What the body says, where there is one. */
  readonly content: JsonObject | undefined;
}

/** `path` is the operation's path with the configured names in it: what is left in braces are parameters. */
export function writeRequest(operation: Operation, path: string, given: JsonObject): WrittenRequest {
  checkNumbers(given);
  const rest: Record<string, unknown> = { ...given };
  const filled = path.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = rest[name];
    delete rest[name];
    return segment(name, value);
  });
  if (operation.body) {
    const names = queryNames(operation);
    const inQuery = Object.keys(rest).filter((name) => names.has(name));
    const query = Object.fromEntries(inQuery.map((name) => [name, rest[name]]));
    for (const name of inQuery) delete rest[name];
    const body = new TextEncoder().encode(JSON.stringify(rest));
    return { method: operation.method, ...address(filled, writeQuery(query)), body, content: rest };
  }
  const body = new Uint8Array();
  return { method: operation.method, ...address(filled, writeQuery(rest)), body, content: undefined };
}

/**
 * A caller's head may have 16 KiB, and so vendors' servers often say. One that breaks off in the middle of a longer one looks
 * like a vendor that fails, and would rest for everybody.
 */
const addressCharactersMax = 15 * 1024;

function address(path: string, rawQuery: string): Pick<WrittenRequest, "path" | "rawQuery"> {
  if (path.length + rawQuery.length <= addressCharactersMax) return { path, rawQuery };
  return refuse(
    "invalid_parameters",
    `the arguments are too long for an address, which may have ${addressCharactersMax} characters`,
  );
}

/** The JSON Schema of the arguments object. */
export function argumentsSchema(operation: Operation, path: string): JsonObject {
  const query = schemaOf(operation.query);
  const body = operation.body ? schemaOf(operation.body) : {};
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "");
  const inPath = Object.fromEntries(
    names.map((name) => [name, { type: "string", description: "Part of the path." }]),
  );
  const properties = { ...inPath, ...membersOf(query), ...membersOf(body) };
  const required = [...names, ...requiredOf(query), ...requiredOf(body)];
  const open = operation.body ? body["additionalProperties"] : query["additionalProperties"];
  return {
    type: "object",
    properties,
    ...(required.length === 0 ? {} : { required }),
    // What an upstream understands beyond these travels along, unless the operation says that nothing does.
    additionalProperties: open === undefined ? false : open !== false,
  };
}

/** An example as arguments. What a definition leaves open is invented for none. */
export function exampleArguments({ definition, query }: Operation, example: Example): JsonObject | undefined {
  if (definition === "pending") return undefined;
  const members = membersOf(schemaOf(query));
  const inQuery = Object.entries(example.query ?? {}).map(([name, written]): [string, unknown] => [
    name,
    typed(written, members[name]),
  ]);
  return { ...example.params, ...Object.fromEntries(inQuery), ...example.body };
}

/** A query is text, whatever it means; an argument has the type that its schema says. */
function typed(written: string, schema: unknown): unknown {
  const type = objectOrEmpty(schema)["type"];
  if (type === "integer" || type === "number") return Number(written);
  return type === "boolean" ? written === "true" : written;
}

/** A parameter as people look for it. */
export interface Parameter {
  readonly name: string;
  readonly description: string;
}

export const parametersOf = (operation: Operation, path: string): Parameter[] =>
  Object.entries(membersOf(argumentsSchema(operation, path))).map(([name, schema]) => ({
    name,
    description:
      isJsonObject(schema) && typeof schema["description"] === "string" ? schema["description"] : "",
  }));

/** An id too long for a number has become another one on its way here; asking for that would cost, and mislead. */
function checkNumbers(members: JsonObject | readonly unknown[], place = ""): void {
  for (const [name, value] of Object.entries<unknown>(members)) {
    const field = place + name;
    if (typeof value === "number" && isInexact(value)) {
      const why = "too large to stay exact as a number; send it as a string";
      refuse("invalid_parameters", `${field}: ${why}`, { field });
    }
    if (isJsonObject(value) || Array.isArray(value)) checkNumbers(value, `${field}.`);
  }
}

const isInexact = (value: number): boolean =>
  !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));

/** Left as it is where it can be one segment only; anything that could end or climb the path is escaped or refused. */
function segment(name: string, value: unknown): string {
  if (typeof value !== "string" || value === "") {
    return refuse("invalid_parameters", `${name} is required, as a string`, { field: name });
  }
  if (value === "." || value === "..") refuse("invalid_parameters", `${name}: not a name`, { field: name });
  checkWhole(name, value);
  return /^[\w.:~@+-]+$/.test(value) ? value : encodeURIComponent(value);
}

function writeQuery(members: JsonObject): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined || value === null) continue;
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
      refuse("invalid_parameters", `${name}: expected a string, a number or a boolean`, { field: name });
    }
    checkWhole(name, `${name}=${value}`);
    query.append(name, String(value));
  }
  return query.toString();
}

/** Half a character cannot be sent outside of JSON: a stranger in its place would be asked for, and paid. */
function checkWhole(field: string, text: string): void {
  if (text.isWellFormed()) return;
  refuse("invalid_parameters", `${field}: has half a character (a surrogate alone)`, { field });
}

const queryNames = (operation: Operation): ReadonlySet<string> =>
  new Set(Object.keys(membersOf(schemaOf(operation.query))));

function schemaOf(schema: z.ZodType): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return rest;
}

const membersOf = (schema: JsonObject): JsonObject => objectOrEmpty(schema["properties"]);

const requiredOf = (schema: JsonObject): string[] =>
  Array.isArray(schema["required"]) ? schema["required"].filter((name) => typeof name === "string") : [];

// How much Anthropic holds a model to in one request; more is refused.

import { isJsonObject, listOrEmpty, type JsonObject } from "../../../platform/json.ts";
import { hasMap } from "./strict-schema.ts";

const toolsMax = 20;
const optionalMax = 24;
const unionsMax = 16;

/** Whether a schema can be held to at all. */
export const canBeStrict = (schema: JsonObject): boolean => !hasMap(schema) && !refersToItself(schema);

/** Whether all of these can be held to in one request. */
export function fitTogether(schemas: readonly JsonObject[]): boolean {
  const members = schemas.flatMap(membersOf);
  return (
    schemas.length <= toolsMax &&
    members.filter(({ isOptional }) => isOptional).length <= optionalMax &&
    members.filter(({ isUnion }) => isUnion).length <= unionsMax
  );
}

interface Member {
  readonly isOptional: boolean;
  readonly isUnion: boolean;
}

/** Every member of every object in it. */
function membersOf(schema: unknown): readonly Member[] {
  if (Array.isArray(schema)) return schema.flatMap(membersOf);
  if (!isJsonObject(schema)) return [];
  const { properties, required } = schema;
  const named = isJsonObject(properties) ? Object.entries(properties) : [];
  const needed: ReadonlySet<unknown> = new Set(listOrEmpty(required));
  const own = named.map(([name, member]) => ({ isOptional: !needed.has(name), isUnion: isUnion(member) }));
  return [...own, ...insideOf(schema).flatMap(membersOf)];
}

const isUnion = (schema: unknown): boolean =>
  isJsonObject(schema) &&
  (Array.isArray(schema["type"]) || Array.isArray(schema["anyOf"]) || Array.isArray(schema["oneOf"]));

/**
 * Whether it can be followed from reference to reference back to where it began. Callers write as many references as a request
 * holds, to lists as well as objects: each of those is looked into once, and a chain of references, however long, needs no
 * stack but the list of what is ahead.
 */
function refersToItself(root: JsonObject): boolean {
  const seen = new Set<unknown>();
  const above = new Set<unknown>();
  const ahead: { readonly at: unknown; readonly isDone: boolean }[] = [{ at: root, isDone: false }];
  for (let step = ahead.pop(); step !== undefined; step = ahead.pop()) {
    const { at, isDone } = step;
    if (isDone) above.delete(at);
    else if (above.has(at)) return true;
    else if (!seen.has(at)) {
      seen.add(at);
      above.add(at);
      // Done when all that is reached from it is.
      ahead.push({ at, isDone: true });
      for (const inner of reachedFrom(at, root)) ahead.push({ at: inner, isDone: false });
    }
  }
  return false;
}

function reachedFrom(at: unknown, root: JsonObject): readonly unknown[] {
  if (!isJsonObject(at)) return Array.isArray(at) ? at.filter(isWalked) : [];
  const reference = at["$ref"];
  const target = typeof reference === "string" ? targetOf(root, reference) : undefined;
  return [...insideOf(at), target].filter(isWalked);
}

/** An object or a list. Two of any other value are the same to a set, so it would be taken for what is above it. */
const isWalked = (value: unknown): boolean => typeof value === "object" && value !== null;

function targetOf(root: JsonObject, reference: string): unknown {
  let at: unknown = root;
  for (const name of reference.replace(/^#\/?/, "").split("/").filter(Boolean))
    at = isJsonObject(at) ? at[name] : undefined;
  return at;
}

const insideOf = ({ properties, items, anyOf, allOf, oneOf }: JsonObject): readonly unknown[] => [
  ...(isJsonObject(properties) ? Object.values(properties) : []),
  items,
  anyOf,
  allOf,
  oneOf,
];

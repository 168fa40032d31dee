// How much Anthropic holds a model to in one request; more is refused.

import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
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
  const needed: ReadonlySet<unknown> = new Set(Array.isArray(required) ? required : []);
  const own = named.map(([name, member]) => ({ isOptional: !needed.has(name), isUnion: isUnion(member) }));
  return [...own, ...insideOf(schema).flatMap(membersOf)];
}

const isUnion = (schema: unknown): boolean =>
  isJsonObject(schema) &&
  (Array.isArray(schema["type"]) || Array.isArray(schema["anyOf"]) || Array.isArray(schema["oneOf"]));

/** Whether it can be followed from reference to reference back to where it began. */
function refersToItself(root: JsonObject): boolean {
  const followed = new Set<unknown>();
  const reaches = (schema: unknown, above: readonly unknown[]): boolean => {
    if (Array.isArray(schema)) return schema.some((each) => reaches(each, above));
    if (!isJsonObject(schema)) return false;
    if (above.includes(schema)) return true;
    if (followed.has(schema)) return false;
    followed.add(schema);
    const target = typeof schema["$ref"] === "string" ? targetOf(root, schema["$ref"]) : undefined;
    return reaches([...insideOf(schema), target], [...above, schema]);
  };
  return reaches(root, []);
}

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

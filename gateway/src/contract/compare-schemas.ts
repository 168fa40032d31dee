import { isJsonObject, type JsonObject } from "../platform/json.ts";
import { listIn, objectIn, resolve } from "./contract-document.ts";

/** One difference. It breaks when a caller that was right before can be wrong now. */
export interface Change {
  readonly kind: string;
  readonly at: string;
  readonly breaking: boolean;
  readonly reason: string;
}

/** A document on each side, and who sends what is described: callers suffer from narrower requests and wider answers. */
export interface Sides {
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly direction: "request" | "response";
  /** Named schemas that are being compared already: one that refers to itself is compared once. */
  readonly inside?: ReadonlySet<string>;
}

export function compareSchemas(
  from: Sides,
  beforeWritten: unknown,
  afterWritten: unknown,
  at: string,
): Change[] {
  const sides = entering(from, beforeWritten, afterWritten);
  if (!sides) return [];
  const before = resolve(sides.before, beforeWritten);
  const after = resolve(sides.after, afterWritten);
  return [
    ...compareTypes(sides, before, after, at),
    ...compareWords(sides, before, after, at),
    ...compareBounds(sides, before, after, at),
    ...compareMembers(sides, before, after, at),
    ...compareAlternatives(sides, before, after, at),
    ...("items" in before || "items" in after
      ? compareSchemas(sides, before["items"], after["items"], `${at}[]`)
      : []),
  ];
}

/** Undefined when these two names are being compared already. */
function entering(sides: Sides, before: unknown, after: unknown): Sides | undefined {
  if (!isReference(before) || !isReference(after)) return sides;
  const names = JSON.stringify([before, after]);
  if (sides.inside?.has(names) === true) return undefined;
  return { ...sides, inside: new Set([...(sides.inside ?? []), names]) };
}

function compareTypes({ direction }: Sides, before: JsonObject, after: JsonObject, at: string): Change[] {
  const was = typesOf(before);
  const is = typesOf(after);
  // An integer is a number, so a number takes everything an integer took.
  const takes = (types: readonly string[] | undefined, type: string): boolean =>
    types === undefined || types.includes(type) || (type === "integer" && types.includes("number"));
  const gone = (was ?? (is ? ["anything"] : [])).filter((type) => !takes(is, type));
  const come = (is ?? (was ? ["anything"] : [])).filter((type) => !takes(was, type));
  return [
    ...gone.map((type) =>
      changed("type_narrowed", at, direction === "request", `${type} is not taken any more`),
    ),
    ...come.map((type) =>
      changed("type_widened", at, direction === "response", `${type} can stand here too`),
    ),
  ];
}

/** Undefined when any type will do. */
function typesOf(schema: JsonObject): readonly string[] | undefined {
  const { type } = schema;
  if (typeof type === "string") return schema["nullable"] === true ? [type, "null"] : [type];
  return Array.isArray(type) ? type.map(String) : undefined;
}

function compareWords({ direction }: Sides, before: JsonObject, after: JsonObject, at: string): Change[] {
  const was = wordsOf(before);
  const is = wordsOf(after);
  if (!was && !is) return [];
  const narrowing = direction === "request";
  if (!was) return [changed("values_limited", at, narrowing, "only certain values are left")];
  if (!is) return [changed("values_freed", at, false, "any value can stand here")];
  return [
    ...was
      .filter((word) => !is.includes(word))
      .map((word) => changed("value_removed", at, narrowing, `${word} is gone`)),
    // Callers are told to expect codes they do not know, so another word in an answer breaks nobody.
    ...is
      .filter((word) => !was.includes(word))
      .map((word) => changed("value_added", at, false, `${word} is new`)),
  ];
}

function wordsOf(schema: JsonObject): readonly string[] | undefined {
  if ("const" in schema) return [JSON.stringify(schema["const"])];
  return Array.isArray(schema["enum"]) ? schema["enum"].map((word) => JSON.stringify(word)) : undefined;
}

const lowerBounds = ["minimum", "minLength", "minItems", "exclusiveMinimum"] as const;
const upperBounds = ["maximum", "maxLength", "maxItems", "exclusiveMaximum"] as const;

function compareBounds({ direction }: Sides, before: JsonObject, after: JsonObject, at: string): Change[] {
  const changes: Change[] = [];
  const compare = (name: string, stricter: (was: number, is: number) => boolean, none: number): void => {
    const was = numberIn(before, name) ?? none;
    const is = numberIn(after, name) ?? none;
    if (was === is) return;
    const narrower = stricter(was, is);
    const breaking = narrower === (direction === "request");
    changes.push(
      changed(narrower ? "bound_narrowed" : "bound_widened", at, breaking, `${name}: ${was} became ${is}`),
    );
  };
  for (const name of lowerBounds) compare(name, (was, is) => is > was, -Infinity);
  for (const name of upperBounds) compare(name, (was, is) => is < was, Infinity);
  if (before["pattern"] !== after["pattern"]) {
    const breaking = direction === "request" && after["pattern"] !== undefined;
    changes.push(changed("pattern_changed", at, breaking, "another pattern is asked for"));
  }
  return changes;
}

function numberIn(schema: JsonObject, name: string): number | undefined {
  const value = schema[name];
  return typeof value === "number" ? value : undefined;
}

function compareMembers(sides: Sides, before: JsonObject, after: JsonObject, at: string): Change[] {
  const request = sides.direction === "request";
  const was = objectIn(before, "properties");
  const is = objectIn(after, "properties");
  const neededBefore = listIn(before, "required");
  const neededAfter = listIn(after, "required");
  const changes: Change[] = [];
  for (const name of Object.keys({ ...was, ...is })) {
    const place = `${at}.${name}`;
    const needed = neededAfter.includes(name);
    if (!(name in is)) changes.push(changed("member_removed", place, true, "it is gone"));
    else if (!(name in was)) {
      const reason = needed ? "it is new and required" : "it is new";
      changes.push(changed("member_added", place, request && needed, reason));
    } else {
      if (needed && !neededBefore.includes(name)) {
        changes.push(changed("became_required", place, request, "it must be there now"));
      }
      if (!needed && neededBefore.includes(name)) {
        changes.push(changed("became_optional", place, !request, "it need not be there any more"));
      }
      changes.push(...compareSchemas(sides, was[name], is[name], place));
    }
  }
  if (before["additionalProperties"] !== false && after["additionalProperties"] === false) {
    changes.push(changed("members_closed", at, request, "members that are not named are refused"));
  }
  return changes;
}

/** Equal alternatives cancel out; as many left on both sides are taken to be the same ones, changed. */
function compareAlternatives(sides: Sides, before: JsonObject, after: JsonObject, at: string): Change[] {
  const request = sides.direction === "request";
  const texts = (list: readonly unknown[]): string[] => list.map((one) => JSON.stringify(one));
  const was = listIn(before, "anyOf");
  const is = listIn(after, "anyOf");
  const left = was.filter((one) => !texts(is).includes(JSON.stringify(one)) || isReference(one));
  const right = is.filter((one) => !texts(was).includes(JSON.stringify(one)) || isReference(one));
  if (left.length === right.length) {
    return left.flatMap((one, index) => compareSchemas(sides, one, right[index], at));
  }
  return left.length > right.length
    ? [changed("alternative_removed", at, request, "one of several forms is gone")]
    : [changed("alternative_added", at, !request, "there is another form")];
}

/** The same name may stand for something else on the other side. */
const isReference = (schema: unknown): boolean => isJsonObject(schema) && "$ref" in schema;

export const changed = (kind: string, at: string, breaking: boolean, reason: string): Change => ({
  kind,
  at,
  breaking,
  reason,
});

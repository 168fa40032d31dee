// Tools are called with the ids of posts and orders, and many of those are integers that no number can hold. Others are written
// short, as 1e20 is, and would come out five times as long as what was held for them. Between two dialects the arguments and the
// schemas of tools are parsed and written again, so such numbers stay as they were written. Nobody counts with them here.

import { isJsonObject, isNestedDeeper, valuesIn, type JsonObject } from "../../platform/json.ts";

/** What the language has and its types do not know yet. */
declare global {
  interface JSON {
    parse(
      text: string,
      revive: (name: string, value: unknown, written: { source: string }) => unknown,
    ): unknown;
    rawJSON: (text: string) => unknown;
    isRawJSON: (value: unknown) => boolean;
  }
}

/**
 * The arguments of a tool, given as text. Throws as `JSON.parse` does, also where they hold more, or nest it deeper, than a
 * body may: that would keep everybody else waiting, and could not be written again.
 */
export function parseArguments(text: string): unknown {
  if (valuesIn(text) === undefined) throw new RangeError("The arguments of a tool hold too much.");
  return mayChange(text) ? JSON.parse(text, asWritten) : JSON.parse(text);
}

/**
 * What was read of a request, answer or event in which schemas, the arguments of a tool, or what it gave back, stand as JSON of
 * their own: there every number is as the text says. It comes back as it is where none would change.
 */
export function withExactNumbers(json: unknown, text: string): unknown {
  if (!mayChange(text) || isTooDeep(text)) return json;
  try {
    return withExactMembers(json, JSON.parse(text, asWritten));
  } catch {
    return json;
  }
}

/** An object, as a call's arguments or a schema have to be. To the language a number that is kept as it was written is one, too. */
export const isWrittenObject = (value: unknown): value is JsonObject =>
  isJsonObject(value) && !JSON.isRawJSON(value);

/**
 * Whether what a vendor wrote is nested as no model nests it. To write it again takes longer the deeper it is, and at last
 * there is no room for it on the stack.
 */
export const isTooDeep = (text: string): boolean =>
  // What opens so often is as long. Most events of a stream are shorter, and not looked through for it.
  text.length > depthMax && isNestedDeeper(text, depthMax);

/** The arguments of a tool, given as a value, as text; undefined where they are nested like that. */
export const textOfArguments = (value: unknown): string | undefined =>
  isWithin(depthMax, value) ? JSON.stringify(value) : undefined;

const isWithin = (depth: number, value: unknown): boolean =>
  typeof value !== "object" ||
  value === null ||
  (depth > 0 && Object.values(value).every((inner) => isWithin(depth - 1, inner)));

const depthMax = 500;

/**
 * An integer may lose digits that is as long as the first that is too long, and only a number with an exponent may come out
 * longer. Names, numbers of cards and images may look alike and change nothing.
 */
const mayChange = (text: string): boolean => /\d{16}|[:,[\s]-?\d[\d.]*[eE]/.test(text);

const asWritten = (_name: string, value: unknown, { source }: { readonly source: string }): unknown =>
  typeof value === "number" && String(value) !== source ? JSON.rawJSON(source) : value;

/** Elsewhere a number is what it is to everybody who reads it. */
function withExactMembers(read: unknown, exact: unknown): unknown {
  if (Array.isArray(read) && Array.isArray(exact)) {
    return read.map((element, at) => withExactMembers(element, exact[at]));
  }
  if (!isJsonObject(read) || !isJsonObject(exact)) return read;
  return Object.fromEntries(
    Object.entries(read).map(([name, inner]) => {
      const written = exact[name];
      const isKept = argumentsNames.has(name) || (schemaNames.test(name) && isJsonObject(inner));
      return [name, isKept ? (written ?? inner) : withExactMembers(inner, written)];
    }),
  );
}

/**
 * The members that hold arguments: Anthropic's in its calls, Google's in its calls and results, and those of vendors who write
 * an object where OpenAI writes a text.
 */
const argumentsNames: ReadonlySet<string> = new Set(["input", "args", "response", "arguments"]);

/** The members that hold what arguments or answers have to look like, in every dialect. */
const schemaNames = /^parameters$|schema$/i;

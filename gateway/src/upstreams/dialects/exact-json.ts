// Tools are called with the ids of posts and orders, and many of those are integers that no number can hold. Between two
// dialects arguments are parsed and written again, so such integers are kept digit by digit. Nobody counts with them here.

import { isJsonObject, isNestedDeeper, valuesIn } from "../../platform/json.ts";

/** What the language has and its types do not know yet. */
declare global {
  interface JSON {
    parse(
      text: string,
      revive: (name: string, value: unknown, written: { source: string }) => unknown,
    ): unknown;
    rawJSON: (text: string) => unknown;
  }
}

/**
 * The arguments of a tool, given as text. Throws as `JSON.parse` does, also where they hold more, or nest it deeper, than a
 * body may: that would keep everybody else waiting, and could not be written again.
 */
export function parseArguments(text: string): unknown {
  if (valuesIn(text) === undefined) throw new RangeError("The arguments of a tool hold too much.");
  return mayLoseDigits(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
}

/**
 * What was read of a request, answer or event in which a tool's arguments, or what it gave back, stand as JSON of their
 * own: there every digit is as the text says. It comes back as it is where nothing was lost.
 */
export function withExactArguments(json: unknown, text: string): unknown {
  if (!mayLoseDigits(text) || isTooDeep(text)) return json;
  try {
    return inArguments(json, JSON.parse(text, keepDigits));
  } catch {
    return json;
  }
}

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

/** As long as the first integer that is too long. Names, numbers of cards and images may be as long and lose nothing. */
const mayLoseDigits = (text: string): boolean => /\d{16}/.test(text);

function keepDigits(_name: string, value: unknown, { source }: { readonly source: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value) || !/^-?\d+$/.test(source)) return value;
  return JSON.rawJSON(source);
}

/**
 * The members that hold arguments: Anthropic's in its calls, Google's in its calls and results, and those of vendors who write
 * an object where OpenAI writes a text.
 */
const argumentsNames: ReadonlySet<string> = new Set(["input", "args", "response", "arguments"]);

/** Elsewhere a number is what it is to everybody who reads it. */
function inArguments(read: unknown, exact: unknown): unknown {
  if (Array.isArray(read) && Array.isArray(exact)) {
    return read.map((element, at) => inArguments(element, exact[at]));
  }
  if (!isJsonObject(read) || !isJsonObject(exact)) return read;
  return Object.fromEntries(
    Object.entries(read).map(([name, inner]) => {
      const written = exact[name];
      return [name, argumentsNames.has(name) ? (written ?? inner) : inArguments(inner, written)];
    }),
  );
}

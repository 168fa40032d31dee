// The vendor takes every member in camelCase and in snake_case. Read once into camelCase, everything after
// needs to know one name only. What callers name themselves (arguments, schemas, results) stays as it is.

import { isObject } from "../../vendor.ts";

const ownNames: ReadonlySet<string> = new Set([
  "args",
  "response",
  "parameters",
  "parametersJsonSchema",
  "responseSchema",
  "responseJsonSchema",
  "labels",
]);

export function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCamelCase);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      return [camel, ownNames.has(camel) ? member : inCamelCase(member)];
    }),
  );
}

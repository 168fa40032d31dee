// Members of a request, read strictly: absent or null is undefined, and a wrong type is refused by its name.

import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import { Inexpressible } from "../dialect.ts";

const readerOf =
  <T>(is: (value: unknown) => value is T, what: string) =>
  (value: unknown, field: string): T | undefined => {
    if (value === undefined || value === null) return undefined;
    if (is(value)) return value;
    throw new Inexpressible(field, `must be ${what}`);
  };

export const readNumber = readerOf((value): value is number => Number.isFinite(value), "a finite number");
export const readText = readerOf((value): value is string => typeof value === "string", "a text");
export const readFlag = readerOf((value): value is boolean => typeof value === "boolean", "true or false");
export const readObject = readerOf(isJsonObject, "an object");
export const readList = readerOf((value): value is readonly unknown[] => Array.isArray(value), "a list");

export function requireText(value: unknown, field: string): string {
  const text = readText(value, field);
  if (text === undefined) throw new Inexpressible(field, "is missing");
  return text;
}

export function requireObject(value: unknown, field: string): JsonObject {
  const object = readObject(value, field);
  if (object === undefined) throw new Inexpressible(field, "is missing");
  return object;
}

/** A member nobody reads is refused by its name, unless it says nothing. */
export function refuseOthers(object: JsonObject, known: ReadonlySet<string>, field: string): void {
  const other = Object.keys(object).find((name) => !known.has(name) && !saysNothing(object[name]));
  if (other === undefined) return;
  throw new Inexpressible(`${field}.${other}`, "cannot be translated for this model; leave it out");
}

export const saysNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === false || (Array.isArray(value) && value.length === 0);

// Members of a caller's request. Absent and null are the same; one of the wrong type is refused by its name.

import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import { Inexpressible } from "../dialect.ts";

export function optionalNumber(value: unknown, field: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number") return value;
  throw new Inexpressible(field, "must be a number");
}

export function optionalString(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  return requiredString(value, field);
}

export function requiredString(value: unknown, field: string): string {
  if (typeof value === "string") return value;
  throw new Inexpressible(field, "must be a string");
}

export function optionalObject(value: unknown, field: string): JsonObject | undefined {
  if (value === undefined || value === null) return undefined;
  return requiredObject(value, field);
}

export function requiredObject(value: unknown, field: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw new Inexpressible(field, "must be an object");
}

export function optionalList(value: unknown, field: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw new Inexpressible(field, "must be a list");
}

/** Nothing is said by these, whatever the member is. */
export const isSilent = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0);

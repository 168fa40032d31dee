// Small readers of JSON somebody else wrote.

import { isObject } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const objectsOf = (value: unknown): readonly JsonObject[] => listOf(value).filter(isObject);

/** The object, or an empty one. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});

/** The string, or an empty one. */
export const stringOf = (value: unknown): string => (typeof value === "string" ? value : "");

export const stringOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

export const numberOrNull = (value: unknown): number | null => (typeof value === "number" ? value : null);

/** The value that a JSON text holds; a text that is not JSON stands for itself. */
export function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

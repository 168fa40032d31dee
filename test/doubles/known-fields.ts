// Vendors that refuse a field they do not know, at any depth.

import { isObject } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

/** What may stand in a place: anything, an object of known fields (or a list of such), or it depends. */
export type Shape = "any" | { readonly [name: string]: Shape } | ((value: JsonObject) => Shape);

/** The path to the first unknown field, outermost first. */
export function strangePath(value: unknown, shape: Shape): readonly string[] | undefined {
  if (shape === "any") return undefined;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const path = strangePath(item, shape);
      if (path) return [`${index}`, ...path];
    }
    return undefined;
  }
  if (!isObject(value)) return undefined;
  if (typeof shape === "function") return strangePath(value, shape(value));
  for (const [name, member] of Object.entries(value)) {
    const known = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (known === undefined) return [name];
    const path = strangePath(member, known);
    if (path) return [name, ...path];
  }
  return undefined;
}

/** An object of these fields, whatever they hold. */
export const fields = (...names: readonly string[]): { readonly [name: string]: Shape } =>
  Object.fromEntries(names.map((name) => [name, "any"]));

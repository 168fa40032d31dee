// The vendor takes one message where it has a list of them.

import { isObject } from "../../vendor.ts";

/** The elements of a list; of anything but a list or one object none. */
export function oneOrMore(value: unknown): readonly unknown[] {
  if (isObject(value)) return [value];
  return Array.isArray(value) ? value : [];
}

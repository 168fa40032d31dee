/** Stands in the place of what was left out, because programs and models read on from there. */
const shortened = "… (shortened)";

/** Below this nothing worth reading fits, not even the word that something was left out. */
export const worthBytes = 48;

/**
 * A JSON value that takes at most so many bytes when it is written, and is still JSON: long texts end early, lists keep
 * their first elements, and objects keep their members, which share the room. What fits stays as it is.
 */
export function fitInto(value: unknown, bytesMax: number): unknown {
  const sizes: Sizes = new Map();
  return measure(value, sizes) <= bytesMax ? value : fit(value, Math.max(bytesMax, worthBytes), sizes);
}

export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** How much each may take at most, so that all of them have room and what the small ones leave goes to the others. */
export function fairShare(sizes: readonly number[], room: number): number {
  let left = room;
  let sharers = sizes.length;
  for (const size of sizes.toSorted((a, b) => a - b)) {
    if (size * sharers > left) return Math.floor(left / sharers);
    left -= size;
    sharers--;
  }
  return Infinity;
}

/** Each list and object is measured once, however deep it lies. */
type Sizes = Map<object, number>;

const emptyBytes = "[]".length;

function measure(value: unknown, sizes: Sizes): number {
  if (typeof value === "string") return jsonBytes(value);
  if (typeof value !== "object" || value === null) return String(value).length;
  const known = sizes.get(value);
  if (known !== undefined) return known;
  // The opening bracket; whatever is inside is followed by a comma or by the closing one.
  let bytes = 1;
  if (Array.isArray(value)) for (const element of value) bytes += measure(element, sizes) + 1;
  else
    for (const [name, inner] of Object.entries(value)) bytes += jsonBytes(name) + measure(inner, sizes) + 2;
  const written = Math.max(bytes, emptyBytes);
  sizes.set(value, written);
  return written;
}

function fit(value: unknown, room: number, sizes: Sizes): unknown {
  if (measure(value, sizes) <= room) return value;
  if (typeof value === "string") return fitText(value, room);
  if (Array.isArray(value)) return fitList(value, room, sizes);
  // Nothing else is longer than what is worth writing.
  return fitMembers(value as object, room, sizes);
}

function fitText(text: string, room: number): string {
  const most = room - Buffer.byteLength(shortened);
  let kept = text.slice(0, most);
  for (let bytes = jsonBytes(kept); bytes > most; bytes = jsonBytes(kept)) {
    kept = kept.slice(0, Math.floor((kept.length * most) / bytes));
  }
  // Half of a character would read as a replacement sign.
  return `${kept.replace(/[\uD800-\uDBFF]$/, "")}${shortened}`;
}

function fitList(list: readonly unknown[], room: number, sizes: Sizes): unknown[] {
  const kept: unknown[] = [];
  let left = room - worthBytes;
  for (const element of list) {
    const bytes = measure(element, sizes) + 1;
    if (bytes > left) break;
    kept.push(element);
    left -= bytes;
  }
  // A part of the first one tells more than the number of all.
  if (kept.length === 0 && left >= worthBytes) kept.push(fit(list[0], left - 1, sizes));
  return kept.length === list.length ? kept : [...kept, `… and ${list.length - kept.length} more`];
}

function fitMembers(value: object, room: number, sizes: Sizes): object {
  const all = Object.entries(value);
  const named: [string, unknown][] = [];
  let left = room - worthBytes;
  for (const [name, inner] of all) {
    const least = jsonBytes(name) + 2 + Math.min(measure(inner, sizes), worthBytes);
    if (least > left) break;
    named.push([name, inner]);
    left -= least;
  }
  const rooms = named.map(([, inner]) => measure(inner, sizes));
  const least = rooms.reduce((sum, bytes) => sum + Math.min(bytes, worthBytes), 0);
  const share = fairShare(rooms, left + least);
  const kept = named.map(([name, inner]): [string, unknown] => [name, fit(inner, share, sizes)]);
  if (named.length < all.length) kept.push(["…", `and ${all.length - named.length} more`]);
  return Object.fromEntries(kept);
}

// JSON of strangers: what a text must look like before anything parses or prices it, and how values are read that may be
// anything. The scan is one pass that skips strings natively, so its cost follows the structure of the text and not its length.

export const jsonDepthMax = 64;
export const jsonValuesMaxUsual = 100_000;

export type JsonObject = Readonly<Record<string, unknown>>;

export type ParsedJson =
  | { readonly ok: true; readonly value: unknown; readonly plainNames: boolean }
  | { readonly ok: false; readonly why: string };

/** However it is spelled: JSON lets every letter be escaped, and blanks may stand before the colon. */
const forbiddenMember =
  /"(?:_|\\u005[fF]){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006[fF])(?:t|\\u0074)(?:o|\\u006[fF])(?:_|\\u005[fF]){2}"\s*:/y;
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function parseJson(bytes: Uint8Array, valuesMax = jsonValuesMaxUsual): ParsedJson {
  let text: string;
  try {
    text = strictUtf8.decode(bytes);
  } catch {
    return { ok: false, why: "the body is not valid UTF-8" };
  }
  if (text.trim() === "") return { ok: false, why: "the body is empty; JSON is expected" };
  const shape = scanShape(text, valuesMax);
  if (typeof shape === "string") return { ok: false, why: shape };

  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, why: "the body is not valid JSON" };
  }
  // A member given twice would be priced by its last value, while the upstream might read the first.
  if (countMembers(value) !== shape.members) {
    return { ok: false, why: "a member of the body is given twice" };
  }
  if (mayNameConstructor(text) && reachesPrototype(value)) {
    return { ok: false, why: 'the member "constructor.prototype" is not allowed' };
  }
  return { ok: true, value, plainNames: shape.plainNames };
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const objectOrEmpty = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

export const listOrEmpty = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The elements of a list that are objects. */
export const objectsIn = (value: unknown): readonly JsonObject[] => listOrEmpty(value).filter(isJsonObject);

/** Members at every depth: of one that is written twice only the last is left, so there are fewer than in the text. */
function countMembers(value: unknown): number {
  let members = 0;
  if (Array.isArray(value)) {
    for (const element of value) if (typeof element === "object") members += countMembers(element);
  }
  if (!isJsonObject(value)) return members;
  for (const name in value) {
    const inner = value[name];
    members++;
    if (typeof inner === "object") members += countMembers(inner);
  }
  return members;
}

/** Only a text with this word in it, or with escapes it may hide behind, is worth another walk. */
const mayNameConstructor = (text: string): boolean => text.includes("constructor") || text.includes("\\u");

/** The other way to what all objects share. A member that merely has the name `constructor` does no harm. */
function reachesPrototype(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(reachesPrototype);
  if (!isJsonObject(value)) return false;
  const constructor = Object.hasOwn(value, "constructor") ? value["constructor"] : undefined;
  if (isJsonObject(constructor) && Object.hasOwn(constructor, "prototype")) return true;
  return Object.values(value).some(reachesPrototype);
}

interface Shape {
  readonly members: number;
  /** No member has a capital in its name, nor a letter from elsewhere or an escape behind which one may be. */
  readonly plainNames: boolean;
}

function scanShape(text: string, valuesMax: number): Shape | string {
  let depth = 0;
  let values = 1;
  let members = 0;
  let plainNames = true;
  let stringStart = 0;
  let stringEnd = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        if (isForbiddenMember(text, at)) return 'the member "__proto__" is not allowed';
        stringStart = at;
        at = endOfString(text, at);
        stringEnd = at;
        break;
      case 0x7b: // {
      case 0x5b: // [
        depth++;
        values++;
        if (depth > jsonDepthMax) return `the body is nested deeper than ${jsonDepthMax}`;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth--;
        break;
      case 0x2c: // ,
        values++;
        break;
      case 0x3a: // :
        members++;
        // Each string once: in a text that is no JSON any number of colons may follow one.
        plainNames &&= isPlain(text, stringStart, stringEnd);
        stringStart = stringEnd;
        break;
    }
    if (values > valuesMax) return `the body has more than ${valuesMax} values`;
  }
  return { members, plainNames };
}

function isPlain(text: string, start: number, end: number): boolean {
  for (let at = start + 1; at < end; at++) {
    const code = text.charCodeAt(at);
    // From A to the backslash.
    if (code > 0x7e || (code >= 0x41 && code <= 0x5c)) return false;
  }
  return true;
}

/** Whether a text opens more objects and arrays within each other than that; it need not be JSON. */
export const isNestedDeeper = (text: string, than: number): boolean =>
  valuesIn(text, { depthMax: than, valuesMax: Number.POSITIVE_INFINITY }) === undefined;

/**
 * How many values are in a text that need not be JSON, for whoever parses what stood in a body as a string. Undefined where
 * there are more, or they are nested deeper, than a body itself may have.
 */
export function valuesIn(
  text: string,
  { depthMax, valuesMax }: JsonBounds = { depthMax: jsonDepthMax, valuesMax: jsonValuesMaxUsual },
): number | undefined {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = endOfString(text, at);
    else if (code === 0x2c) values++;
    else if (code === 0x7b || code === 0x5b) {
      depth++;
      values++;
    } else if (code === 0x7d || code === 0x5d) depth--;
    if (depth > depthMax || values > valuesMax) return undefined;
  }
  return values;
}

interface JsonBounds {
  readonly depthMax: number;
  readonly valuesMax: number;
}

/** Only a string that begins like the forbidden name, or with an escape, is worth the pattern. */
function isForbiddenMember(text: string, at: number): boolean {
  const first = text.charCodeAt(at + 1);
  if (first !== 0x5f && first !== 0x5c) return false;
  forbiddenMember.lastIndex = at;
  return forbiddenMember.test(text);
}

/** Where the string that begins at `start` ends; base64 images make strings long, so they are skipped natively. */
export function endOfString(text: string, start: number): number {
  let end = start;
  for (;;) {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
}

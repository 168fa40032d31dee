// What every vendor double does the same way: read the request, override figures, keep the book.

import { headerValues } from "./http-wire.ts";
import type { HeaderPair } from "./http-wire.ts";
import type { Answer } from "./scripted-answer.ts";
import type { RecordedRequest, VendorDouble } from "./vendor-double.ts";

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

export type JsonObject = Readonly<Record<string, unknown>>;

/** One line of what the vendor would put on its invoice. */
export interface BookEntry<Billed extends object> {
  /** The id the vendor gave the request and told the caller; null where the vendor gives none. */
  readonly requestId: string | null;
  readonly billed: Billed;
  readonly request: RecordedRequest;
}

export type BookkeepingDouble<Billed extends object> = VendorDouble & {
  readonly book: readonly BookEntry<Billed>[];
};

/** As an override: the member is left out of the answer altogether. */
export const omitted: unique symbol = Symbol("omitted");

/** A test's own figure, any JSON at all, so that a vendor can lie; or a function of the request. */
export type Override<Input> = JsonValue | typeof omitted | ((input: Input) => JsonValue | typeof omitted);

/** The member as it goes on the wire; `undefined` (which JSON drops) when omitted. */
export const resolveOverride = <Input>({
  override,
  input,
  honest,
}: {
  readonly override: Override<Input> | undefined;
  readonly input: Input;
  readonly honest: JsonValue;
}): JsonValue | undefined => {
  const chosen = typeof override === "function" ? override(input) : override;
  if (chosen === undefined) return honest;
  return chosen === omitted ? undefined : chosen;
};

/** Exactly one header, exactly this value: a joined or repeated credential is none. */
export function hasHeader(
  { headers }: RecordedRequest,
  { name, value }: { readonly name: string; readonly value: string },
): boolean {
  const values = headerValues(headers, name);
  return values.length === 1 && values[0] === value;
}

export function hasBearer(request: RecordedRequest, key: string): boolean {
  const values = headerValues(request.headers, "authorization");
  return values.length === 1 && /^bearer +(\S+)$/i.exec(values[0] ?? "")?.[1] === key;
}

/** The JSON object of a body sent as `application/json`, else why it cannot be read. */
export function readJsonObject(request: RecordedRequest): JsonObject | string {
  const types = headerValues(request.headers, "content-type");
  const isJson = types.length === 1 && /^application\/json *(;|$)/i.test(types[0] ?? "");
  if (!isJson) return `Content-Type must be application/json, not ${types.join(", ") || "absent"}`;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(request.body);
    const body: unknown = JSON.parse(text);
    return isObject(body) ? body : "the body is not a JSON object";
  } catch {
    return "the body is not valid JSON";
  }
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isPositiveInteger = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 1;

export const unknownField = (body: JsonObject, known: readonly string[]): string | undefined =>
  Object.keys(body).find((name) => !known.includes(name));

export function queryOf({ target }: RecordedRequest): URLSearchParams {
  const mark = target.indexOf("?");
  return new URLSearchParams(mark < 0 ? "" : target.slice(mark + 1));
}

export const jsonAnswer = (
  status: number,
  body: JsonObject,
  headers: readonly HeaderPair[] = [],
): Answer => ({
  status,
  headers: [["Content-Type", "application/json"], ...headers],
  body: JSON.stringify(body),
});

export function withHeader(answer: Answer, header: HeaderPair): Answer {
  const { headers = [] } = answer;
  return { ...answer, headers: [...(isPairs(headers) ? headers : Object.entries(headers)), header] };
}

const isPairs = (headers: NonNullable<Answer["headers"]>): headers is readonly HeaderPair[] =>
  Array.isArray(headers);

/** Ids that count up: the same test sees the same ids. */
export function createIds(prefix: string): () => string {
  let last = 0;
  return () => {
    last += 1;
    return `${prefix}${String(last).padStart(12, "0")}`;
  };
}

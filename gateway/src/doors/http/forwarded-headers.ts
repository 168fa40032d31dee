import type { Conventions } from "../../offer/conventions.ts";
import type { HttpHeaders } from "../../platform/http-request.ts";

/** Headers that are part of a dialect and not of the connection: they say how the body is to be understood. */
const partOfTheDialect = ["anthropic-version", "anthropic-beta"] as const;

/** Visible ASCII, so that nothing in it can end the header or begin another. */
const plain = /^[\x20-\x7e]{1,1000}$/;

/** What travels with the body to an upstream of the caller's own dialect; every other header stays here. */
export function forwardedHeaders(
  headers: HttpHeaders,
  { dialect }: Conventions,
): Readonly<Record<string, string>> {
  if (dialect !== "anthropic") return none;
  const forwarded: Record<string, string> = {};
  for (const name of partOfTheDialect) {
    const value = headers.get(name);
    if (value !== null && plain.test(value)) forwarded[name] = value;
  }
  return forwarded;
}

const none = Object.freeze({});

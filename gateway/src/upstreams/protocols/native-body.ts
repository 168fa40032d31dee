import { isJsonObject } from "../../platform/json.ts";
import { membersAsWritten } from "./json-members.ts";

/** Members by which a caller could send the operator's key elsewhere; they never leave this process. */
const notForUpstreams: ReadonlySet<string> = new Set([
  "api_base",
  "api_key",
  "base_url",
  "endpoint",
  "proxy",
  "extra_headers",
  "extra_body",
  "user_api_key",
]);

/**
 * The body as it came, byte for byte, unless something must change: `set` replaces or adds members, and those
 * that are not for upstreams are dropped. What stays is never written anew.
 */
export function nativeBody(
  raw: Uint8Array,
  parsed: unknown,
  set: Readonly<Record<string, unknown>>,
): string | Uint8Array {
  const body = isJsonObject(parsed) ? parsed : {};
  const clean = !Object.keys(body).some((name) => notForUpstreams.has(name));
  if (clean && Object.keys(set).length === 0) return raw;
  const members = membersAsWritten(decoder.decode(raw));
  for (const name of notForUpstreams) members.delete(name);
  for (const [name, value] of Object.entries(set)) {
    members.set(name, `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  }
  return `{${[...members.values()].join(",")}}`;
}

const decoder = new TextDecoder();

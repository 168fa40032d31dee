import { objectOrEmpty, type JsonObject } from "../../platform/json.ts";
import { notForUpstreams } from "../not-for-upstreams.ts";
import { membersAsWritten } from "../answers/json-members.ts";

/**
 * The body as it came, byte for byte, unless something must change: `set` replaces or adds members, or drops those that
 * are undefined in it, and those that are not for upstreams are dropped. What stays is never written anew.
 */
export function nativeBody(
  raw: Uint8Array,
  parsed: unknown,
  set: Readonly<Record<string, unknown>>,
): string | Uint8Array {
  const body = objectOrEmpty(parsed);
  if (isClean(body) && Object.keys(set).length === 0) return raw;
  const members = membersAsWritten(decoder.decode(raw));
  for (const name of members.keys()) if (isDropped(name)) members.delete(name);
  for (const [name, value] of Object.entries(set)) {
    if (value === undefined) members.delete(name);
    else members.set(name, `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  }
  return `{${[...members.values()].join(",")}}`;
}

function isClean(body: JsonObject): boolean {
  for (const name in body) if (isDropped(name)) return false;
  return true;
}

/** In any letters: some vendors read names so. */
const isDropped = (name: string): boolean => dropped.has(name) || dropped.has(name.toLowerCase());

const dropped: ReadonlySet<string> = new Set(notForUpstreams);

const decoder = new TextDecoder();

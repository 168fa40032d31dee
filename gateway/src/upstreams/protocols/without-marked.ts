// A history may hold what another vendor's model said, in an answer that we wrote: marked as in dialects/marks.ts. On its
// way to a vendor that speaks the caller's dialect it is taken out, and every other byte stays as the caller wrote it.

import type { CallInput } from "../../operation/operation.ts";
import { endOfString, isJsonObject, type JsonObject } from "../../platform/json.ts";
import { membersAsWritten, piecesAsWritten } from "./json-members.ts";

export interface ForeignRule {
  /** Words of which one occurs wherever there is something to take out. */
  readonly words: readonly string[];
  /** Whether an object is to go altogether, or which of its members are. */
  readonly judge: (object: JsonObject) => "all" | readonly string[];
}

/** The call without what is foreign in its body; the same call, its bytes only searched, where nothing is. */
export function withoutMarked(input: CallInput, rule: ForeignRule): CallInput {
  const { rawBody, body } = input;
  const bytes = Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength);
  if (!rule.words.some((word) => bytes.includes(word))) return input;
  const text = bytes.toString();
  const kept = rewrite(text, body, rule) ?? "{}";
  if (kept === text) return input;
  return { ...input, rawBody: Buffer.from(kept), body: JSON.parse(kept) as unknown };
}

/** Undefined where nothing of it stays: a message that only held what goes would be refused as empty. */
function rewrite(text: string, value: unknown, rule: ForeignRule): string | undefined {
  if (typeof value !== "object" || value === null || !rule.words.some((word) => text.includes(word)))
    return text;
  if (Array.isArray(value)) return rewriteList(text, value, rule);
  return isJsonObject(value) ? rewriteObject(text, value, rule) : text;
}

function rewriteList(text: string, values: readonly unknown[], rule: ForeignRule): string | undefined {
  const pieces = piecesAsWritten(text);
  const kept = pieces.map((piece, at) => rewrite(piece, values[at], rule));
  if (kept.every((piece, at) => piece === pieces[at])) return text;
  const stays = kept.filter((piece) => piece !== undefined);
  return stays.length === 0 ? undefined : `[${stays.join(",")}]`;
}

function rewriteObject(text: string, object: JsonObject, rule: ForeignRule): string | undefined {
  const gone = rule.judge(object);
  if (gone === "all") return undefined;
  const members = membersAsWritten(text);
  let changed = gone.length > 0;
  for (const name of gone) members.delete(name);
  for (const [name, written] of members) {
    const colon = written.indexOf(":", endOfString(written, 0));
    const value = written.slice(colon + 1).trim();
    const kept = rewrite(value, object[name], rule);
    if (kept === undefined) return undefined;
    if (kept === value) continue;
    members.set(name, written.slice(0, colon + 1) + kept);
    changed = true;
  }
  return changed ? `{${[...members.values()].join(",")}}` : text;
}

// A history may hold what another vendor's model said, in an answer that we wrote: marked as in dialects/marks.ts. On its
// way to a vendor that speaks the caller's dialect it is taken out or replaced, and every other byte stays as the caller
// wrote it.

import type { CallInput } from "../../operation/call-input.ts";
import { endOfString, isJsonObject, type JsonObject } from "../../platform/json.ts";
import { membersAsWritten, piecesAsWritten } from "../answers/json-members.ts";

export interface ForeignRule {
  /** Words of which one occurs wherever there is something to take out. */
  readonly words: readonly string[];
  /** The members in which the objects to judge stand; everything else is callers' own data and never looked into. */
  readonly places: Places;
  /** Whether an object is to go altogether, or which of its members are. */
  readonly judge: (object: JsonObject) => "all" | readonly string[];
  /** What takes the place of a member that goes, where its vendor asks for something there. */
  readonly instead?: (object: JsonObject, member: string) => string | undefined;
}

export interface Places {
  readonly [member: string]: Places;
}

/** The call without what is foreign in its body; the same call where nothing is, or where nothing would be left. */
export const withoutMarked = (input: CallInput, rule: ForeignRule): CallInput =>
  hasAnswers(input.body, rule.places) ? rewritten(input, rule) : input;

/** The same also where nobody has answered yet. */
export function rewritten(input: CallInput, rule: ForeignRule): CallInput {
  const { rawBody, body } = input;
  const bytes = Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength);
  if (!rule.words.some((word) => bytes.includes(word))) return input;
  const text = bytes.toString();
  const kept = isJsonObject(body) ? rewriteMembers(text, body, rule, rule.places) : text;
  if (kept === undefined || kept === text) return input;
  return { ...input, rawBody: Buffer.from(kept), body: JSON.parse(kept) as unknown };
}

/** Most calls begin a conversation, and what nobody has answered yet need not be searched. */
function hasAnswers(body: unknown, places: Places): boolean {
  if (!isJsonObject(body)) return false;
  for (const place in places) {
    const turns = body[place];
    if (!Array.isArray(turns)) {
      if (turns !== undefined) return true;
      continue;
    }
    for (const turn of turns as unknown[]) {
      if (isJsonObject(turn) && (turn["role"] === "assistant" || turn["role"] === "model")) return true;
    }
  }
  return false;
}

/** Undefined where nothing of it stays: a message that only held what goes would be refused as empty. */
function rewriteMembers(
  text: string,
  object: JsonObject,
  rule: ForeignRule,
  places: Places,
  gone: readonly string[] = [],
): string | undefined {
  const members = membersAsWritten(text);
  let changed = gone.length > 0;
  for (const name of gone) {
    const value = rule.instead?.(object, name);
    if (value === undefined) members.delete(name);
    else members.set(name, `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  }
  for (const [name, within] of Object.entries(places)) {
    const written = members.get(name);
    if (written === undefined) continue;
    const colon = written.indexOf(":", endOfString(written, 0));
    const value = written.slice(colon + 1).trim();
    const kept = rewrite(value, object[name], rule, within);
    if (kept === undefined) return undefined;
    if (kept === value) continue;
    members.set(name, written.slice(0, colon + 1) + kept);
    changed = true;
  }
  return changed ? `{${[...members.values()].join(",")}}` : text;
}

function rewrite(text: string, value: unknown, rule: ForeignRule, places: Places): string | undefined {
  if (!rule.words.some((word) => text.includes(word))) return text;
  if (Array.isArray(value)) return rewriteList(text, value, rule, places);
  if (!isJsonObject(value)) return text;
  const gone = rule.judge(value);
  return gone === "all" ? undefined : rewriteMembers(text, value, rule, places, gone);
}

function rewriteList(
  text: string,
  values: readonly unknown[],
  rule: ForeignRule,
  places: Places,
): string | undefined {
  const pieces = piecesAsWritten(text);
  const kept = pieces.map((piece, at) => rewrite(piece, values[at], rule, places));
  if (kept.every((piece, at) => piece === pieces[at])) return text;
  const stays = kept.filter((piece) => piece !== undefined);
  return stays.length === 0 ? undefined : `[${stays.join(",")}]`;
}

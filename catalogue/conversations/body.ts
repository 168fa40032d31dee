// What a conversation gives its model to read besides text, in whichever dialect: images and files in the body, and what
// lies elsewhere. Names mean the same wherever two dialects share them, so there is one rule for all.

import {
  DecidingNames,
  isJsonObject,
  type JsonObject,
} from "../../gateway/src/operation/define-operation.ts";
import { lookAtText, mayTell, mediaMembers, type FoundMedia } from "./media.ts";
import { lookAtPart } from "./part-types.ts";
import { lookAtTool, lookAtTools, type FoundTools } from "./tools.ts";
import { checkDearer, dearerNames, runsDearly } from "./dearer-members.ts";

type Asked = Pick<FoundTools, "comparesNames"> & Pick<FoundMedia, "goesByAddress">;

export interface ConversationInput extends Readonly<Omit<FoundTools & FoundMedia, keyof Asked>> {
  /** The member by which a spoken answer is asked for. */
  readonly spokenBy: string | undefined;
  /** The vendor may first sum up what was said, and bills that beside the answer. */
  readonly isSummedUp: boolean;
}

type Found = { -readonly [Name in keyof ConversationInput]: ConversationInput[Name] } & Asked;

/**
 * Only lists and objects are looked into, and of a text only its name, so a plain conversation is seen at a glance. A name
 * that means something, but for the case of its letters, is refused.
 */
export function readInput(body: JsonObject, { comparesNames, goesByAddress }: Asked): ConversationInput {
  const found: Found = {
    comparesNames,
    goesByAddress,
    unbounded: false,
    media: 0,
    shown: 0,
    recordedIn: undefined,
    mayBeHeard: false,
    spokenBy: undefined,
    images: 0,
    mediaBytes: 0,
    explainedTools: 0,
    isSummedUp: false,
    hasTools: false,
    hostedTool: undefined,
  };
  for (const name in body) {
    if (comparesNames) bodyNames.check(name);
    const member = body[name];
    if (member === null || member === undefined) continue;
    if (conversation.has(name)) look(member, name, found);
    else if (name === "tools") lookAtTools(member, name, found);
    else if (fetched.has(name) || (name === "thread" && continues(member))) addUnseen(found);
    else if (name === "compaction" || (name === "context_management" && compacts(member)))
      found.isSummedUp = true;
    else if (generation.has(name) && isJsonObject(member)) {
      checkDearer(member, `${name}.`);
      for (const inner in member) lookAtSpeech(inner, member[inner], `${name}.`, found);
    } else if (speech.has(name)) lookAtSpeech(name, member, "", found);
    else if (runsDearly(name, body)) {
      found.unbounded = true;
      found.hostedTool = name;
    }
  }
  return found;
}

/** Answers are spoken where one of the ways to answer is neither written nor drawn, or where a voice is chosen. */
function lookAtSpeech(name: string, member: unknown, path: string, found: Found): void {
  if (found.comparesNames) speechNames.check(name);
  if (!speech.has(name) || member === null || member === undefined) return;
  const isVoice = isJsonObject(member);
  const ways = Array.isArray(member) ? member : [member];
  if (isVoice || !ways.every(isSilentWay)) found.spokenBy = path + name;
}

/** Google takes the number of a way for its name. */
const isSilentWay = (way: unknown): boolean =>
  typeof way === "string" ? /^(?:text|image)$/i.test(way) : way === 1 || way === 2;

/** In the words of OpenAI and of Google, in whose configuration they stand. */
const speech: ReadonlySet<string> = new Set([
  "modalities",
  "audio",
  "responseModalities",
  "response_modalities",
  "speechConfig",
  "speech_config",
]);
const speechNames = new DecidingNames(speech);

const generation: ReadonlySet<string> = new Set(["generationConfig", "generation_config"]);

/** Whether an edit, of Anthropic's or in OpenAI's list, replaces what was said by a summary; others only leave out. */
function compacts(management: unknown): boolean {
  const edits = isJsonObject(management) ? management["edits"] : management;
  return (
    Array.isArray(edits) &&
    edits.some((edit) => isJsonObject(edit) && String(edit["type"]).startsWith("compact"))
  );
}

/** Whether Anthropic is to go on with what it holds; to begin holding is nothing to read. */
const continues = (thread: unknown): boolean => !isJsonObject(thread) || thread["type"] !== "create";

const conversation: ReadonlySet<string> = new Set([
  "messages",
  "system",
  "contents",
  "systemInstruction",
  "system_instruction",
  "input",
]);

/** Members of a body for which the vendor adds what it has stored, searched for or run. */
const fetched: ReadonlySet<string> = new Set([
  "previous_response_id",
  "conversation",
  "prompt",
  "container",
  "cachedContent",
  "cached_content",
  "continuationToken",
  "continuation_token",
]);

const bodyNames = new DecidingNames([
  ...conversation,
  ...fetched,
  ...dearerNames,
  ...speech,
  "tools",
  "thread",
  "compaction",
  "context_management",
]);

/** Where a tool's call, its answer, a quotation or a note of the caller's may call anything anyhow: nothing is read from there. */
const notReadFrom: ReadonlySet<string> = new Set([
  "input",
  "args",
  "arguments",
  "env",
  "response",
  "annotations",
  "citations",
  "attributes",
  "metadata",
  "partMetadata",
  "part_metadata",
]);

function look(value: unknown, under: string, found: Found): void {
  if (Array.isArray(value)) {
    for (const element of value) if (typeof element === "object") look(element, under, found);
    return;
  }
  if (!isJsonObject(value)) return;
  const shownBefore = found.shown;
  for (const name in value) {
    if (found.comparesNames) partNames.check(name);
    const inner = value[name];
    if (typeof inner === "string") {
      if (name === "type") {
        if (under === "input") lookAtItem(inner, value, found);
      } else if (mayTell(name)) lookAtText(name, inner, { under, beside: value }, found);
    } else if (typeof inner !== "object" || inner === null) continue;
    else if (name === "tools") lookAtTools(inner, `${under}.tools`, found);
    else if (name === "definition" && value["type"] === "tool_definition")
      lookAtTool(inner, `${under}.definition`, found);
    else if (!notReadFrom.has(name)) {
      if (Array.isArray(inner) && mayTell(name)) lookAtTexts(name, inner, { under, beside: value }, found);
      look(inner, isImageSource(name, value) ? "image_url" : name, found);
    }
  }
  lookAtPart(value, under, shownBefore, found);
}

/** A film as its frames, or several addresses where others give one. */
function lookAtTexts(
  name: string,
  list: readonly unknown[],
  where: { readonly under: string; readonly beside: JsonObject },
  found: Found,
): void {
  for (const element of list) if (typeof element === "string") lookAtText(name, element, where, found);
}

/** Anthropic's word for where an image is; that of a document may have any number of pages. */
const isImageSource = (name: string, { type }: JsonObject): boolean => name === "source" && type === "image";

const partNames = new DecidingNames([
  ...mediaMembers,
  "type",
  "tools",
  "definition",
  "media_type",
  "mimeType",
  "mime_type",
  "format",
]);

/** What a vendor adds of its own may be anything. */
function addUnseen(found: Found): void {
  found.unbounded = true;
  found.mayBeHeard = true;
}

function lookAtItem(type: string, item: JsonObject, found: Found): void {
  if (type === "compaction_trigger") found.isSummedUp = true;
  else if (isKeptByVendor(type, item)) found.unbounded = true;
}

/** Of some items the caller gives back only what they were: OpenAI has kept what was thought, drawn or found, and reads it. */
export function isKeptByVendor(type: string, item: JsonObject): boolean {
  const holder = holders[type];
  return holder !== undefined && (holder === null || typeof item[holder] !== "string");
}

/** The member that has all of such an item in it; null where none has. */
const holders: Readonly<Record<string, string | null | undefined>> = {
  reasoning: "encrypted_content",
  compaction: "encrypted_content",
  image_generation_call: "result",
  code_interpreter_call: null,
  file_search_call: null,
  web_search_call: null,
};

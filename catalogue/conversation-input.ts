// What a conversation gives its model to read besides text, in whichever dialect: images and files in the body, and what
// lies elsewhere. Names mean the same wherever two dialects share them, so there is one rule for all.

import { DecidingNames } from "../gateway/src/operation/define-operation.ts";

type JsonObject = Readonly<Record<string, unknown>>;

export interface ConversationInput {
  /** Tokens come in that the body's length says nothing about: from elsewhere, or from a file of any number of pages. */
  readonly unbounded: boolean;
  /** Images, recordings and files, in the body or elsewhere. */
  readonly media: number;
  /** Those of them that are images in the body. */
  readonly images: number;
  /** Bytes of the body that are media and not text. */
  readonly mediaBytes: number;
  /** Tools that the caller runs, and that the vendor explains to the model in words of its own. */
  readonly explainedTools: number;
  /** The vendor may first sum up what was said, and bills that beside the answer. */
  readonly isSummedUp: boolean;
  /** There are tools, about which some vendors say something to the model in words of their own. */
  readonly hasTools: boolean;
  /** The member by which a tool is asked for that its vendor runs: it bills by use, or reads on as often as it likes. */
  readonly hostedTool: string | undefined;
}

type Found = { -readonly [Name in keyof ConversationInput]: ConversationInput[Name] } & {
  /** There are names that are not in small letters, so each is compared with those that mean something. */
  readonly comparesNames: boolean;
};

/**
 * Only lists and objects are looked into, and of a text only its name, so a plain conversation is seen at a glance. A name
 * that means something, but for the case of its letters, is refused.
 */
export function readInput(
  body: JsonObject,
  { comparesNames }: { readonly comparesNames: boolean },
): ConversationInput {
  const found: Found = {
    comparesNames,
    unbounded: false,
    media: 0,
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
    else if (name === "tools") lookAtTools(member, found);
    else if (fetched.has(name)) found.unbounded = true;
    else if (name === "compaction" || (name === "context_management" && compacts(member)))
      found.isSummedUp = true;
    if (name === "web_search_options" || (name === "mcp_servers" && !isEmptyList(member)))
      found.hostedTool = name;
  }
  return found;
}

const isEmptyList = (member: unknown): boolean => Array.isArray(member) && member.length === 0;

/** Whether an edit, of Anthropic's or in OpenAI's list, replaces what was said by a summary; others only leave out. */
function compacts(management: unknown): boolean {
  const edits = isObject(management) ? management["edits"] : management;
  return (
    Array.isArray(edits) && edits.some((edit) => isObject(edit) && String(edit["type"]).startsWith("compact"))
  );
}

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
  "mcp_servers",
  "web_search_options",
  "cachedContent",
  "cached_content",
]);

const bodyNames = new DecidingNames([
  ...conversation,
  ...fetched,
  "tools",
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
  "partMetadata",
  "part_metadata",
]);

function look(value: unknown, under: string, found: Found): void {
  if (Array.isArray(value)) {
    for (const element of value) if (typeof element === "object") look(element, under, found);
    return;
  }
  if (!isObject(value)) return;
  for (const name in value) {
    if (found.comparesNames) partNames.check(name);
    const inner = value[name];
    if (typeof inner === "string") {
      if (telling.has(name)) lookAtText(name, inner, { under, beside: value }, found);
    } else if (typeof inner === "object" && !notReadFrom.has(name)) look(inner, name, found);
  }
}

const addresses: ReadonlySet<string> = new Set([
  "file_id",
  "file_url",
  "image_url",
  "video_url",
  "audio_url",
  "fileUri",
  "file_uri",
]);
/** Every text that may say something, so that all others are passed over. */
const telling: ReadonlySet<string> = new Set([...addresses, "url", "data", "file_data", "id"]);
/** What holds an address under a name that means nothing by itself. */
const holdsUrl: ReadonlySet<string> = new Set(["image_url", "video_url", "audio_url", "file", "source"]);

const partNames = new DecidingNames([
  ...telling,
  ...holdsUrl,
  "type",
  "media_type",
  "mimeType",
  "mime_type",
  "format",
  "audio",
]);

function lookAtText(
  name: string,
  text: string,
  { under, beside }: { readonly under: string; readonly beside: JsonObject },
  found: Found,
): void {
  if (addresses.has(name) || (name === "url" && holdsUrl.has(under))) {
    const [, mediaType] = /^data:([^;,]*)/.exec(text) ?? [];
    if (mediaType === undefined) addElsewhere(found);
    else addMedia(mediaType, text, found);
  } else if (name === "file_data") {
    addMedia(/^data:([^;,]*)/.exec(text)?.[1] ?? "", text, found);
  } else if (name === "data") {
    const { media_type: type = beside["mimeType"] ?? beside["mime_type"] ?? beside["format"] } = beside;
    // Without a type it is nothing to look at or listen to, but a text that the vendor has sealed.
    if (typeof type === "string") addMedia(type, text, found);
  } else if (name === "id" && (under === "audio" || (under === "input" && isReference(beside)))) {
    addElsewhere(found);
  }
}

/** An item of a response that OpenAI has stored: it says so, or has nothing but its id. */
const isReference = ({ type = null, content }: JsonObject): boolean =>
  type === "item_reference" || (type === null && content === undefined);

function addElsewhere(found: Found): void {
  found.unbounded = true;
  found.media++;
}

function addMedia(mediaType: string, data: string, found: Found): void {
  if (mediaType.startsWith("text/")) return;
  found.media++;
  found.mediaBytes += data.length;
  // A few bytes can be a hundred empty pages, or an hour of silence; an image is one image.
  if (mediaType.startsWith("image/")) found.images++;
  else found.unbounded = true;
}

/** Google takes a single tool for a list of one. */
function lookAtTools(tools: unknown, found: Found): void {
  found.hasTools = !isEmptyList(tools);
  if (!Array.isArray(tools)) lookAtTool(tools, undefined, found);
  else for (let at = 0; at < tools.length; at++) lookAtTool(tools[at], at, found);
}

const toolNames = new DecidingNames(["type", "name", "environment"]);

/** A function is answered by the caller; any other tool is run by the vendor, which then reads what it found. */
function lookAtTool(tool: unknown, at: number | undefined, found: Found): void {
  if (!isObject(tool)) return;
  if (found.comparesNames) for (const name in tool) toolNames.check(name);
  const { type, name } = tool;
  if (typeof type !== "string") {
    // The caller's own have a name; Google's have only members that say what they do.
    if (typeof name !== "string") lookAtGoogles(tool, at, found);
  } else if (explained.test(type)) {
    found.explainedTools++;
  } else if (!ofCallers.has(type)) {
    found.unbounded = true;
    if (!runElsewhere.test(type) && !isCallersShell(tool)) found.hostedTool ??= pathOf(at);
  }
}

function lookAtGoogles(tool: JsonObject, at: number | undefined, found: Found): void {
  for (const name in tool) {
    if (tool[name] === null || /^function_?declarations$/i.test(name)) continue;
    found.unbounded = true;
    if (!/^computer_?use$/i.test(name)) found.hostedTool ??= `${pathOf(at)}.${name}`;
  }
}

const pathOf = (at: number | undefined): string => (at === undefined ? "tools" : `tools[${at}]`);

const ofCallers: ReadonlySet<string> = new Set(["function", "custom"]);
const explained = /^(bash|text_editor|computer|memory)_\d{8}$/;

/**
 * These are run by the caller though vendors made them, or only look through what stands in the body; they are explained at
 * a length that nobody has written down. Whatever else there is the vendor runs: it may bill that by use, and may read all
 * that was said once more after each time.
 */
const runElsewhere =
  /^(tool_search\w*|namespace|computer|computer_use_preview|(computer|browser)_toolset_\d{8}|local_shell|apply_patch)$/;

/** OpenAI bills a container of its own by use; without a word about where the shell is, it may be in one. */
const isCallersShell = ({ type, environment }: JsonObject): boolean =>
  type === "shell" && isObject(environment) && environment["type"] === "local";

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

// What a conversation gives its model to read besides text, in whichever dialect: images and files in the body, and what
// lies elsewhere. Names mean the same wherever two dialects share them, so there is one rule for all.

import { DecidingNames, typeByName } from "../gateway/src/operation/define-operation.ts";
import { checkDearer, dearerNames, runsDearly } from "./dearer-members.ts";

type JsonObject = Readonly<Record<string, unknown>>;

export interface ConversationInput {
  /** Tokens come in that the body's length says nothing about: from elsewhere, or from a file of any number of pages. */
  readonly unbounded: boolean;
  /** Images, recordings and files, in the body or elsewhere. */
  readonly media: number;
  /** The member that has a recording in it; undefined where none certainly has. */
  readonly recordedIn: string | undefined;
  /** Something of it may be heard: a recording, a film, or what nobody can see from here. */
  readonly mayBeHeard: boolean;
  /** The member by which a spoken answer is asked for. */
  readonly spokenBy: string | undefined;
  /** Those of them that are certainly images. */
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
  /** A vendor that may be asked goes by the address of an image, and reads there whatever it finds. */
  readonly goesByAddress: boolean;
};

/**
 * Only lists and objects are looked into, and of a text only its name, so a plain conversation is seen at a glance. A name
 * that means something, but for the case of its letters, is refused.
 */
export function readInput(
  body: JsonObject,
  { comparesNames, goesByAddress }: Pick<Found, "comparesNames" | "goesByAddress">,
): ConversationInput {
  const found: Found = {
    comparesNames,
    goesByAddress,
    unbounded: false,
    media: 0,
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
    else if (generation.has(name) && isObject(member)) {
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
  const isVoice = isObject(member);
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

const isEmptyList = (member: unknown): boolean => Array.isArray(member) && member.length === 0;

/** Whether an edit, of Anthropic's or in OpenAI's list, replaces what was said by a summary; others only leave out. */
function compacts(management: unknown): boolean {
  const edits = isObject(management) ? management["edits"] : management;
  return (
    Array.isArray(edits) && edits.some((edit) => isObject(edit) && String(edit["type"]).startsWith("compact"))
  );
}

/** Whether Anthropic is to go on with what it holds; to begin holding is nothing to read. */
const continues = (thread: unknown): boolean => !isObject(thread) || thread["type"] !== "create";

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
  if (!isObject(value)) return;
  for (const name in value) {
    if (found.comparesNames) partNames.check(name);
    const inner = value[name];
    if (typeof inner === "string") {
      if (name === "type") {
        if (under === "input") lookAtItem(inner, value, found);
      } else if (telling.has(name)) lookAtText(name, inner, { under, beside: value }, found);
    } else if (typeof inner !== "object" || inner === null) continue;
    else if (name === "tools") lookAtTools(inner, `${under}.tools`, found);
    else if (name === "definition" && value["type"] === "tool_definition")
      lookAtTool(inner, `${under}.definition`, found);
    else if (!notReadFrom.has(name)) look(inner, isImageSource(name, value) ? "image_url" : name, found);
  }
}

/** Anthropic's word for where an image is; that of a document may have any number of pages. */
const isImageSource = (name: string, { type }: JsonObject): boolean => name === "source" && type === "image";

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
  "tools",
  "definition",
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
    const inside = typeInside(text);
    const mediaType = inside ?? typeElsewhere(name, text, { under, beside }, found);
    if (inside !== undefined) addMedia(inside, text, found);
    else if (isImageAddress(name, under) && mediaType.startsWith("image/")) addImage(found);
    else addElsewhere(found);
    addSound(mediaType, under, found);
  } else if (name === "file_data") {
    const mediaType = typeInside(text) ?? "";
    addMedia(mediaType, text, found);
    addSound(mediaType, under, found);
  } else if (name === "data") {
    const type = isRecording(under, beside) ? "audio/" : mediaTypeBeside(beside);
    // Without a type it is nothing to look at or listen to, but a text that the vendor has sealed.
    if (type === undefined) return;
    addMedia(type, text, found);
    addSound(type, under, found);
  } else if (name === "id" && (under === "audio" || (under === "input" && isReference(beside)))) {
    addElsewhere(found);
    found.mayBeHeard = true;
  }
}

/** Elsewhere a format beside data may be that of a sealed text. */
const isRecording = (under: string, { format }: JsonObject): boolean =>
  under === "input_audio" || (under === "audio" && typeof format === "string");

/** Media types have no case. */
const typeInside = (dataUrl: string): string | undefined =>
  /^data:([^;,]*)/i.exec(dataUrl)?.[1]?.toLowerCase();

function mediaTypeBeside(beside: JsonObject): string | undefined {
  const type = beside["media_type"] ?? beside["mimeType"] ?? beside["mime_type"];
  return typeof type === "string" ? type.toLowerCase() : undefined;
}

/** What lies elsewhere is what its member is called, or what is said of it; otherwise it may be anything. */
function typeElsewhere(
  name: string,
  address: string,
  { under, beside }: { readonly under: string; readonly beside: JsonObject },
  { goesByAddress }: Found,
): string {
  if (isImageAddress(name, under)) return goesByAddress ? (typeByName(address) ?? "") : "image/";
  if (name === "audio_url" || under === "audio_url") return "audio/";
  const { format } = beside;
  return mediaTypeBeside(beside) ?? (typeof format === "string" ? format.toLowerCase() : "");
}

const silent = /^(?:image|text)\/|^application\/(?:pdf|json)$/;

function addSound(mediaType: string, under: string, found: Found): void {
  if (silent.test(mediaType)) return;
  found.mayBeHeard = true;
  if (mediaType.startsWith("audio/")) found.recordedIn = under;
}

/** What a vendor adds of its own may be anything. */
function addUnseen(found: Found): void {
  found.unbounded = true;
  found.mayBeHeard = true;
}

/** An item of a response that OpenAI has stored: it says so, or has nothing but its id. */
const isReference = ({ type = null, content }: JsonObject): boolean =>
  type === "item_reference" || (type === null && content === undefined);

/** Of some items the caller gives back only what they were: OpenAI has kept what was thought, drawn or found, and reads it. */
function lookAtItem(type: string, item: JsonObject, found: Found): void {
  const holder = holders[type];
  if (type === "compaction_trigger") found.isSummedUp = true;
  else if (holder !== undefined && (holder === null || typeof item[holder] !== "string"))
    found.unbounded = true;
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

/** Most vendors take it for an image by the member that it stands in, and refuse it if it is anything else. */
const isImageAddress = (name: string, under: string): boolean =>
  name === "image_url" || under === "image_url";

/** Wherever an image is, it is one image. */
function addImage(found: Found): void {
  found.media++;
  found.images++;
}

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

/** Google takes a single tool for a list of one. They stand beside a conversation or in the midst of it. */
function lookAtTools(tools: unknown, path: string, found: Found): void {
  if (isEmptyList(tools)) return;
  found.hasTools = true;
  if (!Array.isArray(tools)) lookAtTool(tools, path, found);
  else for (let at = 0; at < tools.length; at++) lookAtTool(tools[at], `${path}[${at}]`, found);
}

/** A function is answered by the caller; any other tool is run by the vendor, which then reads what it found. */
function lookAtTool(tool: unknown, path: string, found: Found): void {
  if (!isObject(tool)) return;
  found.hasTools = true;
  if (found.comparesNames) for (const name in tool) toolNames.check(name);
  const { type, name, tools } = tool;
  // The caller's own have a type or a name; Google's have only members that say what they do.
  lookAtGoogles(tool, path, { isNamed: typeof type === "string" || typeof name === "string" }, found);
  if (typeof type === "string" && explained.test(type)) {
    found.explainedTools++;
  } else if (typeof type === "string" && !ofCallers.has(type)) {
    found.unbounded = true;
    if (!runElsewhere.test(type) && !isCallersShell(tool)) found.hostedTool ??= path;
  }
  // Several under one name.
  if (typeof tools === "object" && tools !== null) lookAtTools(tools, `${path}.tools`, found);
}

function lookAtGoogles(
  tool: JsonObject,
  path: string,
  { isNamed }: { readonly isNamed: boolean },
  found: Found,
): void {
  for (const name in tool) {
    if (isNamed ? !googles.has(name) : /^function_?declarations$/i.test(name)) continue;
    if (tool[name] === null) continue;
    found.unbounded = true;
    if (!/^computer_?use$/i.test(name)) found.hostedTool ??= `${path}.${name}`;
  }
}

/** A name beside these would be nothing to Google, and does not make them the caller's own. */
const googles: ReadonlySet<string> = new Set(
  [
    "retrieval",
    "googleMaps",
    "mcpServers",
    "codeExecution",
    "computerUse",
    "enterpriseWebSearch",
    "exaAiSearch",
    "googleSearch",
    "googleSearchRetrieval",
    "parallelAiSearch",
    "urlContext",
    "fileSearch",
  ].flatMap((name) => [name, name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
);

const toolNames = new DecidingNames(["type", "name", "environment", "tools", ...googles]);

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

// Reads the body of a conversation, member by member: what the model gets to read besides text, and what is asked for that
// costs more than text. A member means the same in every dialect that has it, so one table serves all of them.

import { DecidingNames, isJsonObject, type JsonObject } from "../../gateway/src/for-catalogues.ts";
import { checkDearer, dearerNames, findDearer, refuseDearer } from "./dearer-members.ts";
import { addUnseen, nothingFound, type Findings, type ReadingOptions } from "./findings.ts";
import { readParts } from "./parts.ts";
import { formatMembers, readFormats, readSpeech, speechMembers, speechNames } from "./speech.ts";
import { readTools } from "./tools.ts";

/** Refuses a member that costs more than is priced here, and a name that differs from one of ours only in its case. */
export function readBody(body: JsonObject, options: ReadingOptions): Findings {
  const found = nothingFound();
  for (const name in body) {
    if (options.comparesNames) bodyNames.check(name);
    const member = body[name];
    if (member === null || member === undefined) continue;
    const read = readers.get(name);
    if (read) read(member, name, found, options);
    else if (generationMembers.has(name)) readGeneration(member, name, found, options);
    else readOther(name, body, found);
  }
  return found;
}

type MemberReader = (member: unknown, name: string, found: Findings, options: ReadingOptions) => void;

const readers: ReadonlyMap<string, MemberReader> = new Map<string, MemberReader>([
  // What was said
  ["messages", readParts],
  ["system", readParts],
  ["contents", readParts],
  ["systemInstruction", readParts],
  ["system_instruction", readParts],
  ["input", readParts],

  // What the vendor adds, from what it has stored
  ["previous_response_id", readUnseen],
  ["conversation", readUnseen],
  ["prompt", readUnseen],
  ["container", readUnseen],
  ["cachedContent", readUnseen],
  ["cached_content", readUnseen],
  ["continuationToken", readUnseen],
  ["continuation_token", readUnseen],
  ["thread", readThread],

  // What has the vendor sum up the conversation first
  ["compaction", readCompaction],
  ["context_management", readContextManagement],

  // What the model may use, and how it answers
  ["tools", readTools],
  ...[...speechMembers].map((name) => [name, readSpeech] as const),
]);

const bodyNames = new DecidingNames([...readers.keys(), ...dearerNames]);

/** No operator can allow a member that costs more, unless all it does is have the vendor run tools. */
function readOther(name: string, body: JsonObject, found: Findings): void {
  const dearer = findDearer(name, body);
  if (!dearer) return;
  if (dearer.runsTools !== true) refuseDearer(name, dearer);
  found.unbounded = true;
  found.hostedTool = { field: name };
}

function readUnseen(_member: unknown, _name: string, found: Findings): void {
  addUnseen(found);
}

/** Anthropic continues a conversation that it has kept, unless it is only told to begin keeping one. */
function readThread(thread: unknown, _name: string, found: Findings): void {
  if (!isJsonObject(thread) || thread["type"] !== "create") addUnseen(found);
}

function readCompaction(_member: unknown, _name: string, found: Findings): void {
  found.isSummedUp = true;
}

/** A list of edits for OpenAI, an object with the list for Anthropic. Edits that do not compact only leave something out. */
function readContextManagement(management: unknown, _name: string, found: Findings): void {
  const edits = isJsonObject(management) ? management["edits"] : management;
  if (Array.isArray(edits) && edits.some(isCompaction)) found.isSummedUp = true;
}

const isCompaction = (edit: unknown): boolean =>
  isJsonObject(edit) && String(edit["type"]).startsWith("compact");

/** Google's settings. Their names need no comparing: `generate-content.ts` declares them, which has it done. */
const generationMembers: ReadonlySet<string> = new Set(["generationConfig", "generation_config"]);

function readGeneration(settings: unknown, name: string, found: Findings, options: ReadingOptions): void {
  if (!isJsonObject(settings)) return;
  checkDearer(settings, `${name}.`);
  for (const inner in settings) {
    if (options.comparesNames) speechNames.check(inner);
    const setting = settings[inner];
    if (setting === null || setting === undefined) continue;
    if (speechMembers.has(inner)) readSpeech(setting, `${name}.${inner}`, found);
    else if (formatMembers.has(inner)) readFormats(setting, `${name}.${inner}`, found);
  }
}

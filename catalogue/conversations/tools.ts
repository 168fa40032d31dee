// The tools that stand beside a conversation or in the midst of it, in whichever dialect: which the caller runs, and which
// the vendor runs, bills by use, and reads on from.

import {
  DecidingNames,
  isJsonObject,
  type JsonObject,
} from "../../gateway/src/operation/define-operation.ts";

/** What tools say of what a call may read and cost, added up as they are looked at. */
export interface FoundTools {
  /** There are names that are not in small letters, so each is compared with those that mean something. */
  readonly comparesNames: boolean;
  /** Tokens come in that the body's length says nothing about: what a tool of the vendor's finds, or how it is explained. */
  unbounded: boolean;
  /** There are tools, about which some vendors say something to the model in words of their own. */
  hasTools: boolean;
  /** Tools that the caller runs, and that the vendor explains to the model in words of its own. */
  explainedTools: number;
  /** The member by which a tool is asked for that its vendor runs: it bills by use, or reads on as often as it likes. */
  hostedTool: string | undefined;
}

/** Google takes a single tool for a list of one. */
export function lookAtTools(tools: unknown, path: string, found: FoundTools): void {
  if (Array.isArray(tools) && tools.length === 0) return;
  found.hasTools = true;
  if (!Array.isArray(tools)) lookAtTool(tools, path, found);
  else for (let at = 0; at < tools.length; at++) lookAtTool(tools[at], `${path}[${at}]`, found);
}

/** A function is answered by the caller; any other tool is run by the vendor, which then reads what it found. */
export function lookAtTool(tool: unknown, path: string, found: FoundTools): void {
  if (!isJsonObject(tool)) return;
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
  found: FoundTools,
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
  type === "shell" && isJsonObject(environment) && environment["type"] === "local";

// The tools that stand beside a conversation or in the midst of it: which of them the caller runs, and which the vendor runs,
// bills by use, and reads on from.

import { DecidingNames, isJsonObject, type JsonObject } from "../../gateway/src/for-catalogues.ts";
import type { Findings, ReadingOptions } from "./findings.ts";

/** Google takes a single tool for a list of one. */
export function readTools(tools: unknown, path: string, found: Findings, options: ReadingOptions): void {
  if (Array.isArray(tools) && tools.length === 0) return;
  found.hasTools = true;
  if (!Array.isArray(tools)) readTool(tools, path, found, options);
  else for (let at = 0; at < tools.length; at++) readTool(tools[at], `${path}[${at}]`, found, options);
}

export function readTool(tool: unknown, path: string, found: Findings, options: ReadingOptions): void {
  if (!isJsonObject(tool)) return;
  found.hasTools = true;
  if (options.comparesNames) for (const name in tool) toolNames.check(name);
  countByMembers(tool, path, found);
  countByType(tool, path, found);
  const { tools: grouped } = tool;
  if (typeof grouped === "object" && grouped !== null) readTools(grouped, `${path}.tools`, found, options);
}

/** Google's tools have neither type nor name: each member is a tool, and all but functions are run by Google. */
function countByMembers(tool: JsonObject, path: string, found: Findings): void {
  const isNamed = typeof tool["type"] === "string" || typeof tool["name"] === "string";
  for (const name in tool) {
    // Google passes over a type or a name, and runs its own members all the same.
    if (isNamed ? !googles.has(name) : /^function_?declarations$/i.test(name)) continue;
    if (tool[name] === null) continue;
    found.unbounded = true;
    if (!/^computer_?use$/i.test(name)) found.hostedTool ??= { field: `${path}.${name}` };
  }
}

/** Everybody else's tools are told apart by their type. What is not known is the vendor's to run, and to bill. */
function countByType(tool: JsonObject, path: string, found: Findings): void {
  const { type } = tool;
  if (typeof type !== "string" || runByCaller.has(type)) return;
  if (explained.test(type)) {
    found.explainedTools++;
    return;
  }
  found.unbounded = true;
  if (!notBilled.test(type) && !isCallersShell(tool)) found.hostedTool ??= { field: path, type };
}

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

/** The caller declares these in words that stand in the body, and answers them itself. */
const runByCaller: ReadonlySet<string> = new Set(["function", "custom"]);

/** The caller runs these too, but Anthropic explains them to the model, at a length that it has written down. */
const explained = /^(bash|text_editor|computer|memory)_\d{8}$/;

/**
 * The caller runs these though a vendor made them, or they only look through what stands in the body. Nobody has written down
 * at what length they are explained. Any other tool is run by the vendor, which may bill each use, and may read the whole
 * conversation once more after it.
 */
const notBilled =
  /^(tool_search\w*|namespace|computer|computer_use_preview|(computer|browser)_toolset_\d{8}|local_shell|apply_patch)$/;

/** OpenAI bills a container of its own by use; without a word about where the shell is, it may be in one. */
const isCallersShell = ({ type, environment }: JsonObject): boolean =>
  type === "shell" && isJsonObject(environment) && environment["type"] === "local";

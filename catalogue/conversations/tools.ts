// The tools of a conversation, beside it or within it: which of them the caller runs, and which the vendor runs, bills by use,
// and has the model read on from.

import { DecidingNames, isJsonObject, type JsonObject } from "../../gateway/src/for-catalogues.ts";
import type { Findings, ReadingOptions } from "./findings.ts";

/** Google takes a single tool in place of a list. */
export function readTools(tools: unknown, path: string, found: Findings, options: ReadingOptions): void {
  if (Array.isArray(tools) && tools.length === 0) return;
  found.hasTools = true;
  if (!Array.isArray(tools)) readTool(tools, path, found, options);
  else for (let at = 0; at < tools.length; at++) readTool(tools[at], `${path}[${at}]`, found, options);
}

/** The names of tools that a search has found are told twice where that is translated: as what it found, and as tools. */
export function countFound(tools: unknown, found: Findings): void {
  found.rewordedTools++;
  for (const tool of Array.isArray(tools) ? tools : []) {
    const grouped: unknown = isJsonObject(tool) ? tool["tools"] : undefined;
    found.rewordedTools += Array.isArray(grouped) ? grouped.length : 1;
  }
}

export function readTool(tool: unknown, path: string, found: Findings, options: ReadingOptions): void {
  if (!isJsonObject(tool)) return;
  found.hasTools = true;
  if (options.comparesNames) for (const name in tool) toolNames.check(name);
  countByMembers(tool, path, found);
  const { type, tools: grouped } = tool;
  const isReworded = type === "namespace" || type === "tool_search";
  if (isReworded && options.mayBeTranslated) countReworded(tool, found);
  // Whoever knows them may explain them.
  if (!isReworded || options.mayBeNative) countByType(tool, path, found);
  if (typeof grouped === "object" && grouped !== null) readTools(grouped, `${path}.tools`, found, options);
}

/** Translated, a namespace's tools bear its name, and a search for tools is a function of the caller's, or left out. */
function countReworded({ type, tools: grouped }: JsonObject, found: Findings): void {
  if (type === "tool_search") found.rewordedTools++;
  else found.rewordedTools += Array.isArray(grouped) ? grouped.length : 0;
}

/** Google's tools have neither type nor name: each member is a tool, and Google runs all but functions. */
function countByMembers(tool: JsonObject, path: string, found: Findings): void {
  const isNamed = typeof tool["type"] === "string" || typeof tool["name"] === "string";
  for (const name in tool) {
    // Google ignores a type or a name, and runs its own tools all the same.
    if (isNamed ? !googles.has(name) : /^function_?declarations$/i.test(name)) continue;
    if (tool[name] === null) continue;
    found.unbounded = true;
    if (!/^computer_?use$/i.test(name)) found.hostedTool ??= { field: `${path}.${name}` };
  }
}

/** Everybody else's tools are told apart by their type. One that is not known here may be run, and billed, by the vendor. */
function countByType(tool: JsonObject, path: string, found: Findings): void {
  const { type } = tool;
  if (typeof type !== "string") return;
  if (runByCaller.has(type)) {
    if (type === "custom" && tool["input_schema"] === undefined) found.rewordedTools++;
    return;
  }
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

/** The caller explains these in the body, and runs them itself. */
const runByCaller: ReadonlySet<string> = new Set(["function", "custom"]);

/** The caller runs these too, but Anthropic explains them to the model; how long that text is, it documents. */
const explained = /^(bash|text_editor|computer|memory)_\d{8}$/;

/**
 * The caller runs these although a vendor made them, or they only look through what stands in the body. How long their
 * explanation is, nobody documents. Any other tool is run by the vendor, which may bill each use, and may read the whole
 * conversation once more after it.
 */
const notBilled =
  /^(tool_search\w*|namespace|computer|computer_use_preview|(computer|browser)_toolset_\d{8}|local_shell|apply_patch)$/;

/** A shell that does not say where it is may be in a container of OpenAI's, which is billed by use. */
const isCallersShell = ({ type, environment }: JsonObject): boolean =>
  type === "shell" && isJsonObject(environment) && environment["type"] === "local";

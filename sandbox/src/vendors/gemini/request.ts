// A request to generate content, checked as the vendor checks it: strict about members it does not know.

import type { Conversation, Tool, Turn } from "../../model/conversation.ts";
import { isObject, parseObject, type JsonObject } from "../../vendor.ts";
import {
  isInteger,
  isListOf,
  isNumber,
  isOptional,
  isText,
  limitOf,
  objectOr,
  objectsIn,
} from "../checks.ts";
import { blocksOf, readContents } from "./contents.ts";
import { inCamelCase } from "./either-case.ts";
import { refused, type Refused } from "./errors.ts";
import { oneOrMore } from "./one-or-more.ts";

export interface GenerateRequest {
  readonly conversation: Conversation;
  readonly candidates: number;
  readonly includeThoughts: boolean;
}

const knownMembers = {
  "": "contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent model labels serviceTier store",
  generationConfig:
    "stopSequences responseMimeType responseSchema responseJsonSchema responseModalities candidateCount " +
    "maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty responseLogprobs logprobs " +
    "enableEnhancedCivicAnswers speechConfig thinkingConfig imageConfig mediaResolution",
} as const;

/** Undefined when the body is no JSON object. */
export function parseBody(body: string): JsonObject | undefined {
  const parsed = parseObject(body);
  return parsed === undefined ? undefined : objectOr(inCamelCase(parsed));
}

export function readGenerateRequest(
  request: JsonObject | undefined,
  model: string,
): GenerateRequest | Refused {
  if (request === undefined) return refused("Invalid JSON payload received.");
  const config = objectOr(request["generationConfig"]);
  const unknown = unknownIn(request, "") ?? unknownIn(config, "generationConfig");
  if (unknown !== undefined) return unknown;

  const { systemInstruction: system, tools } = request;
  const contents = oneOrMore(request["contents"]);
  if (contents.length === 0) return refused("* GenerateContentRequest.contents: contents is not specified");
  const { maxOutputTokens: limit, stopSequences: stops } = config;
  const candidates = config["candidateCount"] ?? 1;
  if (!isOptional(limit, (tokens) => isInteger(tokens, 1, 1_000_000_000)))
    return refused("* GenerateContentRequest.generation_config.max_output_tokens: must be positive.");
  if (!isOptional(stops, (list) => isListOf(list, isText) && list.length <= 5))
    return refused("* GenerateContentRequest.generation_config.stop_sequences: at most 5 texts.");
  if (!isInteger(candidates, 1, 8))
    return refused("* GenerateContentRequest.generation_config.candidate_count: must be from 1 to 8.");
  if (!isOptional(config["temperature"], (value) => isNumber(value, 0, 2)))
    return refused("* GenerateContentRequest.generation_config.temperature: must be in the range [0, 2].");

  const declared = objectsIn(oneOrMore(tools)).flatMap((tool) =>
    objectsIn(oneOrMore(tool["functionDeclarations"])),
  );
  if (declared.some(({ name }) => !isText(name)))
    return refused("* GenerateContentRequest.tools[0].function_declarations[0].name: is required.");
  const readTools = declared.map(readTool);
  const toolChoice = readToolChoice(objectOr(request["toolConfig"]), readTools);
  if (toolChoice === undefined)
    return refused(
      "* GenerateContentRequest.tool_config.function_calling_config: names no declared function.",
    );

  const turns = readContents(contents);
  if ("refused" in turns) return turns;
  const thinking = objectOr(config["thinkingConfig"]);
  return {
    conversation: {
      model,
      turns: [...systemTurns(system), ...turns],
      tools: readTools,
      toolChoice,
      parallelCalls: true,
      tokensMax: limitOf(limit),
      stop: (Array.isArray(stops) ? stops : []).map(String),
      answerSchema: readAnswerSchema(config),
      thinkingTokensMax: readThinking(thinking),
    },
    candidates,
    includeThoughts: thinking["includeThoughts"] === true,
  };
}

function unknownIn(object: JsonObject, at: keyof typeof knownMembers): Refused | undefined {
  const known = knownMembers[at].split(" ");
  const name = Object.keys(object).find((member) => !known.includes(member));
  if (name === undefined) return undefined;
  const place = at === "" ? "" : ` at 'generation_config'`;
  return refused(`Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`);
}

function systemTurns(system: unknown): Turn[] {
  const parts = isObject(system) ? objectsIn(oneOrMore(system["parts"])) : [];
  return parts.length === 0 ? [] : [{ role: "system", blocks: blocksOf(parts), calls: [] }];
}

const readTool = ({ name, description, parameters, parametersJsonSchema }: JsonObject): Tool => ({
  name: String(name),
  ...(typeof description === "string" ? { description } : {}),
  parameters: objectOr(inLowerCase(parameters ?? parametersJsonSchema)),
});

/** The vendor writes the types of a schema as STRING, everybody else as string. */
function inLowerCase(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(inLowerCase);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([name, member]) => [
      name,
      name === "type" && typeof member === "string" ? member.toLowerCase() : inLowerCase(member),
    ]),
  );
}

function readToolChoice(
  toolConfig: JsonObject,
  tools: readonly Tool[],
): Conversation["toolChoice"] | undefined {
  const { mode = "AUTO", allowedFunctionNames: allowed } = objectOr(toolConfig["functionCallingConfig"]);
  if (mode === "NONE") return "none";
  if (mode !== "ANY") return "auto";
  if (!Array.isArray(allowed) || allowed.length === 0) return tools.length > 0 ? "required" : undefined;
  const names = allowed.map(String);
  return names.every((name) => tools.some((tool) => tool.name === name)) ? names : undefined;
}

// How much the model thinks when it may decide for itself.
const thinkingTokensDynamic = 1024;

function readThinking({ thinkingBudget: budget, thinkingLevel: level }: JsonObject): number {
  if (typeof budget === "number") return budget < 0 ? thinkingTokensDynamic : budget;
  return !isText(level) || level.toUpperCase() === "MINIMAL" ? 0 : thinkingTokensDynamic;
}

const readAnswerSchema = (config: JsonObject): JsonObject | undefined =>
  config["responseMimeType"] === "application/json"
    ? objectOr(inLowerCase(config["responseSchema"] ?? config["responseJsonSchema"]))
    : undefined;

// A request to the responses API, checked as the vendor checks it.

import {
  inputOf,
  textTurn,
  type Block,
  type Conversation,
  type Tool,
  type Turn,
} from "../../model/conversation.ts";
import { isNothing, isObject, parseObject, type JsonObject } from "../../vendor.ts";
import { isInteger, isListOf, isOptional, isText, limitOf, objectOr, objectsIn } from "../checks.ts";
import { readTextTool, readTool } from "./chat-request.ts";
import { refused, type Refused } from "./errors.ts";
import type { KeptResponses } from "./kept-responses.ts";
import { thinkingTokensOf } from "./thinking.ts";
import { readToolChoice } from "./tool-choice.ts";

export interface ResponsesRequest {
  readonly conversation: Conversation;
  readonly stream: boolean;
  /** As sent: the answer repeats much of it. */
  readonly sent: JsonObject;
  /** What was sent of the conversation, with kept items in place of what refers to them. */
  readonly items: readonly JsonObject[];
}

export function readResponsesRequest(body: string, kept: KeptResponses): ResponsesRequest | Refused {
  const sent = parseObject(body);
  if (sent === undefined) return refused("We could not parse the JSON body of your request.", null);
  const { model, input, instructions, tools, stream, max_output_tokens: limit } = sent;

  if (!isText(model)) return refused("Missing required parameter: 'model'.", "model");
  if (!isText(input) && !(isListOf(input, isObject) && input.length > 0))
    return refused("'input' must be a text or a list of items.", "input");
  const given = isText(input) ? [{ type: "message", role: "user", content: input }] : objectsIn(input);
  const lost = given.find((item) => isReference(item) && kept.item(item["id"]) === undefined);
  if (lost !== undefined) return notFound(`Item with id '${String(lost["id"])}' not found.`, "input");
  const items = given.map((item) => (isReference(item) ? (kept.item(item["id"]) ?? item) : item));
  const wrongItem = items.findIndex((item) => !isItem(item));
  if (wrongItem >= 0) return refused(`Invalid item at 'input[${wrongItem}]'.`, `input[${wrongItem}]`);
  if (!isOptional(instructions, (text) => typeof text === "string"))
    return refused("'instructions' must be a text.", "instructions");
  if (!isOptional(stream, (value) => typeof value === "boolean"))
    return refused("'stream' must be true or false.", "stream");
  if (!isOptional(limit, (tokens) => isInteger(tokens, 1, 1_000_000_000)))
    return refused("'max_output_tokens' must be at least 1.", "max_output_tokens");
  if (!isNothing(sent["conversation"])) return notFound("Conversation not found.", "conversation");
  const { previous_response_id: previous } = sent;
  const before = kept.conversation(previous);
  if (before === undefined)
    return refused(
      `Previous response with id '${String(previous)}' not found.`,
      "previous_response_id",
      "previous_response_not_found",
    );
  if (!isOptional(tools, (list) => isListOf(list, isTool)))
    return refused("'tools' must be a list of functions, custom tools and namespaces with a name.", "tools");

  const readTools = objectsIn(tools).flatMap(toolsOf);
  const chosen = readToolChoice(sent["tool_choice"], readTools);
  if (chosen === undefined)
    return refused("'tool_choice' must be none, auto, required or one of 'tools'.", "tool_choice");
  const thinkingTokensMax = thinkingTokensOf(objectOr(sent["reasoning"])["effort"]);
  if (thinkingTokensMax === undefined)
    return refused("'reasoning.effort' must be a known effort.", "reasoning.effort", "invalid_value");

  const system = isText(instructions) ? [textTurn("system", instructions)] : [];
  return {
    conversation: {
      model,
      turns: [...system, ...readItems([...before, ...items])],
      ...chosen,
      parallelCalls: sent["parallel_tool_calls"] !== false,
      tokensMax: limitOf(limit),
      stop: [],
      answerSchema: readAnswerSchema(objectOr(sent["text"])["format"]),
      thinkingTokensMax,
    },
    stream: stream === true,
    sent,
    items,
  };
}

const notFound = (message: string, param: string): Refused => ({ ...refused(message, param), status: 404 });

/** It need not say that it is one. */
const isReference = ({ type, role }: JsonObject): boolean =>
  type === "item_reference" || (isNothing(type) && isNothing(role));

const roles: Readonly<Record<string, Turn["role"]>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
};

function isItem({ type = "message", role, content, name, input, output }: JsonObject): boolean {
  switch (type) {
    case "message":
      return roles[String(role)] !== undefined && (typeof content === "string" || isListOf(content, isPart));
    case "function_call":
      return isText(name);
    case "custom_tool_call":
      return isText(name) && typeof input === "string";
    case "function_call_output":
    case "custom_tool_call_output":
      return typeof output === "string" || isListOf(output, isPart);
    default:
      return type === "reasoning";
  }
}

const isPart = (part: unknown): boolean => isObject(part) && typeof part["type"] === "string";

/** Calls stand beside the assistant's message here; to the model they are part of it. */
function readItems(items: readonly JsonObject[]): Turn[] {
  const turns: TurnOfItems[] = [];
  for (const item of items) {
    const { type = "message", role, content, name, output } = item;
    if (type === "reasoning") continue;
    if (type === "function_call_output" || type === "custom_tool_call_output")
      turns.push({ role: "tool", blocks: blocksOf(output), calls: [] });
    else if (type !== "function_call" && type !== "custom_tool_call")
      turns.push({ role: roles[String(role)] ?? "user", blocks: blocksOf(content), calls: [] });
    else {
      const input = type === "function_call" ? inputOf(item["arguments"]) : item["input"];
      const call = { name: String(name), input };
      const last = turns.at(-1);
      if (last?.role === "assistant") last.calls.push(call);
      else turns.push({ role: "assistant", blocks: [], calls: [call] });
    }
  }
  return turns;
}

interface TurnOfItems extends Turn {
  readonly calls: Turn["calls"][number][];
}

const blocksOf = (content: unknown): Block[] =>
  typeof content === "string" ? [{ text: content }] : objectsIn(content).map(readPart);

function readPart({ type, text, image_url: url, file_id: file }: JsonObject): Block {
  if (type === "input_image") return { text: "", image: String(url ?? file) };
  return { text: typeof text === "string" ? text : "" };
}

const isTool = (tool: unknown): boolean => isCallable(tool) || isNamespace(tool);

const isCallable = (tool: unknown): boolean =>
  isObject(tool) && (tool["type"] === "function" || tool["type"] === "custom") && isText(tool["name"]);

const isNamespace = (tool: unknown): boolean =>
  isObject(tool) &&
  tool["type"] === "namespace" &&
  isText(tool["name"]) &&
  isListOf(tool["tools"], isCallable);

function toolsOf(tool: JsonObject): Tool[] {
  const { type, name, tools } = tool;
  if (type === "namespace")
    return objectsIn(tools)
      .flatMap(toolsOf)
      .map((grouped) => ({ ...grouped, namespace: String(name) }));
  if (type === "custom") return [readTextTool(tool)];
  return [readTool(tool)];
}

function readAnswerSchema(format: unknown): JsonObject | undefined {
  const { type, schema } = objectOr(format);
  if (type === "json_object") return {};
  return type === "json_schema" ? objectOr(schema) : undefined;
}

// A chat request, checked as the vendor checks it.

import { inputOf, type Block, type Conversation, type Tool, type Turn } from "../../model/conversation.ts";
import { isNothing, isObject, parseObject, type JsonObject } from "../../vendor.ts";
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
import { refused, type Refused } from "./errors.ts";
import type { TopLogprobs } from "./logprobs.ts";
import { thinkingTokensOf } from "./thinking.ts";
import { readToolChoice } from "./tool-choice.ts";

export interface ChatRequest {
  readonly conversation: Conversation;
  readonly n: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly topLogprobs: TopLogprobs;
}

export function readChatRequest(body: string): ChatRequest | Refused {
  const request = parseObject(body);
  if (request === undefined) return refused("We could not parse the JSON body of your request.", null);
  const { model, messages, tools, stop, stream, temperature } = request;
  const n = request["n"] ?? 1;

  if (!isText(model)) return refused("you must provide a model parameter", "model");
  if (!Array.isArray(messages) || messages.length === 0)
    return refused("'messages' must be a list with at least one message.", "messages");
  if (!isOptional(stream, (value) => typeof value === "boolean"))
    return refused("'stream' must be true or false.", "stream", "invalid_type");
  if (!isNothing(request["stream_options"]) && stream !== true)
    return refused(
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      "stream_options",
    );
  if (!isInteger(n, 1, 128)) return refused("'n' must be an integer from 1 to 128.", "n");
  if (!isOptional(temperature, (value) => isNumber(value, 0, 2)))
    return refused("'temperature' must be from 0 to 2.", "temperature");

  const limitName = isNothing(request["max_completion_tokens"]) ? "max_tokens" : "max_completion_tokens";
  const limit = request[limitName];
  if (!isOptional(limit, (tokens) => isInteger(tokens, 1, 1_000_000_000)))
    return refused(`'${limitName}' must be at least 1.`, limitName);

  const stops = typeof stop === "string" ? [stop] : (stop ?? []);
  if (!isListOf(stops, isText) || stops.length > 4) return refused("'stop' must be up to 4 strings.", "stop");

  const thinkingTokensMax = thinkingTokensOf(request["reasoning_effort"]);
  if (thinkingTokensMax === undefined)
    return refused("'reasoning_effort' must be a known effort.", "reasoning_effort", "invalid_value");

  const { logprobs, top_logprobs: top } = request;
  if (!isOptional(logprobs, (value) => typeof value === "boolean"))
    return refused("'logprobs' must be true or false.", "logprobs", "invalid_type");
  if (!isOptional(top, (count) => isInteger(count, 0, logprobs === true ? 20 : 0)))
    return refused("'top_logprobs' must be from 0 to 20, and 'logprobs' true beside it.", "top_logprobs");

  const wrongMessage = messages.findIndex((message: unknown) => !isMessage(message));
  if (wrongMessage >= 0)
    return refused(`Invalid message at 'messages[${wrongMessage}]'.`, `messages[${wrongMessage}]`);
  if (!isOptional(tools, (list) => isListOf(list, isTool)))
    return refused("'tools' must be a list of functions and custom tools with a name.", "tools");

  const readTools = objectsIn(tools).map(toolOf);
  const chosen = readToolChoice(request["tool_choice"], readTools);
  if (chosen === undefined)
    return refused("'tool_choice' must be none, auto, required or one of 'tools'.", "tool_choice");

  return {
    conversation: {
      model,
      turns: objectsIn(messages).map(readMessage),
      ...chosen,
      parallelCalls: request["parallel_tool_calls"] !== false,
      tokensMax: limitOf(limit),
      stop: stops.map(String),
      answerSchema: readAnswerSchema(request["response_format"]),
      thinkingTokensMax,
    },
    n,
    stream: stream === true,
    includeUsage: objectOr(request["stream_options"])["include_usage"] === true,
    topLogprobs: logprobs === true ? Number(top ?? 0) : undefined,
  };
}

const roles: Readonly<Record<string, Turn["role"]>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
  function: "tool",
};

function isMessage(message: unknown): boolean {
  if (!isObject(message) || roles[String(message["role"])] === undefined) return false;
  const { content } = message;
  if (isNothing(content)) return message["role"] === "assistant";
  return typeof content === "string" || isListOf(content, isPart);
}

function isPart(part: unknown): boolean {
  if (!isObject(part) || typeof part["type"] !== "string") return false;
  return part["type"] !== "image_url" || isText(objectOr(part["image_url"])["url"]);
}

const readMessage = ({ role, content, tool_calls: calls }: JsonObject): Turn => ({
  role: roles[String(role)] ?? "user",
  blocks: typeof content === "string" ? [{ text: content }] : objectsIn(content).map(readPart),
  calls: objectsIn(calls).map((call) => {
    const { name, arguments: given, input } = objectOr(call["function"], objectOr(call["custom"]));
    return { name: String(name), input: inputOf(given ?? input) };
  }),
});

function readPart(part: JsonObject): Block {
  const text = typeof part["text"] === "string" ? part["text"] : "";
  if (part["type"] !== "image_url") return { text };
  return { text, image: String(objectOr(part["image_url"])["url"]) };
}

const isTool = (tool: unknown): boolean =>
  isObject(tool) && typeof objectOr(tool["function"], objectOr(tool["custom"]))["name"] === "string";

function toolOf(tool: JsonObject): Tool {
  const custom = tool["custom"];
  return isObject(custom) ? readTextTool(custom) : readTool(objectOr(tool["function"]));
}

/** One that takes a text, perhaps of a format, in place of arguments. */
export const readTextTool = (tool: JsonObject): Tool => ({
  ...readTool(tool),
  parameters: objectOr(tool["format"]),
  takesText: true,
});

export const readTool = ({ name, description, parameters }: JsonObject): Tool => ({
  name: String(name),
  ...(typeof description === "string" ? { description } : {}),
  parameters: objectOr(parameters),
});

function readAnswerSchema(format: unknown): JsonObject | undefined {
  if (!isObject(format)) return undefined;
  if (format["type"] === "json_object") return {};
  return format["type"] === "json_schema" ? objectOr(objectOr(format["json_schema"])["schema"]) : undefined;
}

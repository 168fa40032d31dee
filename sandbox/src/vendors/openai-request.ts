// A chat request, checked as the vendor checks it: the first thing wrong is named by its place.
import { isNothing, isObject, parseObject } from "../vendor.ts";
import type { JsonObject } from "../vendor.ts";

interface ChatMessage {
  readonly role: string;
  readonly text: string;
  readonly images: number;
  /** Tool calls of an earlier turn, as sent: part of the prompt. */
  readonly toolCalls: unknown;
}

export interface ChatTool {
  readonly name: string;
  readonly parameters: JsonObject;
}

export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ChatTool[];
  readonly toolChoice: "none" | "auto" | "required" | { readonly name: string };
  /** As sent: part of the prompt. */
  readonly toolsSent: unknown;
  readonly tokensMax: number;
  readonly n: number;
  readonly stop: readonly string[];
  readonly answerSchema: JsonObject | undefined;
}

export interface ChatRefused {
  readonly refused: { readonly message: string; readonly param: string | null; readonly code: string | null };
}

export const readChatRequest = (body: string): ChatRequest | ChatRefused => {
  const request = parseObject(body);
  if (request === undefined) return refused("We could not parse the JSON body of your request.", null);
  const { model, messages, tools, stop, stream, n = 1, temperature } = request;

  if (typeof model !== "string" || model === "")
    return refused("you must provide a model parameter", "model");
  if (!Array.isArray(messages) || messages.length === 0)
    return refused("'messages' must be a list with at least one message.", "messages");
  if (stream === true)
    return refused("Streaming is not served by the sandbox yet.", "stream", "unsupported_value");
  if (!isInteger(n, 1, 128)) return refused("'n' must be an integer from 1 to 128.", "n");
  if (!isOptional(temperature, (t) => typeof t === "number" && t >= 0 && t <= 2))
    return refused("'temperature' must be from 0 to 2.", "temperature");

  const limitName = isNothing(request["max_completion_tokens"]) ? "max_tokens" : "max_completion_tokens";
  const limit = request[limitName];
  if (!isOptional(limit, (tokens) => isInteger(tokens, 1, 1_000_000_000)))
    return refused(`'${limitName}' must be at least 1.`, limitName);

  const stops = typeof stop === "string" ? [stop] : (stop ?? []);
  if (!isListOf(stops, (text) => typeof text === "string" && text !== "") || stops.length > 4)
    return refused("'stop' must be up to 4 strings.", "stop");

  const wrongMessage = messages.findIndex((message: unknown) => !isMessage(message));
  if (wrongMessage >= 0)
    return refused(`Invalid message at 'messages[${wrongMessage}]'.`, `messages[${wrongMessage}]`);
  if (!isOptional(tools, (list) => isListOf(list, isTool)))
    return refused("'tools' must be a list of functions with a name.", "tools");

  const readTools = (Array.isArray(tools) ? tools : []).map(readTool);
  const toolChoice = readToolChoice(request["tool_choice"], readTools);
  if (toolChoice === undefined)
    return refused("'tool_choice' must be none, auto, required or one of 'tools'.", "tool_choice");

  return {
    model,
    messages: messages.map(readMessage),
    tools: readTools,
    toolChoice,
    toolsSent: tools,
    tokensMax: typeof limit === "number" ? limit : Infinity,
    n: Number(n),
    stop: stops.map(String),
    answerSchema: readAnswerSchema(request["response_format"]),
  };
};

const refused = (message: string, param: string | null, code: string | null = null): ChatRefused => ({
  refused: { message, param, code },
});

const isInteger = (value: unknown, from: number, to: number): boolean =>
  Number.isInteger(value) && Number(value) >= from && Number(value) <= to;
const isOptional = (value: unknown, fits: (value: unknown) => boolean): boolean =>
  isNothing(value) || fits(value);
const isListOf = (value: unknown, fits: (member: unknown) => boolean): value is unknown[] =>
  Array.isArray(value) && value.every(fits);

const roles: readonly unknown[] = ["system", "developer", "user", "assistant", "tool", "function"];

const isMessage = (message: unknown): boolean => {
  if (!isObject(message) || !roles.includes(message["role"])) return false;
  const { content } = message;
  if (isNothing(content)) return message["role"] === "assistant";
  return (
    typeof content === "string" ||
    isListOf(content, (part) => isObject(part) && typeof part["type"] === "string")
  );
};

const readMessage = (message: unknown): ChatMessage => {
  const { role, content, tool_calls: toolCalls } = isObject(message) ? message : {};
  const parts = Array.isArray(content) ? content.filter(isObject) : [];
  return {
    role: String(role),
    text:
      typeof content === "string"
        ? content
        : parts.map(({ text }) => (typeof text === "string" ? text : "")).join("\n"),
    images: parts.filter(({ type }) => type === "image_url").length,
    toolCalls,
  };
};

const isTool = (tool: unknown): boolean =>
  isObject(tool) && isObject(tool["function"]) && typeof tool["function"]["name"] === "string";

const readTool = (tool: unknown): ChatTool => {
  const { name, parameters } = isObject(tool) && isObject(tool["function"]) ? tool["function"] : {};
  return { name: String(name), parameters: isObject(parameters) ? parameters : {} };
};

const readToolChoice = (
  choice: unknown,
  tools: readonly ChatTool[],
): ChatRequest["toolChoice"] | undefined => {
  if (isNothing(choice) || choice === "auto") return "auto";
  if (choice === "none") return "none";
  if (choice === "required") return tools.length > 0 ? "required" : undefined;
  const name = isObject(choice) && isObject(choice["function"]) ? choice["function"]["name"] : undefined;
  return tools.some((tool) => tool.name === name) ? { name: String(name) } : undefined;
};

/** Undefined: plain text was asked for. An empty schema: any object will do. */
const readAnswerSchema = (format: unknown): JsonObject | undefined => {
  if (!isObject(format)) return undefined;
  if (format["type"] === "json_object") return {};
  if (format["type"] !== "json_schema" || !isObject(format["json_schema"])) return undefined;
  return isObject(format["json_schema"]["schema"]) ? format["json_schema"]["schema"] : {};
};

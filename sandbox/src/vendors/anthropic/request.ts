// A request for a message, checked as the vendor checks it: strict about members it does not know.

import type { Conversation, Tool, Turn } from "../../model/conversation.ts";
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
import { blocksIn, cacheOf, readBlock, readMessages } from "./messages.ts";

export interface MessageRequest {
  readonly conversation: Conversation;
  readonly stream: boolean;
}

const known = new Set(
  (
    "model messages max_tokens system metadata stop_sequences stream temperature top_p top_k tools tool_choice " +
    "thinking service_tier container context_management mcp_servers output_config output_format " +
    "inference_geo cache_control speed thread"
  ).split(" "),
);

/** To count tokens, no limit is needed. */
export function readMessageRequest(
  body: string,
  { limitRequired }: { limitRequired: boolean },
): MessageRequest | Refused {
  const request = parseObject(body);
  if (request === undefined) return refused("The request body is not valid JSON");
  const unknown = Object.keys(request).find((member) => !known.has(member));
  if (unknown !== undefined) return refused(`${unknown}: Extra inputs are not permitted`);
  if (!isNothing(request["thread"]))
    return refused("thread: models of the sandbox keep no conversation", {
      error_code: "thread_unsupported_request",
      unsupported: ["model"],
    });
  const { model, messages, max_tokens: limit, system, stop_sequences: stops, stream, tools } = request;

  if (!isText(model)) return refused("model: Field required");
  if (limitRequired && isNothing(limit)) return refused("max_tokens: Field required");
  if (!isOptional(limit, (tokens) => isInteger(tokens, 0, 1_000_000_000)))
    return refused("max_tokens: Input should be greater than or equal to 0");
  if (!Array.isArray(messages)) return refused("messages: Field required");
  if (messages.length === 0) return refused("messages: at least one message is required");
  if (!isOptional(request["temperature"], (value) => isNumber(value, 0, 1)))
    return refused("temperature: range: 0..1");
  if (!isOptional(stops, (list) => isListOf(list, isText)))
    return refused("stop_sequences: each stop sequence must contain non-whitespace");
  if (!isOptional(stream, (value) => typeof value === "boolean"))
    return refused("stream: Input should be a valid boolean");
  if (!isOptional(tools, (list) => isListOf(list, isTool)))
    return refused("tools.0: a name and an input_schema are required");
  const systemBlocks = isNothing(system) ? [] : blocksIn(system);
  if (systemBlocks === undefined) return refused("system: Input should be a valid list");

  const readTools = objectsIn(tools).map(readTool);
  const toolChoice = readToolChoice(request["tool_choice"], readTools);
  if (toolChoice === undefined) return refused("tool_choice: does not match any of the tools");
  const thinkingTokensMax = readThinking(request["thinking"], limit);
  if (typeof thinkingTokensMax === "object") return thinkingTokensMax;
  if (thinkingTokensMax > 0 && (toolChoice === "required" || Array.isArray(toolChoice)))
    return refused("Thinking may not be enabled when tool_choice forces tool use.");

  const turns = readMessages(messages, model);
  if ("refused" in turns) return turns;
  if (limitRequired && readTools.length === 0 && turns.some(hasTools))
    return refused("Requests which include `tool_use` or `tool_result` blocks must define tools.");
  const systemTurns: Turn[] =
    systemBlocks.length === 0 ? [] : [{ role: "system", blocks: systemBlocks.map(readBlock), calls: [] }];
  const marks = marksIn([...systemTurns, ...turns], readTools);
  if (marks > marksMax)
    return refused(`A maximum of ${marksMax} blocks with cache_control may be provided. Found ${marks}.`);
  return {
    conversation: {
      model,
      turns: markEnd([...systemTurns, ...turns], request),
      tools: readTools,
      toolChoice,
      parallelCalls: objectOr(request["tool_choice"])["disable_parallel_tool_use"] !== true,
      tokensMax: limitOf(limit),
      stop: (Array.isArray(stops) ? stops : []).map(String),
      answerSchema: readAnswerSchema(request),
      thinkingTokensMax,
    },
    stream: stream === true,
  };
}

const hasTools = ({ role, calls }: Turn): boolean => role === "tool" || calls.length > 0;

/** As many as the vendor takes. */
const marksMax = 4;

const marksIn = (turns: readonly Turn[], tools: readonly Tool[]): number =>
  [...turns.flatMap(({ blocks }) => blocks), ...tools].filter(({ cacheFor }) => cacheFor !== undefined)
    .length;

/** A mark on the request itself stands for one at the end of the prompt. */
const markEnd = (turns: readonly Turn[], request: JsonObject): Turn[] =>
  turns.map((turn, n) => (n === turns.length - 1 ? { ...turn, ...cacheOf(request) } : turn));

const isTool = (tool: unknown): boolean =>
  isObject(tool) && isText(tool["name"]) && schemaOf(tool) !== undefined;

/** Undefined for a tool without a schema that the vendor's models do not know either, or that it runs itself. */
function schemaOf({ type = "custom", input_schema: schema }: JsonObject): JsonObject | undefined {
  if (isObject(schema)) return schema;
  const [, known = ""] = /^(\w+)_\d{8}$/.exec(String(type)) ?? [];
  return knownTools.get(known);
}

const properties = (members: JsonObject): JsonObject => ({ type: "object", properties: members });

/** What the vendor's models know to write for tools that its callers run. */
const knownTools: ReadonlyMap<string, JsonObject> = new Map([
  ["bash", properties({ command: { type: "string" } })],
  ["text_editor", properties({ command: { const: "view" }, path: { type: "string" } })],
  ["memory", properties({ command: { const: "view" }, path: { type: "string" } })],
  ["computer", properties({ action: { const: "screenshot" } })],
]);

const readTool = (tool: JsonObject): Tool => ({
  name: String(tool["name"]),
  ...(typeof tool["description"] === "string" ? { description: tool["description"] } : {}),
  parameters: schemaOf(tool) ?? {},
  ...cacheOf(tool),
});

function readToolChoice(choice: unknown, tools: readonly Tool[]): Conversation["toolChoice"] | undefined {
  if (isNothing(choice)) return "auto";
  const { type, name } = objectOr(choice);
  if (type === "auto" || type === "none") return type;
  if (type === "any") return tools.length > 0 ? "required" : undefined;
  return type === "tool" && tools.some((tool) => tool.name === name) ? [String(name)] : undefined;
}

const thinkingTokensMin = 1024;

function readThinking(thinking: unknown, limit: unknown): number | Refused {
  const { type = "disabled", budget_tokens: budget } = objectOr(thinking);
  if (type === "disabled") return 0;
  if (type === "adaptive") return thinkingTokensMin;
  if (type !== "enabled")
    return refused("thinking.type: Input should be 'enabled', 'adaptive' or 'disabled'");
  if (!isInteger(budget, thinkingTokensMin, 1_000_000_000))
    return refused(
      `thinking.enabled.budget_tokens: Input should be greater than or equal to ${thinkingTokensMin}`,
    );
  if (budget >= limitOf(limit)) return refused("`max_tokens` must be greater than `thinking.budget_tokens`.");
  return budget;
}

function readAnswerSchema(request: JsonObject): JsonObject | undefined {
  const { type, schema } = objectOr(request["output_format"] ?? objectOr(request["output_config"])["format"]);
  return type === "json_schema" ? objectOr(schema) : undefined;
}

// A request to the agent API. Strict: a member the vendor does not know is an error that names it.

import { isNothing, isObject, parseObject, type JsonObject } from "../../vendor.ts";
import { isInteger, isListOf, isOptional, isText, limitOf, objectsIn } from "../checks.ts";

export interface AgentRequest {
  readonly model: string;
  /** The last thing the user said. */
  readonly query: string;
  /** Everything that is read. */
  readonly prompt: string;
  readonly searches: number;
  readonly tokensMax: number;
  readonly stream: boolean;
}

interface AgentRefused {
  readonly refused: { readonly message: string; readonly param: string };
}

const known = new Set(
  (
    "input instructions language_preference max_output_tokens max_steps model models preset reasoning " +
    "response_format stream stream_options tools tool_choice temperature top_p background metadata store include"
  ).split(" "),
);

const searchesByPreset: Readonly<Record<string, number>> = {
  fast: 1,
  low: 2,
  medium: 3,
  high: 5,
  "fast-search": 1,
  "pro-search": 2,
  "deep-research": 5,
  "advanced-deep-research": 6,
};

export function readAgentRequest(body: string): AgentRequest | AgentRefused {
  const request = parseObject(body);
  if (request === undefined) return refused("invalid request body: a JSON object is expected", "body");
  const unknown = Object.keys(request).find((member) => !known.has(member));
  if (unknown !== undefined)
    return refused(`invalid request body: json: unknown field "${unknown}"`, unknown);

  const { input, instructions, model, models, preset, max_output_tokens: limit, background } = request;
  const said = isText(input) ? [input] : readTurns(input);
  if (said === undefined) return refused("input is required: a text or a list of messages", "input");
  const first: unknown = isText(model) ? model : Array.isArray(models) ? models[0] : undefined;
  if (!isText(first) && !isText(preset)) return refused("model, models or preset is required", "model");
  const searches = isText(preset) ? searchesByPreset[preset] : 1;
  if (searches === undefined) return refused(`unknown preset "${String(preset)}"`, "preset");
  if (!isOptional(limit, (tokens) => isInteger(tokens, 1, 1_000_000_000)))
    return refused("max_output_tokens must be positive", "max_output_tokens");
  if (background === true) return refused("background is not served by the sandbox", "background");

  return {
    model: isText(first) ? first : "perplexity/sonar",
    query: said.at(-1) ?? "",
    prompt: [...(isText(instructions) ? [instructions] : []), ...said].join("\n"),
    searches,
    tokensMax: limitOf(limit),
    stream: request["stream"] === true,
  };
}

const refused = (message: string, param: string): AgentRefused => ({ refused: { message, param } });

function readTurns(input: unknown): string[] | undefined {
  if (!isListOf(input, isObject) || input.length === 0) return undefined;
  const texts = objectsIn(input).map(({ content }) => textIn(content));
  return texts.every((text) => text !== undefined) ? texts : undefined;
}

function textIn(content: unknown): string | undefined {
  if (typeof content === "string") return content;
  if (isNothing(content) || !isListOf(content, isObject)) return undefined;
  return objectsIn(content)
    .map(({ text }: JsonObject) => (typeof text === "string" ? text : ""))
    .join("\n");
}

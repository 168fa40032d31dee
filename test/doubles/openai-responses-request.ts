// What OpenAI checks of a response, and what it asks for.

import { turnsOf } from "./asked.ts";
import type { Asked, Draft } from "./asked.ts";
import { numberOrNull, objectOf, objectsOf, parsedOr, stringOf, stringOrNull } from "./json-read.ts";
import { fields } from "./known-fields.ts";
import type { Shape } from "./known-fields.ts";
import { checkStream, effortOf } from "./openai-chat-request.ts";
import { invalid, missing, unknownParameter } from "./openai-refusal.ts";
import type { Problem } from "./openai-refusal.ts";
import { isPositiveInteger } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

export function checkResponses(body: JsonObject): Problem | undefined {
  const stranger = unknownParameter(body, requestShape);
  if (stranger) return stranger;
  if (typeof body["model"] !== "string" || body["model"] === "") return missing("model");
  const { input } = body;
  if (input === undefined) return missing("input");
  if (typeof input !== "string" && !(Array.isArray(input) && input.length > 0)) {
    return invalid("input", "a string or a non-empty array of items");
  }
  const items = objectsOf(input);
  const strange = items.findIndex((item) => !itemTypes.includes(typeOf(item)));
  if (strange >= 0) return invalid(`input[${strange}].type`, `one of ${itemTypes.join(", ")}`);
  const long = items.findIndex(({ call_id: id }) => typeof id === "string" && id.length > callIdMax);
  if (long >= 0) {
    const message = `Invalid 'input[${long}].call_id': string too long. Expected a string with maximum length ${callIdMax}.`;
    return { message, param: `input[${long}].call_id`, code: "string_above_max_length" };
  }
  const calls = items.filter((item) => item["type"] === "function_call").map((item) => item["call_id"]);
  const stray = items.find(
    (item) => item["type"] === "function_call_output" && !calls.includes(item["call_id"]),
  );
  if (stray && body["previous_response_id"] === undefined) {
    const message = `No tool call found for function call output with call_id ${String(stray["call_id"])}.`;
    return { message, param: "input" };
  }
  const thoughts = items.filter(({ type }) => type === "reasoning");
  if (thoughts.some(({ id }) => typeof id !== "string")) return missing("input[0].id");
  const unknown = thoughts.find(
    ({ id, encrypted_content: sealed = null }) =>
      sealed !== null && (sealed !== sealedThought || id !== thoughtId),
  );
  if (unknown) return { message: unreadable, code: "invalid_encrypted_content" };
  const { max_output_tokens: limit = 16 } = body;
  if (!isPositiveInteger(limit) || Number(limit) < 16)
    return invalid("max_output_tokens", "an integer of at least 16");
  return checkStream(body);
}

const callIdMax = 64;

/** What this double seals its thoughts as; it takes back no other. */
export const sealedThought = "gAAAAABsealed-by-the-double==";
/** The id of the item that a thought comes in, which is sealed with it. */
export const thoughtId = "rs_0";

const unreadable = "The encrypted content for item rs_0 could not be verified.";

export function readResponses(body: JsonObject): Asked {
  const { input } = body;
  const items = typeof input === "string" ? [{ role: "user", content: input }] : objectsOf(input);
  const isSystem = ({ role }: JsonObject): boolean => role === "system" || role === "developer";
  const format = objectOf(objectOf(body["text"])["format"]);
  return {
    model: stringOf(body["model"]),
    system: [
      ...textsOf(body["instructions"]),
      ...items.filter(isSystem).flatMap(({ content }) => textsOf(content)),
    ].join("\n"),
    turns: turnsOf(items.filter((item) => !isSystem(item)).flatMap(draftsOf)),
    tools: objectsOf(body["tools"]).map(({ name, type }) => stringOf(name ?? type)),
    toolChoice: toolChoiceOf(body["tool_choice"]),
    maxOutputTokens: numberOrNull(body["max_output_tokens"]),
    temperature: numberOrNull(body["temperature"]),
    stop: [],
    stream: body["stream"] === true,
    outputSchema: format["type"] === "json_object" ? "json" : (format["schema"] ?? null),
    reasoning: effortOf(objectOf(body["reasoning"])["effort"]),
  };
}

const itemTypes = ["message", "function_call", "function_call_output", "reasoning", "item_reference"];

const requestShape: Shape = {
  ...fields(
    "background",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
  ),
  reasoning: fields("effort", "generate_summary", "summary"),
  stream_options: fields("include_obfuscation"),
  text: { verbosity: "any", format: fields("description", "name", "schema", "strict", "type") },
};

/** A message may leave its type out. */
const typeOf = ({ type, role }: JsonObject): string =>
  stringOf(type ?? (role === undefined ? "" : "message"));

function draftsOf(item: JsonObject): readonly Draft[] {
  switch (typeOf(item)) {
    case "function_call":
      return [
        {
          role: "assistant",
          toolCalls: [
            {
              id: stringOrNull(item["call_id"]),
              name: stringOf(item["name"]),
              arguments: parsedOr(stringOf(item["arguments"])),
            },
          ],
        },
      ];
    case "function_call_output": {
      const text = textsOf(item["output"]).join("\n");
      return [
        {
          role: "user",
          toolResults: [{ id: stringOrNull(item["call_id"]), name: null, text, isError: false }],
        },
      ];
    }
    case "message":
      return [
        {
          role: item["role"] === "assistant" ? "assistant" : "user",
          texts: textsOf(item["content"]),
          images: objectsOf(item["content"])
            .filter(({ type }) => type === "input_image")
            .map((part) => stringOf(part["image_url"])),
        },
      ];
    default:
      return [];
  }
}

function textsOf(content: unknown): readonly string[] {
  if (typeof content === "string") return content === "" ? [] : [content];
  return objectsOf(content)
    .filter(({ type }) => type === "input_text" || type === "output_text")
    .map(({ text }) => stringOf(text));
}

function toolChoiceOf(choice: unknown): Asked["toolChoice"] {
  if (choice === "auto" || choice === "none" || choice === "required") return choice;
  const { name } = objectOf(choice);
  return typeof name === "string" ? { name } : null;
}

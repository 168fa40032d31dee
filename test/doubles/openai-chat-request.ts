// What OpenAI checks of a chat completion, and what it asks for.

import { turnsOf } from "./asked.ts";
import type { Asked, Draft, Turn } from "./asked.ts";
import { listOf, numberOrNull, objectOf, objectsOf, parsedOr, stringOf, stringOrNull } from "./json-read.ts";
import { fields } from "./known-fields.ts";
import type { Shape } from "./known-fields.ts";
import { checkMistralOrder } from "./mistral-order.ts";
import { invalid, missing, unknownParameter } from "./openai-refusal.ts";
import type { Problem } from "./openai-refusal.ts";
import { checkToolOrder } from "./openai-tool-order.ts";
import { checkQwenTemplate } from "./qwen-template.ts";
import { isObject, isPositiveInteger } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

export function checkChat(body: JsonObject): Problem | undefined {
  const stranger = unknownParameter(
    body,
    isDeepSeek(body) ? { ...requestShape, thinking: fields("type") } : requestShape,
  );
  if (stranger) return stranger;
  if (typeof body["model"] !== "string" || body["model"] === "") {
    return { message: "you must provide a model parameter" };
  }
  return (
    checkMessages(body["messages"]) ??
    checkMistralOrder(body) ??
    checkQwenTemplate(body) ??
    checkPlainTexts(body) ??
    checkNumbers(body) ??
    checkUser(body["user"]) ??
    checkStream(body) ??
    checkTools(body) ??
    checkThinkingBesideTools(body) ??
    checkForcedThinker(body) ??
    checkStrict(body)
  );
}

export function readChat(body: JsonObject): Asked {
  const messages = objectsOf(body["messages"]);
  return {
    model: stringOf(body["model"]),
    system: messages
      .filter(isSystem)
      .flatMap(({ content }) => textsOf(content))
      .join("\n"),
    turns: conversationOf(messages),
    tools: objectsOf(body["tools"]).map((tool) =>
      stringOf(objectOf(tool["function"] ?? tool["custom"])["name"]),
    ),
    toolChoice: toolChoiceOf(body["tool_choice"]),
    maxOutputTokens: numberOrNull(body["max_completion_tokens"] ?? body["max_tokens"]),
    temperature: numberOrNull(body["temperature"]),
    stop: typeof body["stop"] === "string" ? [body["stop"]] : listOf(body["stop"]).map(String),
    stream: body["stream"] === true,
    outputSchema: schemaOf(objectOf(body["response_format"])),
    reasoning: effortOf(body["reasoning_effort"]),
  };
}

export function effortOf(effort: unknown): Asked["reasoning"] {
  if (typeof effort !== "string") return null;
  return effort === "none" ? "off" : { effort };
}

const requestShape = {
  ...fields(
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "metadata",
    "modalities",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning_effort",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "temperature",
    "tool_choice",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
  ),
  messages: {
    ...fields("audio", "content", "function_call", "name", "refusal", "role", "tool_call_id"),
    tool_calls: { ...fields("custom", "id", "type"), function: fields("arguments", "name") },
  },
  response_format: { type: "any", json_schema: fields("description", "name", "schema", "strict") },
  stream_options: fields("include_obfuscation", "include_usage"),
  tools: {
    ...fields("custom", "type"),
    function: fields("description", "name", "parameters", "strict"),
  },
} as const satisfies Shape;

const roles = ["developer", "system", "user", "assistant", "tool", "function"];
const partTypes = ["text", "image_url", "input_audio", "file", "refusal"];
const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const stopsMax = 4;

function checkMessages(messages: unknown): Problem | undefined {
  if (!Array.isArray(messages)) return missing("messages");
  if (messages.length === 0) {
    return {
      message: "Invalid 'messages': empty array. Expected an array with minimum length 1.",
      param: "messages",
      code: "empty_array",
    };
  }
  for (const [index, message] of messages.entries()) {
    const param = `messages[${index}]`;
    if (!isObject(message) || !roles.includes(stringOf(message["role"]))) {
      return invalid(param, "a message with a known role");
    }
    const problem = checkMessage(message, param);
    if (problem) return problem;
  }
  return checkToolOrder(objectsOf(messages));
}

function checkMessage(message: JsonObject, param: string): Problem | undefined {
  const { role, content, tool_calls: calls, tool_call_id: answers } = message;
  if (role === "tool" && typeof answers !== "string") return missing(`${param}.tool_call_id`);
  if (calls !== undefined && (role !== "assistant" || !Array.isArray(calls) || calls.length === 0)) {
    return invalid(`${param}.tool_calls`, "a non-empty array of an assistant's calls");
  }
  for (const [at, call] of objectsOf(calls).entries()) {
    const { name, arguments: text } = objectOf(call["function"]);
    const isCall = typeof call["id"] === "string" && typeof name === "string" && typeof text === "string";
    if (!isCall && call["type"] !== "custom") return invalid(`${param}.tool_calls[${at}]`, "a function call");
  }
  if (typeof content === "string") return undefined;
  if (Array.isArray(content)) {
    const strange = content.findIndex(
      (part: unknown) => !partTypes.includes(stringOf(objectOf(part)["type"])),
    );
    return strange < 0
      ? undefined
      : invalid(`${param}.content[${strange}].type`, `one of ${partTypes.join(", ")}`);
  }
  // Only an assistant may have said nothing, and then because it called.
  const silent = role === "assistant" && (calls !== undefined || isObject(message["function_call"]));
  return silent || typeof message["refusal"] === "string"
    ? undefined
    : invalid(`${param}.content`, "a string or an array of parts");
}

/** DeepSeek speaks OpenAI's dialect, but knows texts only, and no developers. */
function checkPlainTexts({ model, messages }: JsonObject): Problem | undefined {
  if (!stringOf(model).startsWith("deepseek")) return undefined;
  const told = objectsOf(messages).findIndex(({ role }) => role === "developer");
  if (told >= 0) {
    return {
      message: `Failed to deserialize the JSON body into the target type: messages[${told}].role: unknown variant \`developer\``,
    };
  }
  const at = objectsOf(messages).findIndex(({ content }) => Array.isArray(content));
  if (at < 0) return undefined;
  const problem = `messages[${at}]: invalid type: sequence, expected a string`;
  return { message: `Failed to deserialize the JSON body into the target type: ${problem}` };
}

function checkNumbers(body: JsonObject): Problem | undefined {
  for (const name of ["max_tokens", "max_completion_tokens", "n"]) {
    const value = body[name] ?? 1;
    if (!isPositiveInteger(value)) return invalid(name, "an integer of at least 1");
  }
  const temperature = body["temperature"] ?? 1;
  if (typeof temperature !== "number" || temperature < 0 || temperature > 2) {
    return invalid("temperature", "a number from 0 to 2");
  }
  const stop = body["stop"] ?? "";
  const stops = typeof stop === "string" ? [] : listOf(stop);
  if ((typeof stop !== "string" && !Array.isArray(stop)) || stops.length > stopsMax) {
    return invalid("stop", `a string or an array of at most ${stopsMax}`);
  }
  const { model, reasoning_effort: effort } = body;
  if (effort !== undefined && /^gpt-[34]/.test(stringOf(model)))
    return { message: "Unrecognized request argument supplied: reasoning_effort", param: "reasoning_effort" };
  if (!efforts.includes(stringOf(effort ?? "none"))) {
    return invalid("reasoning_effort", `one of ${efforts.join(", ")}`);
  }
  return undefined;
}

const userMax = 64;

const checkUser = (user: unknown): Problem | undefined =>
  stringOf(user).length > userMax ? invalid("user", `a string of at most ${userMax} characters`) : undefined;

export function checkStream(body: JsonObject): Problem | undefined {
  const stream = body["stream"] ?? false;
  if (typeof stream !== "boolean") return invalid("stream", "a boolean");
  if ((body["stream_options"] ?? null) === null || stream) return undefined;
  return {
    message: "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    param: "stream_options",
  };
}

function checkTools(body: JsonObject): Problem | undefined {
  const { tools = null } = body;
  if (tools === null) {
    const stray = ["tool_choice", "parallel_tool_calls"].find((name) => (body[name] ?? null) !== null);
    if (stray === undefined || body["functions"] !== undefined) return undefined;
    return {
      message: `Invalid value for '${stray}': '${stray}' is only allowed when 'tools' are specified.`,
      param: stray,
    };
  }
  if (!Array.isArray(tools) || tools.length === 0) return invalid("tools", "a non-empty array");
  const nameless = tools.findIndex(
    (tool: unknown) =>
      objectOf(tool)["type"] !== "custom" &&
      !/^[a-zA-Z0-9_-]{1,64}$/.test(stringOf(objectOf(objectOf(tool)["function"])["name"])),
  );
  if (nameless >= 0) return invalid(`tools[${nameless}].function.name`, "a name of ^[a-zA-Z0-9_-]{1,64}$");
  for (const [at, tool] of objectsOf(tools).entries()) {
    const param = `tools[${at}].function.parameters`;
    if (hasBareList(objectOf(tool["function"])["parameters"])) {
      return { message: "Invalid schema for function: array schema missing items.", param };
    }
  }
  const choice = toolChoiceOf(body["tool_choice"]);
  if (typeof choice !== "object" || choice === null) return undefined;
  const isKnown = objectsOf(tools).some((tool) => objectOf(tool["function"])["name"] === choice.name);
  return isKnown ? undefined : invalid("tool_choice", "the name of a tool");
}

/** Whether a list anywhere in the schema does not say what it holds. */
function hasBareList(schema: unknown): boolean {
  const { type, items, properties, anyOf } = objectOf(schema);
  if (type === "array" && items === undefined) return true;
  return [...Object.values(objectOf(properties)), ...listOf(anyOf), items].some(
    (inner) => isObject(inner) && hasBareList(inner),
  );
}

/** GPT-5.4 thinks only when told to, later ones unless told "none", which Astra and GPT-6.1 Sol cannot be. */
const checkThinkingBesideTools = ({
  model,
  tools,
  reasoning_effort: effort,
}: JsonObject): Problem | undefined => {
  const [, major = 0, minor = 0] = /^gpt-(\d+)(?:\.(\d+))?/.exec(stringOf(model)) ?? [];
  const version = Number(major) + Number(minor) / 10;
  if (effort === "none" && /-astra|^gpt-6\.1-sol/.test(stringOf(model))) {
    return { message: "Unsupported value: 'reasoning_effort' does not support 'none' with this model." };
  }
  const thinks = version > 5.4 ? effort !== "none" : version === 5.4 && effort !== undefined;
  if (!thinks || tools === undefined) return undefined;
  const message =
    `Function tools with reasoning_effort are not supported for ${stringOf(model)} in /v1/chat/completions. ` +
    "To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
  return { message, param: "reasoning_effort" };
};

const isDeepSeek = ({ model }: JsonObject): boolean => stringOf(model).startsWith("deepseek-v4");

/** DeepSeek thinks unless told not to. */
function checkForcedThinker(body: JsonObject): Problem | undefined {
  const { thinking, tool_choice: choice = "auto" } = body;
  if (!isDeepSeek(body) || choice === "auto" || choice === "none") return undefined;
  return objectOf(thinking)["type"] === "disabled"
    ? undefined
    : { message: "Thinking mode does not support this tool_choice" };
}

/** Held to strictly, every object must be closed and require all it has, and many words are not taken. */
function checkStrict(body: JsonObject): Problem | undefined {
  const format = objectOf(objectOf(body["response_format"])["json_schema"]);
  if (format["strict"] === true) {
    const problem = checkStrictSchema(format["schema"], "response_format");
    if (problem) return problem;
  }
  for (const [at, tool] of objectsOf(body["tools"]).entries()) {
    const { strict, parameters } = objectOf(tool["function"]);
    if (strict !== true) continue;
    const problem = checkStrictSchema(parameters, `tools[${at}].function.parameters`);
    if (problem) return problem;
  }
  return undefined;
}

function checkStrictSchema(schema: unknown, param: string): Problem | undefined {
  if (!isClosed(schema)) return invalid(param, "a schema whose objects are closed and require all");
  const odd = refusedWord(schema) ?? oddSchema(schema);
  return odd === undefined ? undefined : { message: `Invalid schema: ${odd}.`, param };
}

/** A reference stands alone, and everything else says its type. */
function oddSchema(schema: unknown): string | undefined {
  const { $ref, type, anyOf, items, ...members } = objectOf(schema);
  if ($ref !== undefined && Object.keys(objectOf(schema)).length > 1) return "$ref cannot have keywords";
  if ($ref === undefined && type === undefined && anyOf === undefined) return "schema must have a 'type' key";
  const named = byName.flatMap((name) => Object.values(objectOf(members[name])));
  const within = [...named, ...listOf(anyOf), ...(items === undefined ? [] : [items])];
  return within.map(oddSchema).find((found) => found !== undefined);
}

const strictlyRefused = ["default", "minLength", "maxLength", "uniqueItems", "propertyNames"];

/** Here schemas stand under names, which are the caller's own and no words of JSON Schema. */
const byName = ["properties", "$defs", "definitions"];

function refusedWord(schema: unknown): string | undefined {
  for (const inner of listOf(schema)) {
    const word = refusedWord(inner);
    if (word !== undefined) return word;
  }
  const members = objectOf(schema);
  const word = strictlyRefused.find((each) => each in members);
  if (word !== undefined) return `'${word}' is not permitted`;
  if (members["format"] === "uri") return "'uri' is not a valid format";
  const within = Object.entries(members).flatMap(([name, member]) =>
    byName.includes(name) ? Object.values(objectOf(member)) : [member],
  );
  return within.map(refusedWord).find((found) => found !== undefined);
}

function isClosed(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isClosed);
  if (!isObject(schema)) return true;
  const { type, properties = {}, required = [], additionalProperties } = schema;
  const isOpen =
    type === "object" &&
    (additionalProperties !== false ||
      Object.keys(objectOf(properties)).some((name) => !listOf(required).includes(name)));
  return !isOpen && Object.values(schema).every(isClosed);
}

const isSystem = ({ role }: JsonObject): boolean => role === "system" || role === "developer";

const conversationOf = (messages: readonly JsonObject[]): readonly Turn[] =>
  turnsOf(messages.filter((message) => !isSystem(message)).map(draftOf));

function draftOf(message: JsonObject): Draft {
  const { role, content } = message;
  if (role === "tool") {
    const result = {
      id: stringOrNull(message["tool_call_id"]),
      name: null,
      text: textsOf(content).join("\n"),
      isError: false,
    };
    return { role: "user", toolResults: [result] };
  }
  return {
    role: role === "assistant" ? "assistant" : "user",
    texts: textsOf(content),
    images: objectsOf(content)
      .filter(({ type }) => type === "image_url")
      .map((part) => stringOf(objectOf(part["image_url"])["url"])),
    toolCalls: objectsOf(message["tool_calls"]).map((call) => {
      const { name, arguments: text } = objectOf(call["function"]);
      return { id: stringOrNull(call["id"]), name: stringOf(name), arguments: parsedOr(stringOf(text)) };
    }),
  };
}

function textsOf(content: unknown): readonly string[] {
  if (typeof content === "string") return content === "" ? [] : [content];
  return objectsOf(content)
    .filter(({ type }) => type === "text")
    .map(({ text }) => stringOf(text));
}

function toolChoiceOf(choice: unknown): Asked["toolChoice"] {
  if (choice === "auto" || choice === "none" || choice === "required") return choice;
  const { name } = objectOf(objectOf(choice)["function"]);
  return typeof name === "string" ? { name } : null;
}

function schemaOf(format: JsonObject): unknown {
  if (format["type"] === "json_object") return "json";
  return objectOf(format["json_schema"])["schema"] ?? null;
}

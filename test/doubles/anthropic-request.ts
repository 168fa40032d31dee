// What Anthropic checks of a message, and what it asks for.

import { validSignature } from "./anthropic-message.ts";
import { toolMismatch, turnsOf } from "./asked.ts";
import type { Asked, AskedReasoning, Draft } from "./asked.ts";
import { listOf, numberOrNull, objectOf, objectsOf, stringOf, stringOrNull } from "./json-read.ts";
import { fields, strangePath } from "./known-fields.ts";
import type { Shape } from "./known-fields.ts";
import { isObject } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

/** Why the request is refused, in Anthropic's words: the path, then what is wrong there. */
export function checkMessages(
  body: JsonObject,
  { counting }: { readonly counting: boolean },
): string | undefined {
  const path = strangePath(body, counting ? countShape : requestShape);
  if (path) return `${path.join(".")}: Extra inputs are not permitted`;
  if (typeof body["model"] !== "string") return "model: Field required";
  const problem =
    (counting ? undefined : (checkNumbers(body) ?? checkUser(body))) ??
    checkAddedInstructions(body) ??
    checkTurns(body["messages"]);
  return (
    problem ??
    checkThinking(body) ??
    checkTools(body) ??
    (counting ? undefined : checkEarlierTools(body)) ??
    checkSystem(body["system"])
  );
}

export function readMessages(body: JsonObject): Asked {
  const { effort, format } = objectOf(body["output_config"]);
  const messages = objectsOf(body["messages"]);
  return {
    model: stringOf(body["model"]),
    system: [body["system"], ...messages.filter(isSystem).map(({ content }) => content)]
      .flatMap(textsOf)
      .join("\n"),
    turns: turnsOf(messages.filter((message) => !isSystem(message)).map(draftOf)),
    tools: objectsOf(body["tools"]).map(({ name }) => stringOf(name)),
    toolChoice: toolChoiceOf(objectOf(body["tool_choice"])),
    maxOutputTokens: numberOrNull(body["max_tokens"]),
    temperature: numberOrNull(body["temperature"]),
    stop: listOf(body["stop_sequences"]).map(String),
    stream: body["stream"] === true,
    outputSchema: objectOf(format)["schema"] ?? null,
    reasoning: reasoningOf(objectOf(body["thinking"]), effort),
  };
}

export const showsThinking = (body: JsonObject): boolean =>
  ["enabled", "adaptive"].includes(stringOf(objectOf(body["thinking"])["type"])) || thinksUnasked(body);

/** Since Claude 5, whoever says nothing is thought for. */
const thinksUnasked = ({ model, thinking }: JsonObject): boolean =>
  thinking === undefined && /-5(-\d)?$/.test(stringOf(model)) && !/-[34]-5$/.test(stringOf(model));

/** Since Claude 4.7, whoever does not ask to see what was thought gets an empty thought, signed. */
export const omitsThought = ({ model, thinking }: JsonObject): boolean =>
  isSince47(stringOf(model)) && objectOf(thinking)["display"] !== "summarized";

const isSince47 = (model: string): boolean => /-(4-[78]|5(-\d)?)$/.test(model) && !/-[34]-5$/.test(model);

const cacheMark = { cache_control: fields("type", "ttl") };

const blockShapes: Readonly<Record<string, Shape>> = {
  text: { ...fields("type", "text", "citations"), ...cacheMark },
  image: { type: "any", source: fields("type", "media_type", "data", "url", "file_id"), ...cacheMark },
  document: { ...fields("type", "source", "citations", "context", "title"), ...cacheMark },
  search_result: { ...fields("type", "content", "source", "title", "citations"), ...cacheMark },
  thinking: fields("type", "thinking", "signature"),
  redacted_thinking: fields("type", "data"),
  tool_use: { ...fields("type", "id", "name", "input", "caller"), ...cacheMark },
  tool_result: {
    ...fields("type", "tool_use_id", "is_error"),
    content: (block) => blockShapes[stringOf(block["type"])] ?? "any",
    ...cacheMark,
  },
};

const countedMembers = {
  ...fields("model", "thinking"),
  ...cacheMark,
  messages: { role: "any", content: (block) => blockShapes[stringOf(block["type"])] ?? "any" },
  output_config: { effort: "any", format: fields("type", "schema"), task_budget: "any" },
  system: { ...fields("type", "text", "citations"), ...cacheMark },
  tool_choice: fields("type", "name", "disable_parallel_tool_use"),
  tools: ({ type = "custom" }) =>
    type === "custom"
      ? {
          ...fields(
            "type",
            "name",
            "description",
            "input_schema",
            "strict",
            "defer_loading",
            "allowed_callers",
          ),
          ...fields("eager_input_streaming", "input_examples"),
          ...cacheMark,
        }
      : "any",
} satisfies Shape;

const countShape: Shape = { ...countedMembers, thinking: fields("type", "budget_tokens", "display") };

const requestShape: Shape = {
  ...countShape,
  ...fields("container", "inference_geo", "max_tokens", "service_tier", "stop_sequences", "stream"),
  ...fields("temperature", "top_k", "top_p"),
  metadata: fields("user_id"),
  thread: fields("type", "previous_message_id"),
};

const budgetMin = 1024;

function checkNumbers(body: JsonObject): string | undefined {
  const { max_tokens: most, temperature = 1, stream = false, stop_sequences: stops = [] } = body;
  if (most === undefined) return "max_tokens: Field required";
  if (!Number.isSafeInteger(most)) return "max_tokens: Input should be a valid integer";
  if (Number(most) < 0) return "max_tokens: Input should be greater than or equal to 0";
  if (typeof temperature !== "number") return "temperature: Input should be a valid number";
  if (temperature < 0 || temperature > 1) return "temperature: range: 0..1";
  const told = isSince47(stringOf(body["model"])) ? toldAnyway(body) : undefined;
  if (told !== undefined) return `\`${told}\` is deprecated for this model.`;
  if (typeof stream !== "boolean") return "stream: Input should be a valid boolean";
  const areStops = Array.isArray(stops) && stops.every((stop) => typeof stop === "string");
  if (!areStops) return "stop_sequences: Input should be a valid list";
  return stops.some((stop) => stop.trim() === "")
    ? "stop_sequences: each stop sequence must contain non-whitespace"
    : undefined;
}

/** Later models choose for themselves; what comes to the same they take for the sake of older clients. */
function toldAnyway({ temperature = 1, top_p: topP = 1, top_k: topK }: JsonObject): string | undefined {
  if (temperature !== 1) return "temperature";
  if (Number(topP) < 0.99) return "top_p";
  return topK === undefined ? undefined : "top_k";
}

const userMax = 256;

function checkUser({ metadata }: JsonObject): string | undefined {
  const user = stringOf(objectOf(metadata)["user_id"]);
  if (/\S@\S+\.\S/.test(user)) return "metadata.user_id: user_id appears to contain an email address";
  if (/^\+?[\d\s()-]{7,}$/.test(user)) return "metadata.user_id: user_id appears to contain a phone number";
  return user.length > userMax ? `metadata.user_id: at most ${userMax} characters` : undefined;
}

function checkSystem(system: unknown = ""): string | undefined {
  if (typeof system === "string") return undefined;
  const areTexts =
    Array.isArray(system) && system.every((block) => isObject(block) && block["type"] === "text");
  if (!areTexts) return "system: Input should be a valid string or a list of text blocks";
  const empty = objectsOf(system).findIndex(({ text }) => stringOf(text) === "");
  return empty < 0 ? undefined : `system.${empty}: text content blocks must be non-empty`;
}

function checkTurns(messages: unknown): string | undefined {
  if (messages === undefined) return "messages: Field required";
  if (!Array.isArray(messages)) return "messages: Input should be a valid list";
  if (messages.length === 0) return "messages: at least one message is required";
  for (const [index, message] of messages.entries()) {
    const { role, content } = objectOf(message);
    if (role !== "user" && role !== "assistant" && role !== "system")
      return `messages.${index}.role: Input should be 'user' or 'assistant'`;
    if (typeof content === "string" && content !== "") continue;
    const isLast = index === messages.length - 1;
    const isEmpty = content === "" || (Array.isArray(content) && content.length === 0);
    if (isEmpty && !(isLast && role === "assistant")) {
      return `messages.${index}: all messages must have non-empty content except for the optional final assistant message`;
    }
    if (!isEmpty && !Array.isArray(content)) return `messages.${index}.content: Input should be a valid list`;
    for (const [at, block] of listOf(content).entries()) {
      const problem = checkBlock(objectOf(block), role);
      if (problem) return `messages.${index}.content.${at}${problem}`;
    }
  }
  const said = objectsOf(messages).filter((message) => !isSystem(message));
  const mismatch = toolMismatch(turnsOf(said.map(draftOf)));
  if (!mismatch) return undefined;
  return mismatch.kind === "unanswered"
    ? `messages: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${mismatch.id}.`
    : `messages: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${mismatch.id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
}

const isSystem = ({ role }: JsonObject): boolean => role === "system";

const takesSystem = /(opus-(4-8|5)|(fable|mythos)-5|(sonnet|haiku)-5-5)/;

/** Where models since Opus 4.8 take instructions among the messages. */
function checkAddedInstructions({ model, messages }: JsonObject): string | undefined {
  const turns = objectsOf(messages);
  if (!turns.some(isSystem)) return undefined;
  if (turns[0]?.["role"] === "system")
    return "messages.0: use the top-level 'system' parameter for the initial system prompt";
  if (!takesSystem.test(stringOf(model))) return "role 'system' is not supported on this model";
  for (const [at, { role }] of turns.entries()) {
    if (role !== "system") continue;
    if (turns[at - 1]?.["role"] !== "user")
      return `messages.${at}: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result`;
    if ((turns[at + 1]?.["role"] ?? "assistant") !== "assistant")
      return `messages.${at}: role 'system' must precede an 'assistant' message or end the array`;
  }
  return undefined;
}

function checkBlock(block: JsonObject, role: string): string | undefined {
  const type = stringOf(block["type"]);
  if (role === "system" && type !== "text") return ": only `text` blocks can be in `system` messages";
  const { source, input, id, name, tool_use_id: answers } = block;
  if (!Object.hasOwn(blockShapes, type)) {
    return `: Input tag '${type}' found using 'type' does not match any of the expected tags`;
  }
  if (type === "text" && stringOf(block["text"]) === "") return ": text content blocks must be non-empty";
  if (type === "image") return checkImage(objectOf(source));
  if (type === "tool_use") {
    if (role !== "assistant") return ": `tool_use` blocks can only be in `assistant` messages";
    if (!isObject(input)) return ".tool_use.input: Input should be a valid dictionary";
    if (!/^[a-zA-Z0-9_-]+$/.test(stringOf(id)))
      return ".tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'";
    return stringOf(name) === "" ? ".tool_use.name: Field required" : undefined;
  }
  if (type === "tool_result") {
    if (role !== "user") return ": `tool_result` blocks can only be in `user` messages";
    return typeof answers === "string" ? undefined : ".tool_result.tool_use_id: Field required";
  }
  if (type === "thinking") {
    // A thought that is not the model's own word for word is refused, and its signature is how it knows.
    return block["signature"] === validSignature ? undefined : ": Invalid `signature` in `thinking` block";
  }
  return undefined;
}

const mediaTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];

function checkImage({ type, media_type: media, data, url }: JsonObject): string | undefined {
  if (type === "url")
    return stringOf(url).startsWith("https://")
      ? undefined
      : ".image.source.url: Only HTTPS URLs are supported.";
  if (type === "file") return undefined;
  if (type !== "base64")
    return ".image.source: Input tag does not match any of the expected tags: 'base64', 'url', 'file'";
  if (!mediaTypes.includes(stringOf(media)))
    return `.image.source.base64.media_type: Input should be ${mediaTypes.join(", ")}`;
  return /^[A-Za-z0-9+/]+={0,2}$/.test(stringOf(data))
    ? undefined
    : ".image.source.base64.data: invalid base64 data";
}

function checkThinking(body: JsonObject): string | undefined {
  const { thinking, max_tokens: most, temperature = 1, tool_choice: choice } = body;
  if (thinking === undefined) return undefined;
  const { type, budget_tokens: budget } = objectOf(thinking);
  if (!thinkingTypes.includes(stringOf(type))) {
    return `thinking: Input tag does not match any of the expected tags: ${thinkingTypes.join(", ")}`;
  }
  const word = wordForNoThinking(stringOf(body["model"]));
  if (type === "disabled" || type === "between_tools") {
    return type === word ? undefined : `"thinking.type.${type}" is not supported for this model.`;
  }
  if (type === "enabled") {
    if (!Number.isSafeInteger(budget)) return "thinking.enabled.budget_tokens: Field required";
    if (Number(budget) < budgetMin) {
      return `thinking.enabled.budget_tokens: Input should be greater than or equal to ${budgetMin}`;
    }
    if (Number(budget) >= Number(most)) return "`max_tokens` must be greater than `thinking.budget_tokens`.";
    // A budgeted model may not begin to think between its calls and their results: its turn begins with a thought, or
    // there is none in it. The turn lasts since the last message of the user's that brings no results.
    const messages = objectsOf(body["messages"]);
    const asked = messages.findLastIndex(
      ({ role, content }) => role === "user" && !kindsIn(content).includes("tool_result"),
    );
    const turn = messages.slice(asked + 1).filter(({ role }) => role === "assistant");
    const kinds = turn.flatMap(({ content }) => kindsIn(content));
    if (kinds.includes("tool_use") && !kinds[0]?.includes("thinking"))
      return `messages: Expected \`thinking\` or \`redacted_thinking\`, but found \`${kinds[0]}\`.`;
  }
  if (temperature !== 1) return "`temperature` may only be set to 1 when thinking is enabled.";
  return ["any", "tool"].includes(stringOf(objectOf(choice)["type"]))
    ? "Thinking may not be enabled when tool_choice forces tool use."
    : undefined;
}

const thinkingTypes = ["enabled", "disabled", "adaptive", "between_tools"];

/** Undefined for models that always think. */
function wordForNoThinking(model: string): string | undefined {
  if (/opus-5-5|fable|mythos/.test(model)) return undefined;
  return model.includes("sonnet-5-5") ? "between_tools" : "disabled";
}

const kindsIn = (content: unknown): readonly string[] =>
  typeof content === "string" ? ["text"] : objectsOf(content).map((block) => stringOf(block["type"]));

const cannotBeForced = /(opus|sonnet)-5-5|(fable|mythos)-5-1/;

function checkEarlierTools({ messages, tools = [] }: JsonObject): string | undefined {
  if (listOf(tools).length > 0) return undefined;
  const blocks = objectsOf(messages).flatMap(({ content }) => objectsOf(content));
  return blocks.some(({ type }) => type === "tool_use" || type === "tool_result")
    ? "Requests which include `tool_use` or `tool_result` blocks must define tools."
    : undefined;
}

function checkTools({ model, tools = [], tool_choice: choice }: JsonObject): string | undefined {
  if (!Array.isArray(tools)) return "tools: Input should be a valid list";
  for (const [index, tool] of tools.entries()) {
    const { name, type = "custom", input_schema: schema } = objectOf(tool);
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(stringOf(name))) {
      return `tools.${index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`;
    }
    if (type !== "custom") continue;
    if (!isObject(schema)) return `tools.${index}.custom.input_schema: Field required`;
    if (schema["type"] !== "object")
      return `tools.${index}.custom.input_schema.type: Input should be 'object'`;
  }
  const names = objectsOf(tools).map(({ name }) => name);
  if (new Set(names).size < names.length) return "tools: Tool names must be unique.";
  if (choice === undefined) return undefined;
  const { type, name } = objectOf(choice);
  if (!["auto", "any", "tool", "none"].includes(stringOf(type))) {
    return "tool_choice: Input tag does not match any of the expected tags: 'auto', 'any', 'tool', 'none'";
  }
  if (names.length === 0) return "tool_choice may only be specified while providing tools";
  if ((type === "any" || type === "tool") && cannotBeForced.test(stringOf(model)))
    return "tool_choice forces tool use is not compatible with this model.";
  return type === "tool" && !names.includes(name)
    ? `Tool '${String(name)}' not found in provided tools`
    : undefined;
}

function draftOf({ role, content }: JsonObject): Draft {
  const blocks = objectsOf(content);
  const ofType = (type: string): readonly JsonObject[] => blocks.filter((block) => block["type"] === type);
  return {
    role: role === "assistant" ? "assistant" : "user",
    texts: textsOf(content),
    images: ofType("image").map(({ source }) => imageOf(objectOf(source))),
    toolCalls: ofType("tool_use").map(({ id, name, input }) => ({
      id: stringOrNull(id),
      name: stringOf(name),
      arguments: input,
    })),
    toolResults: ofType("tool_result").map((block) => ({
      id: stringOrNull(block["tool_use_id"]),
      name: null,
      text: textsOf(block["content"]).join("\n"),
      isError: block["is_error"] === true,
    })),
  };
}

function imageOf({ type, url, media_type: media, data, file_id: file }: JsonObject): string {
  if (type === "base64") return `data:${stringOf(media)};base64,${stringOf(data)}`;
  return stringOf(url ?? file);
}

function textsOf(content: unknown): readonly string[] {
  if (typeof content === "string") return content === "" ? [] : [content];
  return objectsOf(content)
    .filter(({ type }) => type === "text")
    .map(({ text }) => stringOf(text));
}

function toolChoiceOf({ type, name }: JsonObject): Asked["toolChoice"] {
  if (type === "tool") return { name: stringOf(name) };
  if (type === "any") return "required";
  return type === "auto" || type === "none" ? type : null;
}

function reasoningOf({ type, budget_tokens: budget }: JsonObject, effort: unknown): AskedReasoning | null {
  if (type === "disabled" || type === "between_tools") return "off";
  if (type === "enabled") return { budgetTokens: Number(budget) };
  if (typeof effort === "string") return { effort };
  // Adaptive without an effort is as much as the model likes, which is high unless told.
  return type === "adaptive" ? { effort: "high" } : null;
}

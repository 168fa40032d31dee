// What Gemini checks of a request, and what it asks for.

import { turnsOf } from "./asked.ts";
import type { Asked, AskedReasoning, Draft } from "./asked.ts";
import { validSignature } from "./gemini-content.ts";
import { listOf, numberOrNull, objectOf, objectsOf, stringOf, stringOrNull } from "./json-read.ts";
import { fields, strangePath } from "./known-fields.ts";
import type { Shape } from "./known-fields.ts";
import { isObject, isPositiveInteger } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

/** A body with its names in one spelling: Google's JSON takes `inline_data` for `inlineData`. */
export const camelBody = (body: JsonObject): JsonObject => objectOf(camel(body, requestShape));

/** Why the body is refused; the body is one of `camelBody`. */
export function checkContent(body: JsonObject, model: string): string | undefined {
  const path = strangePath(body, requestShape);
  if (path) {
    const place = path
      .slice(0, -1)
      .map((step, at) => (/^\d+$/.test(step) ? `[${step}]` : at === 0 ? step : `.${step}`));
    const where = place.length === 0 ? "" : ` at '${place.join("")}'`;
    return `Invalid JSON payload received. Unknown name "${path.at(-1)}"${where}: Cannot find field.`;
  }
  return (
    checkContents(body["contents"]) ??
    checkConfig(objectOf(body["generationConfig"])) ??
    checkLevel(objectOf(objectOf(body["generationConfig"])["thinkingConfig"]), model) ??
    checkTools(body)
  );
}

export function readContent(
  body: JsonObject,
  { model, stream }: { readonly model: string; readonly stream: boolean },
): Asked {
  const config = objectOf(body["generationConfig"]);
  return {
    model,
    system: textsOf(objectOf(body["systemInstruction"])["parts"]).join("\n"),
    turns: turnsOf(messagesOf(body["contents"]).map(draftOf)),
    tools: declarationsOf(body).map(({ name }) => stringOf(name)),
    toolChoice: toolChoiceOf(body),
    maxOutputTokens: numberOrNull(config["maxOutputTokens"]),
    temperature: numberOrNull(config["temperature"]),
    stop: listOf(config["stopSequences"]).map(String),
    stream,
    outputSchema:
      config["responseMimeType"] === "application/json"
        ? (config["responseJsonSchema"] ?? config["responseSchema"] ?? "json")
        : null,
    reasoning: reasoningOf(objectOf(config["thinkingConfig"])),
  };
}

export const showsThoughts = (body: JsonObject): boolean =>
  objectOf(objectOf(body["generationConfig"])["thinkingConfig"])["includeThoughts"] === true;

const contentShape: Shape = {
  role: "any",
  parts: {
    ...fields(
      "text",
      "thought",
      "thoughtSignature",
      "executableCode",
      "codeExecutionResult",
      "videoMetadata",
    ),
    inlineData: fields("mimeType", "data"),
    fileData: fields("mimeType", "fileUri"),
    functionCall: fields("id", "name", "args"),
    functionResponse: fields("id", "name", "response", "willContinue", "scheduling", "parts"),
    mediaResolution: "any",
  },
};

const requestShape: { readonly [name: string]: Shape } = {
  ...fields("model", "cachedContent", "store", "serviceTier"),
  contents: contentShape,
  systemInstruction: contentShape,
  safetySettings: fields("category", "threshold"),
  tools: {
    ...fields(
      "googleSearch",
      "googleSearchRetrieval",
      "codeExecution",
      "urlContext",
      "googleMaps",
      "computerUse",
    ),
    functionDeclarations: fields(
      "name",
      "description",
      "behavior",
      "parameters",
      "parametersJsonSchema",
      "response",
      "responseJsonSchema",
    ),
  },
  toolConfig: { functionCallingConfig: fields("mode", "allowedFunctionNames"), retrievalConfig: "any" },
  generationConfig: {
    ...fields(
      "stopSequences",
      "responseMimeType",
      "responseSchema",
      "responseJsonSchema",
      "responseModalities",
    ),
    ...fields("candidateCount", "maxOutputTokens", "temperature", "topP", "topK", "seed", "presencePenalty"),
    ...fields(
      "frequencyPenalty",
      "responseLogprobs",
      "logprobs",
      "enableEnhancedCivicAnswers",
      "mediaResolution",
    ),
    ...fields("speechConfig", "imageConfig"),
    thinkingConfig: fields("includeThoughts", "thinkingBudget", "thinkingLevel"),
  },
};

/** Renames only what has a field for it: a schema or a call's arguments are the caller's own words. */
function camel(value: unknown, shape: Shape): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => camel(item, shape));
  if (!isObject(value) || typeof shape !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const spelled = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      const known = Object.hasOwn(shape, spelled) ? shape[spelled] : undefined;
      return known === undefined ? [name, member] : [spelled, camel(member, known)];
    }),
  );
}

const payloads = [
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
];

/** Google takes one message where it has a list of them. */
const oneOrMore = (value: unknown): unknown => (isObject(value) ? [value] : value);

const messagesOf = (value: unknown): readonly JsonObject[] => objectsOf(oneOrMore(value));

function checkContents(given: unknown): string | undefined {
  const contents = oneOrMore(given);
  if (!Array.isArray(contents) || contents.length === 0) {
    return "* GenerateContentRequest.contents: contents is not specified\n";
  }
  for (const [index, content] of contents.entries()) {
    const { role = "user", parts: written } = objectOf(content);
    const parts = oneOrMore(written);
    if (role !== "user" && role !== "model") return "Please use a valid role: user, model.";
    if (!Array.isArray(parts) || parts.length === 0) {
      return `* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.\n`;
    }
    for (const [at, part] of parts.entries()) {
      const given = payloads.filter((name) => objectOf(part)[name] !== undefined);
      if (given.length !== 1) {
        return `* GenerateContentRequest.contents[${index}].parts[${at}].data: required oneof field 'data' must have one initialized field\n`;
      }
      const { thoughtSignature: signature = validSignature } = objectOf(part);
      if (signature !== validSignature && signature !== unsigned)
        return "Unable to submit request because Thought signature is not valid.";
    }
  }
  return checkCalls(objectsOf(contents));
}

/** What stands where a call of another model's was not signed. */
const unsigned = "skip_thought_signature_validator";

/** Gemini 3 wants the first call of each turn of the model to be signed; earlier ones never heard of the word for "not". */
export function checkSignatures(body: JsonObject, model: string): string | undefined {
  const isThird = /gemini-3/.test(model);
  const isSecond = /gemini-[12]/.test(model);
  for (const { parts } of messagesOf(body["contents"])) {
    const call = messagesOf(parts).find(({ functionCall }) => functionCall !== undefined);
    if (isThird && call !== undefined && call["thoughtSignature"] === undefined)
      return "Function call is missing a thought_signature in functionCall parts.";
    if (isSecond && messagesOf(parts).some(({ functionResponse }) => "parts" in objectOf(functionResponse)))
      return "Multimodal function responses are not supported for this model.";
    if (isSecond && messagesOf(parts).some(({ thoughtSignature }) => thoughtSignature === unsigned))
      return "Unable to submit request because Thought signature is not valid.";
  }
  return undefined;
}

/** As many answers as calls, in the turn after them. */
function checkCalls(contents: readonly JsonObject[]): string | undefined {
  const turns = turnsOf(contents.map(draftOf));
  const isOdd = turns.some(
    ({ toolCalls }, index) =>
      (toolCalls.length > 0 && toolCalls.length !== turns[index + 1]?.toolResults.length) ||
      ((turns[index + 1]?.toolResults.length ?? 0) > 0 && toolCalls.length === 0),
  );
  if (!isOdd && (turns[0]?.toolResults.length ?? 0) === 0) return undefined;
  return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
}

/** Pro never thinks that little, nor does Flash since 3.7, unless it is Lite. */
function checkLevel({ thinkingLevel: level }: JsonObject, model: string): string | undefined {
  const refused = /gemini-3.*(pro|[78]-flash(?!-lite))/.test(model);
  return refused && stringOf(level).toLowerCase() === "minimal"
    ? "Thinking level is unsupported: THINKING_LEVEL_MINIMAL"
    : undefined;
}

function checkConfig(config: JsonObject): string | undefined {
  const { maxOutputTokens: most = 1, temperature = 1, stopSequences: stops = [] } = config;
  if (!isPositiveInteger(most))
    return "* GenerateContentRequest.generation_config.max_output_tokens: must be positive\n";
  if (typeof temperature !== "number" || temperature < 0 || temperature > 2) {
    return "* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].\n";
  }
  if (!Array.isArray(stops) || stops.length > stopsMax) {
    return `* GenerateContentRequest.generation_config.stop_sequences: at most ${stopsMax} are allowed\n`;
  }
  const { responseSchema, responseJsonSchema, responseMimeType: mime, thinkingConfig } = config;
  if ((responseSchema ?? responseJsonSchema) !== undefined && mime !== "application/json") {
    return "* GenerateContentRequest.generation_config.response_schema: only allowed when response_mime_type is application/json\n";
  }
  const { thinkingBudget, thinkingLevel } = objectOf(thinkingConfig);
  return thinkingBudget !== undefined && thinkingLevel !== undefined
    ? "You can only set only one of thinking budget and thinking level."
    : undefined;
}

const stopsMax = 5;

function checkTools(body: JsonObject): string | undefined {
  const nameless = declarationsOf(body).find(
    ({ name }) => !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(stringOf(name)),
  );
  if (nameless) return `Invalid function name: ${JSON.stringify(nameless["name"] ?? "")}.`;
  const both = declarationsOf(body).find(
    (declaration) =>
      declaration["parameters"] !== undefined && declaration["parametersJsonSchema"] !== undefined,
  );
  if (both) return "parameters and parametersJsonSchema are mutually exclusive.";
  const { mode, allowedFunctionNames: allowed } = objectOf(
    objectOf(body["toolConfig"])["functionCallingConfig"],
  );
  if (
    mode !== undefined &&
    !["AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"].includes(stringOf(mode))
  ) {
    return `Invalid value at 'tool_config.function_calling_config.mode': ${JSON.stringify(mode)}`;
  }
  return listOf(allowed).length > 0 && mode !== "ANY" && mode !== "VALIDATED"
    ? "Function calling config allowed_function_names should only be set when mode is ANY or VALIDATED."
    : undefined;
}

const declarationsOf = ({ tools }: JsonObject): readonly JsonObject[] =>
  messagesOf(tools).flatMap((tool) => messagesOf(tool["functionDeclarations"]));

function draftOf({ role, parts }: JsonObject): Draft {
  const members = (name: string): readonly JsonObject[] =>
    objectsOf(messagesOf(parts).map((part) => part[name]));
  return {
    role: role === "model" ? "assistant" : "user",
    texts: textsOf(parts),
    images: [
      ...members("inlineData").map(
        ({ mimeType, data }) => `data:${stringOf(mimeType)};base64,${stringOf(data)}`,
      ),
      ...members("fileData").map(({ fileUri }) => stringOf(fileUri)),
    ],
    toolCalls: members("functionCall").map(({ id, name, args }) => ({
      id: stringOrNull(id),
      name: stringOf(name),
      arguments: args ?? {},
    })),
    toolResults: members("functionResponse").map(({ id, name, response }) => ({
      id: stringOrNull(id),
      name: stringOrNull(name),
      text: resultText(objectOf(response)),
      isError: isObject(response) && "error" in response,
    })),
  };
}

const textsOf = (parts: unknown): readonly string[] =>
  messagesOf(parts)
    .filter(({ text, thought }) => typeof text === "string" && text !== "" && thought !== true)
    .map(({ text }) => stringOf(text));

/** A result must be an object here; one that only wraps a text is that text. */
function resultText(response: JsonObject): string {
  const [[name, value] = ["", undefined], ...more] = Object.entries(response);
  const isWrapped = more.length === 0 && ["output", "result", "content", "error"].includes(name);
  if (!isWrapped) return JSON.stringify(response);
  return typeof value === "string" ? value : JSON.stringify(value);
}

function toolChoiceOf({ toolConfig }: JsonObject): Asked["toolChoice"] {
  const { mode, allowedFunctionNames: allowed } = objectOf(objectOf(toolConfig)["functionCallingConfig"]);
  const [only, ...others] = listOf(allowed);
  if (mode === "ANY" && typeof only === "string" && others.length === 0) return { name: only };
  if (mode === "ANY") return "required";
  if (mode === "NONE") return "none";
  return mode === "AUTO" ? "auto" : null;
}

function reasoningOf({ thinkingBudget, thinkingLevel }: JsonObject): AskedReasoning | null {
  if (typeof thinkingLevel === "string") return { effort: thinkingLevel.toLowerCase() };
  if (typeof thinkingBudget !== "number") return null;
  return thinkingBudget === 0 ? "off" : { budgetTokens: thinkingBudget };
}

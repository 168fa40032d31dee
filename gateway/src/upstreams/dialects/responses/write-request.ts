import { isSaid, instructionsBehindResults } from "../added-instructions.ts";
import { objectsIn, type JsonObject } from "../../../platform/json.ts";
import type { ChatMessage, ChatPart, ChatRequest, OutputFormat, TextPart, ToolResultPart } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { opaqueEndUser } from "../end-user.ts";
import { completeParameters } from "../openai/complete-schema.ts";
import type { ContentPart } from "../openai/content.ts";
import { effortFor } from "../openai/effort.ts";
import { writeFormat } from "../openai/output-format.ts";
import { strictFor } from "../openai/strict-schema.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { openAisIn } from "./sealed-thoughts.ts";
import { WrittenCallIds } from "./written-call-ids.ts";

/** Nothing is to be kept, so what was thought comes along, sealed. Who asks has no more to say than this: see `sayable`. */
export function writeRequest(request: ChatRequest): JsonObject {
  const { model, system, messages, outputTokensMax, endUser, stream } = request;
  const effort = effortFor(request);
  return withoutUndefined({
    model,
    instructions: system.length === 0 ? undefined : joined(system),
    input: withPhases(writeItems(messages)),
    ...writeToolMembers(request),
    max_output_tokens: outputTokensMax,
    text: request.output === undefined ? undefined : { format: writeOutput(request.output) },
    reasoning: effort === undefined ? undefined : { effort },
    include: ["reasoning.encrypted_content"],
    store: false,
    user: opaqueEndUser(endUser),
    stream: stream ? true : undefined,
  });
}

/** The least limit that OpenAI takes here. */
const outputTokensMin = 16;

/** Whether all of a request can be said in this dialect, which knows no ends of a text, no seed and no sampling while a model thinks. */
export const sayable = (request: ChatRequest): boolean =>
  request.stop.length === 0 &&
  request.topK === undefined &&
  request.seed === undefined &&
  request.frequencyPenalty === undefined &&
  request.presencePenalty === undefined &&
  (request.temperature ?? 1) === 1 &&
  (request.topP ?? 1) === 1 &&
  (request.outputTokensMax ?? outputTokensMin) >= outputTokensMin;

/** A request that was written here without what its model thought earlier; undefined where none of that is in it. */
export function withoutThoughts(request: JsonObject): JsonObject | undefined {
  const items = objectsIn(request["input"]);
  const rest = items.filter(({ type }) => type !== "reasoning");
  return rest.length === items.length ? undefined : { ...request, input: rest };
}

const joined = (parts: readonly TextPart[]): string => parts.map(({ text }) => text).join("\n\n");

function writeItems(messages: ChatRequest["messages"]): readonly JsonObject[] {
  const ids = new WrittenCallIds();
  return instructionsBehindResults(messages).flatMap((message, at) =>
    isSaid(message)
      ? writeTurn(message, `messages[${at}]`, ids)
      : [{ role: "developer", content: joined(message.parts) }],
  );
}

/**
 * What only shows in what the model did next. It stops early where nothing tells what it said on its way to a call from what it
 * said at last, and OpenAI refuses a thought behind which the model did nothing, as there is where its limit came before its
 * first word.
 */
function withPhases(items: readonly JsonObject[]): readonly JsonObject[] {
  const fromLast: JsonObject[] = [];
  let next: "calls" | "speaks" | undefined;
  for (const item of items.toReversed()) {
    if (item["type"] === "function_call") {
      fromLast.push(item);
      next = "calls";
    } else if (item["role"] === "assistant") {
      fromLast.push({ ...item, phase: next === "calls" ? "commentary" : "final_answer" });
      next ??= "speaks";
    } else if (item["type"] !== "reasoning") {
      fromLast.push(item);
      next = undefined;
    } else if (next !== undefined) fromLast.push(item);
  }
  return fromLast.toReversed();
}

/** What is said in one turn is one message, up to whatever else happens in it. */
function writeTurn({ role, parts }: ChatMessage, field: string, ids: WrittenCallIds): JsonObject[] {
  const items: JsonObject[] = [];
  let said: ContentPart[] = [];
  const endMessage = (): void => {
    if (said.length > 0) items.push({ role, content: writeContent(role, said, field) });
    said = [];
  };
  for (const part of parts) {
    if (part.kind === "text" || part.kind === "image" || part.kind === "file") {
      said.push(part);
      continue;
    }
    endMessage();
    items.push(...writeItem(part, ids));
  }
  endMessage();
  return items;
}

function writeItem(part: Exclude<ChatPart, ContentPart>, ids: WrittenCallIds): JsonObject[] {
  switch (part.kind) {
    case "tool_call":
      return [
        { type: "function_call", call_id: ids.called(part.id), name: part.name, arguments: part.arguments },
      ];
    case "tool_result": {
      const id = ids.answered(part.callId);
      return id === undefined
        ? []
        : [{ type: "function_call_output", call_id: id, output: writeResult(part) }];
    }
    case "reasoning": {
      const sealed = openAisIn(part);
      return sealed === undefined ? [] : [sealed];
    }
  }
}

function writeContent(
  role: "user" | "assistant",
  parts: readonly ContentPart[],
  field: string,
): string | readonly JsonObject[] {
  if (parts.every(isText)) return joined(parts);
  if (role === "user") return parts.map(writePart);
  throw new Inexpressible(field, "a message of the assistant can hold text only");
}

/** That a tool failed can be said in words only. */
function writeResult({ content, isError }: ToolResultPart): string | readonly JsonObject[] {
  const failure: readonly TextPart[] = isError ? [{ kind: "text", text: "The tool failed." }] : [];
  const shown = [...failure, ...content];
  return shown.every(isText) ? joined(shown) : shown.map(writePart);
}

const isText = (part: ContentPart): part is TextPart => part.kind === "text";

function writePart(part: ContentPart): JsonObject {
  switch (part.kind) {
    case "text":
      return { type: "input_text", text: part.text };
    case "image":
      return { type: "input_image", detail: "auto", image_url: addressOf(part.source) };
    case "file":
      return "url" in part.source
        ? { type: "input_file", file_url: part.source.url }
        : {
            type: "input_file",
            filename: part.name ?? "document.pdf",
            file_data: addressOf(part.source),
          };
  }
}

const addressOf = (
  source: { readonly mimeType: string; readonly base64: string } | { readonly url: string },
): string => ("url" in source ? source.url : `data:${source.mimeType};base64,${source.base64}`);

/** Unsaid, a tool would be held to its schema strictly here, and refused where the schema does not allow that. */
function writeToolMembers({ tools, toolChoice, parallelToolCalls }: ChatRequest): JsonObject {
  return {
    tools: tools.map(({ name, description, parameters: asked, strict }) => {
      const parameters = completeParameters(asked);
      return withoutUndefined({
        type: "function",
        name,
        description,
        parameters,
        strict: strictFor(parameters, strict) ?? false,
      });
    }),
    tool_choice: typeof toolChoice === "object" ? { type: "function", name: toolChoice.name } : toolChoice,
    parallel_tool_calls: parallelToolCalls === "unwanted" ? false : parallelToolCalls,
  };
}

/** How strictly is always said here, of an answer as of a tool. */
const writeOutput = (output: OutputFormat): JsonObject =>
  writeFormat(output, (schema) => ({ strict: false, ...schema }));

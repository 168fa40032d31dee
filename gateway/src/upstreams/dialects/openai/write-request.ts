import type { JsonObject } from "../../../platform/json.ts";
import type { ChatPart, ChatRequest, TextPart, ToolResultPart } from "../chat.ts";
import { Inexpressible, type Hearer } from "../dialect.ts";
import { instructionsBehindResults, instructionsFirst } from "../added-instructions.ts";
import { forcesCall } from "../forces-call.ts";
import { opaqueEndUser } from "../end-user.ts";
import { shownBelow, shownFor } from "../shown-results.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { withoutMarks } from "./cache-marks.ts";
import { writeContent, type ContentPart } from "./content.ts";
import { writeReasoning } from "./effort.ts";
import { writeOutput } from "./output-format.ts";
import { writeSampling } from "./sampling.ts";
import { writeToolCall } from "./tool-calls.ts";
import { isMistrals, toldToMistral } from "./told-to-mistral.ts";
import { writeToolChoice } from "./tool-choice.ts";
import { writeTools } from "./tools.ts";
import { turnsOf } from "./turns.ts";
import { verbosityFor } from "./verbosity.ts";

export function writeRequest(asked: ChatRequest, hearer?: Hearer): JsonObject {
  if (asked.topK !== undefined) throw new Inexpressible("top_k", "has no counterpart in the OpenAI dialect");
  const request = withInstructionsPlaced(knowsMarks.test(asked.model) ? asked : withoutMarks(asked), hearer);
  return withoutUndefined({
    model: request.model,
    messages: [...writeSystem(request.system), ...writeConversation(request)],
    ...writeToolMembers(request),
    max_completion_tokens: request.outputTokensMax,
    ...writeSampling(request),
    stop: request.stop.length === 0 ? undefined : request.stop,
    seed: request.seed,
    frequency_penalty: request.frequencyPenalty,
    presence_penalty: request.presencePenalty,
    response_format: request.output === undefined ? undefined : writeOutput(request.output),
    ...writeReasoning(request),
    verbosity: verbosityFor(request.model, request.verbosity),
    user: opaqueEndUser(request.endUser),
    // Without being asked, OpenAI does not say what a stream used.
    ...(request.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  });
}

/** Many who speak this dialect refuse instructions behind the first word, and so does what they make a prompt with. */
function withInstructionsPlaced(request: ChatRequest, hearer: Hearer | undefined): ChatRequest {
  return hearer?.takesInstructionsAnywhere === true && !isMistrals(request.model)
    ? { ...request, messages: instructionsBehindResults(request.messages) }
    : { ...request, ...instructionsFirst(request) };
}

/** Who resells Claude takes its marks to cache, without which all of a prompt is paid for each time. OpenAI refuses them. */
const knowsMarks = /claude/i;

/** OpenAI refuses these two without tools, where "auto" and "none" say nothing anyway. */
function writeToolMembers({ tools, toolChoice, parallelToolCalls }: ChatRequest): JsonObject {
  if (tools.length === 0) {
    if (!forcesCall(toolChoice)) return {};
    throw new Inexpressible("tool_choice", "asks for a tool, but there are no tools");
  }
  return {
    tools: writeTools(tools),
    tool_choice: toolChoice === undefined ? undefined : writeToolChoice(toolChoice),
    parallel_tool_calls: parallelToolCalls === "unwanted" ? false : parallelToolCalls,
  };
}

/** "system" and not "developer": OpenAI takes both for the same, and compatible servers know only this one. */
const writeSystem = (system: readonly TextPart[]): readonly JsonObject[] =>
  system.length === 0 ? [] : [{ role: "system", content: writeContent(system) }];

function writeConversation(request: ChatRequest): readonly JsonObject[] {
  const messages = writeMessages(request);
  return isMistrals(request.model) ? toldToMistral(messages) : messages;
}

function writeMessages({ messages, model }: ChatRequest): readonly JsonObject[] {
  const wantsThoughts = wantsThoughtsBack.test(model);
  return turnsOf(messages).flatMap((turn) => {
    if (turn.role === "system") return writeSystem(turn.parts);
    const { role, parts, field } = turn;
    return role === "user" ? writeUser(parts, field) : [writeAssistant(parts, field, wantsThoughts)];
  });
}

/** These refuse the result of a call whose thoughts do not come back with it; others may refuse the member. */
const wantsThoughtsBack = /deepseek|kimi/i;

/** Results of tools are messages of their own and must follow the calls directly, so they come first. */
function writeUser(parts: readonly ChatPart[], field: string): readonly JsonObject[] {
  const results: JsonObject[] = [];
  const shown: ContentPart[] = [];
  const said: ContentPart[] = [];
  for (const part of parts) {
    if (part.kind === "tool_result") {
      results.push(writeToolResult(part));
      shown.push(...shownBy(part));
    } else if (part.kind === "text" || part.kind === "image" || part.kind === "file") said.push(part);
    else throw new Inexpressible(field, `a message of the user cannot hold a ${part.kind}`);
  }
  const content = [...shown, ...said];
  if (content.length === 0 && results.length > 0) return results;
  return [...results, { role: "user", content: writeContent(content) }];
}

/** That a tool failed can be said in words only. */
function writeToolResult({ callId, content, isError }: ToolResultPart): JsonObject {
  const failure: readonly TextPart[] = isError ? [{ kind: "text", text: "The tool failed." }] : [];
  const texts = content.filter((part) => part.kind === "text");
  const rest: readonly TextPart[] = texts.length < content.length ? [{ kind: "text", text: shownBelow }] : [];
  return { role: "tool", tool_call_id: callId, content: writeContent([...failure, ...texts, ...rest]) };
}

/** OpenAI takes texts only as the result of a tool: what else there is the user shows behind all results. */
function shownBy({ callId, content }: ToolResultPart): readonly ContentPart[] {
  const shown = content.filter((part) => part.kind !== "text");
  return shown.length === 0 ? [] : [{ kind: "text", text: shownFor(callId) }, ...shown];
}

/** Thinking is not sent back but to those who want it: OpenAI takes none, and cannot check another vendor's. */
function writeAssistant(parts: readonly ChatPart[], field: string, wantsThoughts: boolean): JsonObject {
  const texts: TextPart[] = [];
  const calls: JsonObject[] = [];
  let thoughts = "";
  for (const part of parts) {
    if (part.kind === "text") texts.push(part);
    else if (part.kind === "tool_call") calls.push(writeToolCall(part));
    else if (part.kind === "reasoning") thoughts += part.text;
    else {
      throw new Inexpressible(field, `a message of the assistant cannot hold a ${part.kind}`);
    }
  }
  if (calls.length === 0) return { role: "assistant", content: writeContent(texts) };
  return {
    role: "assistant",
    content: texts.length === 0 ? null : writeContent(texts),
    ...(wantsThoughts && thoughts !== "" ? { reasoning_content: thoughts } : {}),
    tool_calls: calls,
  };
}

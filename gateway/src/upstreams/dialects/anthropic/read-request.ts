import type { JsonObject } from "../../../platform/json.ts";
import type { ChatRequest } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { checkConversation, checkMembers } from "./foreign-members.ts";
import {
  isSilent,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalString,
  requiredObject,
  requiredString,
} from "./members.ts";
import { readOutputFormat } from "./output-format.ts";
import { readConversation } from "./read-messages.ts";
import { readReasoning } from "./thinking.ts";
import { readToolChoice, readTools } from "./tools.ts";

export function readRequest(
  body: JsonObject,
  asked: { readonly model: string; readonly stream: boolean },
): ChatRequest {
  checkThread(body["thread"]);
  checkMembers(body, requestMembers, "");
  checkConversation(body);
  checkContextEdits(body["context_management"]);
  const outputConfig = optionalObject(body["output_config"], "output_config") ?? {};
  checkMembers(outputConfig, outputMembers, "output_config.");
  const metadata = optionalObject(body["metadata"], "metadata");

  return {
    model: asked.model,
    stream: asked.stream,
    ...readConversation(body),
    tools: readTools(body["tools"]),
    ...readToolChoice(body["tool_choice"]),
    outputTokensMax: readLimit(body["max_tokens"]),
    temperature: optionalNumber(body["temperature"], "temperature"),
    topP: optionalNumber(body["top_p"], "top_p"),
    topK: optionalNumber(body["top_k"], "top_k"),
    stop: optionalList(body["stop_sequences"], "stop_sequences").map((stop) =>
      requiredString(stop, "stop_sequences"),
    ),
    seed: undefined,
    frequencyPenalty: undefined,
    presencePenalty: undefined,
    output:
      readOutputFormat(outputConfig["format"], "output_config.format") ??
      readOutputFormat(body["output_format"], "output_format"),
    reasoning: readReasoning(body["thinking"], outputConfig["effort"]),
    endUser: optionalString(metadata?.["user_id"], "metadata.user_id"),
  };
}

/** Anthropic's own tool loop asks for a thread unasked, and sends the whole conversation once it reads these words. */
function checkThread(thread: unknown): void {
  if (isSilent(thread)) return;
  throw new Inexpressible("thread", "only Anthropic keeps a conversation for a model of its own", {
    error_code: "thread_unsupported_request",
    unsupported: ["model"],
  });
}

function readLimit(value: unknown): number | undefined {
  const limit = optionalNumber(value, "max_tokens");
  if (limit === 0) throw new Inexpressible("max_tokens", "only a model of Anthropic's can answer nothing");
  return limit;
}

/**
 * What is read, or may be dropped: service tier and diagnostics are Anthropic's own affairs. Anything else (documents'
 * containers, MCP servers, and what is yet to come) is refused by name, as Anthropic itself refuses members it does not know.
 */
const requestMembers: ReadonlySet<string> = new Set([
  "model",
  "stream",
  "system",
  "messages",
  "tools",
  "tool_choice",
  "max_tokens",
  "temperature",
  "top_p",
  "top_k",
  "stop_sequences",
  "output_config",
  "output_format",
  "thinking",
  "metadata",
  "cache_control",
  "service_tier",
  "diagnostics",
  "context_management",
]);

/**
 * Clearing earlier thoughts, which Claude's own agents always ask for, changes nothing where another model answers: it is
 * told no thoughts but its own. Clearing anything else would.
 */
function checkContextEdits(management: unknown): void {
  const { edits } = optionalObject(management, "context_management") ?? {};
  for (const edit of optionalList(edits, "context_management.edits")) {
    const { type } = requiredObject(edit, "context_management.edits");
    if (typeof type === "string" && type.startsWith("clear_thinking_")) continue;
    throw new Inexpressible(
      "context_management",
      `${JSON.stringify(type)} exists in the Anthropic dialect only`,
    );
  }
}

const outputMembers: ReadonlySet<string> = new Set(["effort", "format"]);

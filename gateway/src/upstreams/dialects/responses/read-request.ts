import { notForUpstreams } from "../../not-for-upstreams.ts";
import { isJsonObject, listOrEmpty, type JsonObject } from "../../../platform/json.ts";
import type { ChatRequest, Reasoning } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { withNewestMarks } from "../openai/cache-marks.ts";
import { readEffort } from "../openai/effort.ts";
import {
  readFlag,
  readList,
  readNumber,
  readObject,
  readText,
  refuseOthers,
  saysNothing,
} from "../openai/members.ts";
import { readFormat, readSchema } from "../openai/output-format.ts";
import { readVerbosity } from "../openai/verbosity.ts";
import { readConversation } from "./read-input.ts";
import { readToolMembers } from "./tools.ts";

export function readRequest(
  body: JsonObject,
  asked: { readonly model: string; readonly stream: boolean },
): ChatRequest {
  checkNothingElseIsAsked(body);
  checkIncluded(body["include"]);
  const { tools, toolChoice } = readToolMembers(body);
  return {
    ...withNewestMarks({ ...readConversation(body), tools }),
    model: asked.model,
    stream: asked.stream,
    toolChoice,
    parallelToolCalls:
      readFlag(body["parallel_tool_calls"], "parallel_tool_calls") === false ? "unwanted" : undefined,
    outputTokensMax: readNumber(body["max_output_tokens"], "max_output_tokens"),
    temperature: readNumber(body["temperature"], "temperature"),
    topP: readNumber(body["top_p"], "top_p"),
    topK: undefined,
    stop: [],
    seed: undefined,
    frequencyPenalty: undefined,
    presencePenalty: undefined,
    ...readTextMembers(body["text"]),
    reasoning: readReasoning(body["reasoning"]),
    endUser: readText(body["user"], "user") ?? readText(body["safety_identifier"], "safety_identifier"),
  };
}

const understood = [
  "model",
  "instructions",
  "input",
  "stream",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "max_output_tokens",
  "temperature",
  "top_p",
  "text",
  "reasoning",
  "include",
  "user",
  "safety_identifier",
];

/**
 * Labels, and wishes about OpenAI's own house, that leave the answer as it is. Nothing is stored of an answer that was
 * translated, and it says so. Tools whose calls could be counted run with OpenAI alone.
 */
const harmless = [
  "store",
  "metadata",
  "client_metadata",
  "access_programs",
  "stream_options",
  "service_tier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "prompt_cache_options",
  "max_tool_calls",
  // These say where to send the call and with which key: never heeded.
  ...notForUpstreams,
];

const dropped: ReadonlySet<string> = new Set([...understood, ...harmless]);

/** Members by whose usual value a caller says that it wants nothing special. */
const usual: Readonly<Record<string, unknown>> = { truncation: "disabled", top_logprobs: 0 };

const reasons: Readonly<Record<string, string>> = {
  previous_response_id: "only OpenAI keeps responses: for this model, send the whole conversation as input",
  conversation: "only OpenAI keeps conversations: for this model, send all of it as input",
  prompt: "lies with OpenAI, where no other vendor can read it",
};

function checkNothingElseIsAsked(body: JsonObject): void {
  for (const [name, value] of Object.entries(body)) {
    if (dropped.has(name) || saysNothing(value)) continue;
    if (Object.hasOwn(usual, name) && usual[name] === value) continue;
    throw new Inexpressible(name, reasons[name] ?? "cannot be translated for this model; leave it out");
  }
}

/** What thoughts are sealed in always comes along. The rest is about tools of OpenAI's, which no other vendor runs. */
function checkIncluded(include: unknown): void {
  readList(include, "include");
  if (!listOrEmpty(include).includes("message.output_text.logprobs")) return;
  throw new Inexpressible("include", "how likely each token was, only OpenAI's models tell");
}

function readTextMembers(value: unknown): Pick<ChatRequest, "output" | "verbosity"> {
  const text = readObject(value, "text") ?? {};
  refuseOthers(text, textMembers, "text");
  return {
    output: readFormat(text["format"], "text.format", (format) => readSchema(format, "text.format")),
    verbosity: readVerbosity(text["verbosity"], "text.verbosity"),
  };
}

const textMembers: ReadonlySet<string> = new Set(["format", "verbosity"]);

/** Whether a summary is shown is read where answers are written. */
function readReasoning(value: unknown): Reasoning | undefined {
  const reasoning = readObject(value, "reasoning");
  if (reasoning === undefined) return undefined;
  refuseOthers(reasoning, reasoningMembers, "reasoning");
  return readEffort(reasoning["effort"], "reasoning.effort");
}

const reasoningMembers: ReadonlySet<string> = new Set(["effort", "summary", "generate_summary"]);

/** Thoughts are shown to who asks for a summary of them, by either name. */
export const asksForSummary = ({ reasoning }: JsonObject): boolean =>
  isJsonObject(reasoning) && (reasoning["summary"] ?? reasoning["generate_summary"] ?? "none") !== "none";

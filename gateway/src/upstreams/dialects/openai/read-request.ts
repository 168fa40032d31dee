import { notForUpstreams } from "../../not-for-upstreams.ts";
import type { JsonObject } from "../../../platform/json.ts";
import type { ChatRequest } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { withNewestMarks } from "./cache-marks.ts";
import { readFlag, readNumber, readText, saysNothing } from "./members.ts";
import { readMessages } from "./read-messages.ts";
import { readReasoning } from "./effort.ts";
import { readOutput } from "./output-format.ts";
import { readToolMembers } from "./tools.ts";

export function readRequest(
  body: JsonObject,
  asked: { readonly model: string; readonly stream: boolean },
): ChatRequest {
  checkNothingElseIsAsked(body);
  const { tools, toolChoice } = readToolMembers(body);
  return {
    ...withNewestMarks({ ...readMessages(body["messages"]), tools }),
    model: asked.model,
    stream: asked.stream,
    toolChoice,
    parallelToolCalls: readFlag(body["parallel_tool_calls"], "parallel_tool_calls"),
    outputTokensMax:
      readNumber(body["max_completion_tokens"], "max_completion_tokens") ??
      readNumber(body["max_tokens"], "max_tokens"),
    temperature: readNumber(body["temperature"], "temperature"),
    topP: readNumber(body["top_p"], "top_p"),
    topK: readNumber(body["top_k"], "top_k"),
    stop: readStop(body["stop"]),
    seed: readNumber(body["seed"], "seed"),
    frequencyPenalty: readNumber(body["frequency_penalty"], "frequency_penalty"),
    presencePenalty: readNumber(body["presence_penalty"], "presence_penalty"),
    output: readOutput(body["response_format"]),
    reasoning: readReasoning(body),
    endUser: readText(body["user"], "user") ?? readText(body["safety_identifier"], "safety_identifier"),
  };
}

/** `top_k` and `thinking` are not OpenAI's, but compatible servers know them under these names. */
const understood = [
  "model",
  "messages",
  "stream",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "stop",
  "seed",
  "user",
  "max_completion_tokens",
  "max_tokens",
  "temperature",
  "top_p",
  "top_k",
  "response_format",
  "frequency_penalty",
  "presence_penalty",
  "reasoning_effort",
  "thinking",
  "safety_identifier",
];

/** Labels, and wishes about OpenAI's own house, that leave the answer as it is. */
const harmless = [
  "stream_options",
  "metadata",
  "store",
  "service_tier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "prompt_cache_options",
  // These say where to send the call and with which key: never heeded.
  ...notForUpstreams,
];

const dropped: ReadonlySet<string> = new Set([...understood, ...harmless]);

/** Values by which a caller says that it wants nothing special. */
const defaults: Readonly<Record<string, readonly string[]>> = {
  n: ["1"],
  logit_bias: ["{}"],
  top_logprobs: ["0"],
  modalities: ['["text"]'],
  verbosity: ['"medium"'],
  function_call: ['"none"', '"auto"'],
};

/** A member nobody knows is refused too: it was sent to have an effect, and would have none. */
function checkNothingElseIsAsked(body: JsonObject): void {
  for (const [name, value] of Object.entries(body)) {
    if (dropped.has(name) || asksNothing(name, value)) continue;
    const written = JSON.stringify(value);
    const shown = written.length > 60 ? "this value" : written;
    throw new Inexpressible(name, `${shown} cannot be translated for this model; leave it out`);
  }
}

function asksNothing(name: string, value: unknown): boolean {
  if (saysNothing(value)) return true;
  return Object.hasOwn(defaults, name) && defaults[name]?.includes(JSON.stringify(value)) === true;
}

function readStop(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  if (typeof value === "string") return [value];
  if (Array.isArray(value) && value.every((text): text is string => typeof text === "string")) return value;
  throw new Inexpressible("stop", "must be a text or a list of texts");
}

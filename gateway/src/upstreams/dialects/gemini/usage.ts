import { isJsonObject } from "../../../platform/json.ts";
import type { JsonObject } from "../../../platform/json.ts";
import { readCount } from "../../protocols/read-count.ts";
import type { ChatUsage } from "../chat.ts";
import { given } from "./given.ts";

/** Google counts cached tokens inside the prompt and thoughts outside the candidates; we do neither. */
export function readUsage(metadata: unknown): ChatUsage | undefined {
  if (!isJsonObject(metadata)) return undefined;
  const count = (name: string): number | undefined => readCount(metadata[name], name, []);
  const prompt = count("promptTokenCount");
  const cached = count("cachedContentTokenCount");
  const candidates = count("candidatesTokenCount");
  const thoughts = count("thoughtsTokenCount");
  const toolUse = count("toolUsePromptTokenCount");
  // Some chunks of a stream carry the object for the sake of other members only.
  if ([prompt, cached, candidates, thoughts, toolUse].every((each) => each === undefined)) return undefined;

  return {
    input: Math.max(0, (prompt ?? 0) - (cached ?? 0)) + (toolUse ?? 0),
    output: (candidates ?? 0) + (thoughts ?? 0),
    cacheRead: cached ?? 0,
    cacheWrite: 0,
    cacheWrite1h: 0,
    reasoning: thoughts,
  };
}

export function writeUsage(usage: ChatUsage): JsonObject {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite + usage.cacheWrite1h;
  const thoughts = usage.reasoning === undefined ? undefined : Math.min(usage.reasoning, usage.output);
  return given({
    promptTokenCount: prompt,
    cachedContentTokenCount: usage.cacheRead === 0 ? undefined : usage.cacheRead,
    candidatesTokenCount: usage.output - (thoughts ?? 0),
    thoughtsTokenCount: thoughts,
    totalTokenCount: prompt + usage.output,
  });
}

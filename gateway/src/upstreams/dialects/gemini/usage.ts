import { isJsonObject } from "../../../platform/json.ts";
import type { JsonObject } from "../../../platform/json.ts";
import { readCount } from "../../../prices/read-count.ts";
import type { ChatUsage } from "../chat.ts";
import { withoutUndefined } from "../without-undefined.ts";

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

  const input = Math.max(0, (prompt ?? 0) - (cached ?? 0)) + (toolUse ?? 0);
  const output = (candidates ?? 0) + (thoughts ?? 0);
  const audio = readAudio(metadata, { input, output, cacheRead: cached ?? 0 });
  return {
    input,
    output,
    cacheRead: cached ?? 0,
    cacheWrite: 0,
    cacheWrite1h: 0,
    reasoning: thoughts,
    ...(audio ? { audio } : {}),
  };
}

/** What was heard of the prompt is told with the cached part in it; no part is more than its whole. */
function readAudio(metadata: JsonObject, whole: Whole): ChatUsage["audio"] {
  const cacheRead = Math.min(audioIn(metadata["cacheTokensDetails"]), whole.cacheRead);
  const heard =
    audioIn(metadata["promptTokensDetails"]) + audioIn(metadata["toolUsePromptTokensDetails"]) - cacheRead;
  const input = Math.min(Math.max(0, heard), whole.input);
  const output = Math.min(audioIn(metadata["candidatesTokensDetails"]), whole.output);
  return cacheRead + input + output > 0 ? { input, cacheRead, output } : undefined;
}

type Whole = Pick<ChatUsage, "input" | "output" | "cacheRead">;

function audioIn(details: unknown): number {
  if (!Array.isArray(details)) return 0;
  let tokens = 0;
  for (const detail of details) {
    if (isJsonObject(detail) && detail["modality"] === "AUDIO")
      tokens += readCount(detail["tokenCount"], "tokenCount", []) ?? 0;
  }
  return tokens;
}

export function writeUsage(usage: ChatUsage): JsonObject {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite + usage.cacheWrite1h;
  const thoughts = usage.reasoning === undefined ? undefined : Math.min(usage.reasoning, usage.output);
  return withoutUndefined({
    promptTokenCount: prompt,
    cachedContentTokenCount: usage.cacheRead === 0 ? undefined : usage.cacheRead,
    candidatesTokenCount: usage.output - (thoughts ?? 0),
    thoughtsTokenCount: thoughts,
    totalTokenCount: prompt + usage.output,
    ...writeAudio(usage.audio),
  });
}

/** Nobody says of the rest whether it was read or seen. */
const writeAudio = (audio: ChatUsage["audio"]): JsonObject =>
  audio === undefined
    ? {}
    : {
        promptTokensDetails: audioOf(audio.input + audio.cacheRead),
        cacheTokensDetails: audioOf(audio.cacheRead),
        candidatesTokensDetails: audioOf(audio.output),
      };

const audioOf = (tokenCount: number): readonly JsonObject[] | undefined =>
  tokenCount === 0 ? undefined : [{ modality: "AUDIO", tokenCount }];

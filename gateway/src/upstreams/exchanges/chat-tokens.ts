import type { TokenReading } from "../../operation/token-reading.ts";
import { isJsonObject, type JsonObject } from "../../platform/json.ts";
import { textIn, type ChatAnswer } from "../dialects/chat.ts";
import type { NativeChat } from "./native-chat.ts";
import { guessTokens } from "../../prices/guess-tokens.ts";
import { isPlainCount, readCount } from "../../prices/read-count.ts";
import { oddStop, quantitiesOf } from "../streams/stream-meter.ts";

/** What a whole answer used. One that was not read yet is read only where it does not say what was used. */
export function readTokens(json: unknown, native: NativeChat, answer: ChatAnswer | undefined): TokenReading {
  const reported = isJsonObject(json) ? native.usageOf(json) : undefined;
  const usage = native.dialect.readUsage(reported);
  const anomalies = oddUsage(reported);
  if (answer?.oddStop !== undefined) anomalies.push(oddStop(answer.oddStop));
  const model = modelIn(json);
  const gaveUp = isJsonObject(json) && native.gaveUp?.(json) === true;
  if (usage) return { used: quantitiesOf(usage), estimate: undefined, model, gaveUp, anomalies };
  const { parts } = answer ?? native.dialect.readAnswer(json);
  const bytes = parts.reduce((sum, part) => sum + Buffer.byteLength(textIn(part)), 0);
  const isUncounted = parts.some(({ kind }) => kind === "image");
  return {
    used: undefined,
    estimate: bytes > 0 || isUncounted ? { output_tokens: guessTokens(bytes) } : undefined,
    isUncounted,
    model,
    gaveUp,
    anomalies,
  };
}

/** Google calls it a version. */
function modelIn(json: unknown): string | undefined {
  const model = isJsonObject(json) ? (json["model"] ?? json["modelVersion"]) : undefined;
  return typeof model === "string" ? model : undefined;
}

/** Names every figure of a usage report, nested ones too, that cannot be meant. */
export function oddUsage(usage: unknown, anomalies: string[] = []): string[] {
  if (!isJsonObject(usage)) return anomalies;
  for (const name in usage) {
    const value = usage[name];
    if (isPlainCount(value)) continue;
    if (isJsonObject(value)) oddUsage(value, anomalies);
    else if (countsTokens.test(name)) readCount(value, name, anomalies);
  }
  if (cachedBeyondInput(usage)) anomalies.push("more tokens are cached than were sent");
  return anomalies;
}

const countsTokens = /tokens?(_?count)?$/i;

/** OpenAI and Gemini count cached tokens among the prompt's; Anthropic counts them apart. */
function cachedBeyondInput(usage: JsonObject): boolean {
  const details = usage["prompt_tokens_details"];
  const cached = isJsonObject(details) ? details["cached_tokens"] : usage["cachedContentTokenCount"];
  const prompt = usage["prompt_tokens"] ?? usage["promptTokenCount"];
  return typeof cached === "number" && typeof prompt === "number" && cached > prompt;
}

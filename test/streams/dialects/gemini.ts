import { listOf, numberOrNull, objectOf, objectsOf, stringOf } from "../../doubles/json-read.ts";
import type { JsonObject } from "../../doubles/vendor-checks.ts";
import {
  budgetTokens,
  dataUrl,
  described,
  errorOf,
  eventsOf,
  given,
  nothing,
  toolSchema,
  type Dialect,
  type Heard,
  type Talk,
  type TalkTurn,
} from "./talk.ts";

const geminiContent = (turn: TalkTurn): JsonObject => {
  if ("calls" in turn) {
    const parts = turn.calls.map(({ name, arguments: args }) => ({ functionCall: { name, args } }));
    return { role: "model", parts };
  }
  if ("results" in turn) {
    const parts = turn.results.map(({ name, result }) => ({
      functionResponse: { name, response: { output: result } },
    }));
    return { role: "user", parts };
  }
  const image = turn.image === undefined ? undefined : dataUrl(turn.image);
  const parts: JsonObject[] = [{ text: turn.user }];
  if (image) parts.push({ inlineData: image });
  else if (turn.image !== undefined) parts.push({ fileData: { fileUri: turn.image, mimeType: "image/png" } });
  return { role: "user", parts };
};

const geminiUsage = (value: unknown): Heard["usage"] => {
  const usage = objectOf(value);
  const prompt = numberOrNull(usage["promptTokenCount"]);
  if (prompt === null) return undefined;
  const figure = (name: string): number => Number(usage[name] ?? 0);
  return {
    input: prompt - figure("cachedContentTokenCount"),
    output: figure("candidatesTokenCount") + figure("thoughtsTokenCount"),
    cacheRead: figure("cachedContentTokenCount"),
  };
};

const geminiMode = (choice: NonNullable<Talk["toolChoice"]>): JsonObject => {
  if (typeof choice === "object") return { mode: "ANY", allowedFunctionNames: [choice.name] };
  return { mode: choice === "required" ? "ANY" : choice.toUpperCase() };
};

export const gemini: Dialect = {
  path: (model, stream) =>
    `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  body: (talk) =>
    given({
      systemInstruction: talk.system === undefined ? undefined : { parts: [{ text: talk.system }] },
      contents: talk.turns.map(geminiContent),
      tools: talk.tools && [
        {
          functionDeclarations: talk.tools.map((name) => ({
            name,
            description: described(name),
            parametersJsonSchema: toolSchema,
          })),
        },
      ],
      toolConfig: talk.toolChoice && { functionCallingConfig: geminiMode(talk.toolChoice) },
      generationConfig: given({
        maxOutputTokens: talk.maxTokens,
        temperature: talk.temperature,
        stopSequences: talk.stop,
        responseMimeType: talk.schema && "application/json",
        responseJsonSchema: talk.schema,
        thinkingConfig:
          talk.thinks === true ? { thinkingBudget: budgetTokens, includeThoughts: true } : undefined,
      }),
    }),
  hear: (json) => hearGemini([json]),
  hearStream: (frames) => hearGemini(eventsOf(frames)),
};

const hearGemini = (chunks: readonly JsonObject[]): Heard => {
  let heard = nothing;
  for (const chunk of chunks) {
    const candidate = objectsOf(chunk["candidates"])[0] ?? {};
    const parts = objectsOf(objectOf(candidate["content"])["parts"]);
    const said = (thought: boolean): string =>
      parts
        .filter((part) => (part["thought"] === true) === thought)
        .map(({ text }) => stringOf(text))
        .join("");
    const calls = objectsOf(parts.map((part) => part["functionCall"]));
    heard = {
      text: heard.text + said(false),
      reasoning: heard.reasoning + said(true),
      calls: [
        ...heard.calls,
        ...calls.map(({ name, args }) => ({ name: stringOf(name), arguments: args ?? {} })),
      ],
      stop: heard.stop ?? geminiStops[stringOf(candidate["finishReason"])] ?? null,
      usage: geminiUsage(chunk["usageMetadata"]) ?? heard.usage,
      error: heard.error ?? errorOf(chunk),
    };
    if (listOf(heard.calls).length > 0 && heard.stop === "end") heard = { ...heard, stop: "tool_calls" };
  }
  return heard;
};

const geminiStops: Readonly<Record<string, string>> = {
  STOP: "end",
  MAX_TOKENS: "length",
  SAFETY: "filtered",
  PROHIBITED_CONTENT: "filtered",
};

import { ApiError, GoogleGenAI, type GenerateContentResponse, type Part } from "@google/genai";
import {
  citySchema,
  maxTokens,
  type OfficialClient,
  type Prompt,
  type Reply,
  type ReplyCall,
} from "./official-client.ts";

export const createGoogleClient = (url: string, key: string): GoogleGenAI =>
  new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url, apiVersion: "v1beta" } });

export function googleClient(url: string, key: string): OfficialClient {
  const client = createGoogleClient(url, key);
  return {
    ask: async (model, prompt) => {
      const response = await client.models.generateContent(requestOf(model, prompt));
      return replyOf([response]);
    },
    stream: async (model, prompt, leaving) => {
      const abort = new AbortController();
      const request = requestOf(model, prompt);
      const stream = await client.models.generateContentStream({
        ...request,
        config: { ...request.config, abortSignal: abort.signal },
      });
      const chunks: GenerateContentResponse[] = [];
      for await (const chunk of stream) {
        chunks.push(chunk);
        if (chunks.length === leaving?.afterPieces) abort.abort();
      }
      return replyOf(chunks);
    },
    failure: (error) => {
      if (!(error instanceof ApiError)) throw error;
      return { type: error.constructor.name, status: error.status, message: error.message };
    },
  };
}

const requestOf = (model: string, { text, system, image, tools, answered = [], schema }: Prompt) => ({
  model,
  contents: [
    {
      role: "user",
      parts: [
        { text },
        ...(image === undefined ? [] : [{ inlineData: { mimeType: "image/png", data: image } }]),
      ],
    },
    ...(answered.length === 0
      ? []
      : [
          { role: "model", parts: answered.map(({ call }) => call.raw as Part) },
          {
            role: "user",
            parts: answered.map(({ call, result }) => ({
              functionResponse: { name: call.name, response: { output: result } },
            })),
          },
        ]),
  ],
  config: {
    maxOutputTokens: maxTokens,
    ...(system === undefined ? {} : { systemInstruction: system }),
    ...(tools && {
      tools: [
        {
          functionDeclarations: tools.map((name) => ({
            name,
            description: `Says what it knows: ${name}.`,
            parametersJsonSchema: citySchema,
          })),
        },
      ],
    }),
    ...(schema && { responseMimeType: "application/json", responseJsonSchema: schema }),
  },
});

function replyOf(chunks: readonly GenerateContentResponse[]): Reply {
  const parts = chunks.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
  const usage = chunks.findLast(({ usageMetadata }) => usageMetadata !== undefined)?.usageMetadata;
  return {
    text: parts.map((part) => (part.thought === true ? "" : (part.text ?? ""))).join(""),
    calls: parts.filter(({ functionCall }) => functionCall !== undefined).map(callOf),
    inputTokens: usage?.promptTokenCount ?? 0,
    outputTokens: (usage?.candidatesTokenCount ?? 0) + (usage?.thoughtsTokenCount ?? 0),
    pieces: chunks.length,
  };
}

const callOf = (part: Part): ReplyCall => ({
  id: part.functionCall?.id ?? "",
  name: part.functionCall?.name ?? "",
  arguments: part.functionCall?.args ?? {},
  raw: part,
});

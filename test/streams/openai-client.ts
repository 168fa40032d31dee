import OpenAI from "openai";
import type {
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import {
  citySchema,
  maxTokens,
  type Failure,
  type OfficialClient,
  type Prompt,
  type Reply,
  type ReplyCall,
} from "./official-client.ts";

export const createOpenAiClient = (url: string, key: string): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });

export function openaiClient(url: string, key: string): OfficialClient {
  const client = createOpenAiClient(url, key);
  return {
    ask: async (model, prompt) => replyOf(await client.chat.completions.create(bodyOf(model, prompt)), 1),
    stream: async (model, prompt, leaving) => {
      const stream = client.chat.completions.stream({
        ...bodyOf(model, prompt),
        stream_options: { include_usage: true },
      });
      let pieces = 0;
      for await (const _ of stream) {
        pieces++;
        if (pieces === leaving?.afterPieces) stream.abort();
      }
      return replyOf(await stream.finalChatCompletion(), pieces);
    },
    failure: failureOf,
  };
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof OpenAI.APIError)) throw error;
  return {
    type: error.constructor.name,
    status: error.status as number | undefined,
    message: error.message,
  };
}

const bodyOf = (model: string, prompt: Prompt) => ({
  model,
  max_completion_tokens: maxTokens,
  messages: messagesOf(prompt),
  ...(prompt.tools && {
    tools: prompt.tools.map((name) => ({
      type: "function" as const,
      function: { name, description: `Says what it knows: ${name}.`, parameters: citySchema },
    })),
  }),
  ...(prompt.schema && {
    response_format: {
      type: "json_schema" as const,
      json_schema: { name: "answer", schema: prompt.schema, strict: true },
    },
  }),
});

function messagesOf({ text, system, image, answered = [] }: Prompt): ChatCompletionMessageParam[] {
  const content = [
    { type: "text" as const, text },
    ...(image === undefined
      ? []
      : [{ type: "image_url" as const, image_url: { url: `data:image/png;base64,${image}` } }]),
  ];
  return [
    ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
    { role: "user", content },
    ...(answered.length === 0
      ? []
      : [
          {
            role: "assistant" as const,
            tool_calls: answered.map(({ call }) => call.raw as ChatCompletionMessageFunctionToolCall),
          },
        ]),
    ...answered.map(({ call, result }) => ({
      role: "tool" as const,
      tool_call_id: call.id,
      content: result,
    })),
  ];
}

function replyOf({ choices, usage }: OpenAI.ChatCompletion, pieces: number): Reply {
  const message = choices[0]?.message;
  const calls = message?.tool_calls ?? [];
  return {
    text: message?.content ?? "",
    calls: calls.filter((call) => call.type === "function").map(callOf),
    inputTokens: usage?.prompt_tokens ?? 0,
    outputTokens: usage?.completion_tokens ?? 0,
    pieces,
  };
}

const callOf = (call: ChatCompletionMessageFunctionToolCall): ReplyCall => ({
  id: call.id,
  name: call.function.name,
  arguments: JSON.parse(call.function.arguments) as Record<string, unknown>,
  raw: call,
});

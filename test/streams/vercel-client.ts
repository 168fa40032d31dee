import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import {
  APICallError,
  generateText,
  jsonSchema,
  Output,
  streamText,
  tool,
  type LanguageModel,
  type LanguageModelUsage,
  type ModelMessage,
  type TypedToolCall,
  type ToolSet,
} from "ai";
import { citySchema, maxTokens, type OfficialClient, type Prompt, type Reply } from "./official-client.ts";

/** The three providers of the AI SDK, OpenAI's in both of its ways, each with the models of all vendors. */
export const vercelModels = {
  openai: (url: string, key: string) => {
    const provider = createOpenAI({ apiKey: key, baseURL: `${url}/v1` });
    return (model: string): LanguageModel => provider.chat(model);
  },
  "openai, responses": (url: string, key: string) => {
    const provider = createOpenAI({ apiKey: key, baseURL: `${url}/v1` });
    return (model: string): LanguageModel => provider.responses(model);
  },
  anthropic: (url: string, key: string) => {
    const provider = createAnthropic({ apiKey: key, baseURL: `${url}/v1` });
    return (model: string): LanguageModel => provider(model);
  },
  google: (url: string, key: string) => {
    const provider = createGoogleGenerativeAI({ apiKey: key, baseURL: `${url}/v1beta` });
    return (model: string): LanguageModel => provider(model);
  },
} as const;

const cityTools = (names: readonly string[]): ToolSet =>
  Object.fromEntries(
    names.map((name) => [
      name,
      tool({ description: `Says what it knows: ${name}.`, inputSchema: jsonSchema(citySchema) }),
    ]),
  );

export const vercelClient =
  (provider: keyof typeof vercelModels) =>
  (url: string, key: string): OfficialClient => {
    const modelOf = vercelModels[provider](url, key);
    return {
      ask: async (model, prompt) => {
        const { text, toolCalls, usage } = await generateText(optionsOf(modelOf(model), prompt));
        return replyOf({ text, toolCalls, usage, pieces: 1 });
      },
      stream: async (model, prompt, leaving) => {
        const abort = new AbortController();
        let failed: Error | undefined;
        const result = streamText({
          ...optionsOf(modelOf(model), prompt),
          abortSignal: abort.signal,
          onError: ({ error }) => {
            failed = error instanceof Error ? error : new Error(JSON.stringify(error));
          },
        });
        let pieces = 0;
        for await (const part of result.fullStream) {
          if (part.type === "abort") throw new DOMException("The stream was left.", "AbortError");
          pieces++;
          if (pieces === leaving?.afterPieces) abort.abort();
        }
        if (failed !== undefined) throw failed;
        const [text, toolCalls, usage] = await Promise.all([result.text, result.toolCalls, result.usage]);
        return replyOf({ text, toolCalls, usage, pieces });
      },
      failure: (error) => {
        if (!APICallError.isInstance(error)) throw error;
        return { type: error.name, status: error.statusCode, message: error.message };
      },
    };
  };

const optionsOf = (model: LanguageModel, prompt: Prompt) => ({
  model,
  maxRetries: 0,
  maxOutputTokens: maxTokens,
  messages: messagesOf(prompt),
  ...(prompt.system === undefined ? {} : { system: prompt.system }),
  ...(prompt.tools && { tools: cityTools(prompt.tools) }),
  ...(prompt.schema && { output: Output.object({ schema: jsonSchema(prompt.schema) }) }),
});

function messagesOf({ text, image, answered = [] }: Prompt): ModelMessage[] {
  const user: ModelMessage = {
    role: "user",
    content: [
      { type: "text", text },
      ...(image === undefined ? [] : [{ type: "image" as const, image, mediaType: "image/png" }]),
    ],
  };
  if (answered.length === 0) return [user];
  return [
    user,
    {
      role: "assistant",
      content: answered.map(({ call }) => ({
        type: "tool-call",
        toolCallId: call.id,
        toolName: call.name,
        input: call.arguments,
        ...optionsBack(call.raw as TypedToolCall<ToolSet>),
      })),
    },
    {
      role: "tool",
      content: answered.map(({ call, result }) => ({
        type: "tool-result",
        toolCallId: call.id,
        toolName: call.name,
        output: { type: "text", value: result },
      })),
    },
  ];
}

/** What a vendor signed goes back with the call, as the AI SDK does it in its own loop. */
const optionsBack = ({ providerMetadata }: TypedToolCall<ToolSet>) =>
  providerMetadata === undefined ? {} : { providerOptions: providerMetadata };

const replyOf = ({
  text,
  toolCalls,
  usage,
  pieces,
}: {
  readonly text: string;
  readonly toolCalls: readonly TypedToolCall<ToolSet>[];
  readonly usage: LanguageModelUsage;
  readonly pieces: number;
}): Reply => ({
  text,
  calls: toolCalls.map((call) => ({
    id: call.toolCallId,
    name: call.toolName,
    arguments: call.input as Record<string, unknown>,
    raw: call,
  })),
  inputTokens: usage.inputTokens ?? 0,
  outputTokens: usage.outputTokens ?? 0,
  pieces,
});

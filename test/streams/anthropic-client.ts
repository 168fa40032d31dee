import Anthropic from "@anthropic-ai/sdk";
import { citySchema, maxTokens, type OfficialClient, type Prompt, type Reply } from "./official-client.ts";

export const createAnthropicClient = (url: string, key: string): Anthropic =>
  new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });

export function anthropicClient(url: string, key: string): OfficialClient {
  const client = createAnthropicClient(url, key);
  return {
    ask: async (model, prompt) => replyOf(await client.messages.create(bodyOf(model, prompt)), 1),
    stream: async (model, prompt, leaving) => {
      const stream = client.messages.stream(bodyOf(model, prompt));
      let pieces = 0;
      for await (const _ of stream) {
        pieces++;
        if (pieces === leaving?.afterPieces) stream.abort();
      }
      return replyOf(await stream.finalMessage(), pieces);
    },
    failure: (error) => {
      if (!(error instanceof Anthropic.APIError)) throw error;
      return {
        type: error.constructor.name,
        status: error.status as number | undefined,
        message: error.message,
      };
    },
  };
}

const bodyOf = (model: string, { text, system, image, tools, answered = [], schema }: Prompt) => ({
  model,
  max_tokens: maxTokens,
  ...(system === undefined ? {} : { system }),
  messages: [
    {
      role: "user" as const,
      content: [
        { type: "text" as const, text },
        ...(image === undefined
          ? []
          : [
              {
                type: "image" as const,
                source: { type: "base64" as const, media_type: "image/png" as const, data: image },
              },
            ]),
      ],
    },
    ...(answered.length === 0
      ? []
      : [
          {
            role: "assistant" as const,
            content: answered.map(({ call }) => call.raw as Anthropic.ToolUseBlock),
          },
          {
            role: "user" as const,
            content: answered.map(({ call, result }) => ({
              type: "tool_result" as const,
              tool_use_id: call.id,
              content: result,
            })),
          },
        ]),
  ],
  ...(tools && {
    tools: tools.map((name) => ({
      name,
      description: `Says what it knows: ${name}.`,
      input_schema: citySchema,
    })),
  }),
  ...(schema && { output_config: { format: { type: "json_schema" as const, schema } } }),
});

function replyOf({ content, usage }: Anthropic.Message, pieces: number): Reply {
  const calls = content.filter((block) => block.type === "tool_use");
  return {
    text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
    calls: calls.map((block) => ({
      id: block.id,
      name: block.name,
      arguments: block.input as Record<string, unknown>,
      raw: block,
    })),
    inputTokens: usage.input_tokens + (usage.cache_read_input_tokens ?? 0),
    outputTokens: usage.output_tokens,
    pieces,
  };
}

import type {
  Response,
  ResponseFunctionToolCall,
  ResponseInput,
  ResponseInputItem,
} from "openai/resources/responses/responses";
import { citySchema, maxTokens, type OfficialClient, type Prompt, type Reply } from "./official-client.ts";
import { createOpenAiClient, failureOf } from "./openai-client.ts";

/** The same client as openai-client.ts has, asked for responses. */
export function openaiResponsesClient(url: string, key: string): OfficialClient {
  const { responses } = createOpenAiClient(url, key);
  return {
    ask: async (model, prompt) => replyOf(await responses.create(bodyOf(model, prompt)), 1),
    stream: async (model, prompt, leaving) => {
      const stream = responses.stream(bodyOf(model, prompt));
      let pieces = 0;
      for await (const _ of stream) {
        pieces++;
        if (pieces === leaving?.afterPieces) stream.abort();
      }
      return replyOf(await stream.finalResponse(), pieces);
    },
    failure: failureOf,
  };
}

const bodyOf = (model: string, prompt: Prompt) => ({
  model,
  max_output_tokens: maxTokens,
  input: inputOf(prompt),
  ...(prompt.system === undefined ? {} : { instructions: prompt.system }),
  ...(prompt.tools && {
    tools: prompt.tools.map((name) => ({
      type: "function" as const,
      name,
      description: `Says what it knows: ${name}.`,
      parameters: citySchema,
      strict: true,
    })),
  }),
  ...(prompt.schema && {
    text: {
      format: { type: "json_schema" as const, name: "answer", schema: { ...prompt.schema }, strict: true },
    },
  }),
});

const inputOf = ({ text, image, answered = [] }: Prompt): ResponseInput => [
  {
    role: "user",
    content: [
      { type: "input_text", text },
      ...(image === undefined
        ? []
        : [
            {
              type: "input_image" as const,
              detail: "auto" as const,
              image_url: `data:image/png;base64,${image}`,
            },
          ]),
    ],
  },
  ...answered.map(({ call }) => call.raw as ResponseFunctionToolCall),
  ...answered.map(({ call, result }): ResponseInputItem => ({
    type: "function_call_output",
    call_id: call.id,
    output: result,
  })),
];

const replyOf = ({ output, output_text: text, usage }: Response, pieces: number): Reply => ({
  text,
  calls: output
    .filter((item) => item.type === "function_call")
    .map((call) => ({
      id: call.call_id,
      name: call.name,
      arguments: JSON.parse(call.arguments) as Record<string, unknown>,
      raw: call,
    })),
  inputTokens: usage?.input_tokens ?? 0,
  outputTokens: usage?.output_tokens ?? 0,
  pieces,
});

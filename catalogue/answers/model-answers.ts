// What models answer, in the words of each dialect. The specification leaves these bodies to their protocols, so only
// the members that every client reads are named; more may come.

import { z } from "../../gateway/src/for-catalogues.ts";

const tokens = z.int().min(0);

export const chatCompletion = z
  .looseObject({
    id: z.string().optional(),
    object: z.string().optional(),
    created: z.int().optional(),
    model: z.string().optional(),
    choices: z.array(
      z.looseObject({
        index: z.int().optional(),
        message: z.looseObject({ role: z.string().optional(), content: z.unknown().optional() }).optional(),
        finish_reason: z.string().nullish(),
      }),
    ),
    usage: z
      .looseObject({ prompt_tokens: tokens, completion_tokens: tokens, total_tokens: tokens.optional() })
      .nullish(),
  })
  .meta({ id: "ChatCompletion" });

export const message = z
  .looseObject({
    id: z.string().optional(),
    type: z.literal("message"),
    role: z.literal("assistant"),
    model: z.string().optional(),
    content: z.array(z.looseObject({ type: z.string() })),
    stop_reason: z.string().nullish(),
    stop_sequence: z.string().nullish(),
    usage: z.looseObject({ input_tokens: tokens, output_tokens: tokens }).optional(),
  })
  .meta({ id: "Message" });

export const generatedContent = z
  .looseObject({
    candidates: z
      .array(
        z.looseObject({
          content: z
            .looseObject({ role: z.string().optional(), parts: z.array(z.looseObject({})).optional() })
            .optional(),
          finishReason: z.string().optional(),
          index: z.int().optional(),
        }),
      )
      .optional(),
    usageMetadata: z
      .looseObject({
        promptTokenCount: tokens.optional(),
        candidatesTokenCount: tokens.optional(),
        totalTokenCount: tokens.optional(),
      })
      .optional(),
    modelVersion: z.string().optional(),
    responseId: z.string().optional(),
  })
  .meta({ id: "GeneratedContent" });

export const modelResponse = z
  .looseObject({
    id: z.string(),
    object: z.literal("response"),
    status: z.string().optional(),
    model: z.string().optional(),
    output: z.array(z.looseObject({ type: z.string() })),
    usage: z.looseObject({ input_tokens: tokens, output_tokens: tokens }).nullish(),
  })
  .meta({ id: "ModelResponse" });

export const embeddings = z
  .looseObject({
    object: z.string().optional(),
    model: z.string().optional(),
    data: z.array(
      z.looseObject({
        index: z.int().optional(),
        embedding: z
          .union([z.array(z.number()), z.string()])
          .describe("Numbers, or base64 when that was asked for."),
      }),
    ),
    usage: z.looseObject({ prompt_tokens: tokens.optional(), total_tokens: tokens.optional() }).optional(),
  })
  .meta({ id: "Embeddings" });

export const images = z
  .looseObject({
    created: z.int().optional(),
    data: z.array(z.looseObject({ b64_json: z.string().optional(), url: z.string().optional() })),
    usage: z.looseObject({ input_tokens: tokens.optional(), output_tokens: tokens.optional() }).nullish(),
  })
  .meta({ id: "Images" });

export const anthropicCount = z.looseObject({ input_tokens: tokens }).meta({ id: "AnthropicTokenCount" });

export const geminiCount = z.looseObject({ totalTokens: tokens }).meta({ id: "GeminiTokenCount" });

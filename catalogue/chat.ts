import { defineModel } from "../gateway/src/operation/define-model.ts";
import { defineOperation, z } from "../gateway/src/operation/define-operation.ts";

const choicesMax = 128;
const tokensMax = 10_000_000;
/** Counted against tokens per minute for a caller that sets no limit of its own. */
const tokensAssumed = 1_024;

/** Only what is priced or decided here is checked; every other member travels to the upstream untouched. */
const chatBody = z.looseObject({
  model: z.string().min(1).max(200),
  messages: z.array(z.looseObject({ role: z.string() })).min(1, "must hold at least one message"),
  max_tokens: z.int().min(1).max(tokensMax).nullish(),
  max_completion_tokens: z.int().min(1).max(tokensMax).nullish(),
  n: z.int().min(1).max(choicesMax).nullish(),
  stream: z.literal(false, "streaming is not served yet; send stream: false").nullish(),
});

export const chatCompletionsCreate = defineOperation({
  id: "chat.completions.create",
  title: "Chat completion",
  summary: "Answers a conversation with a model, in the OpenAI dialect.",
  category: "models",
  method: "POST",
  path: "/v1/chat/completions",
  body: chatBody,
  bodyBytesMax: 32 * 1024 * 1024,
  firstByteTimeoutMs: 120_000,
  price: {
    kind: "per_token",
    modelKind: "chat",
    estimate: ({ body, rawBody }, model) => {
      const choices = body.n ?? 1;
      // An upstream may honour either limit, so of two the larger is held.
      const given = Math.max(body.max_completion_tokens ?? 0, body.max_tokens ?? 0);
      const limit = given > 0 ? given : model.maxOutputTokens;
      const inputTokens = Math.ceil(rawBody.byteLength / 4);
      return {
        expected: {
          input_tokens: inputTokens,
          output_tokens: Math.min(limit, 512) * choices,
        },
        tokens: inputTokens + (given > 0 ? given : tokensAssumed) * choices,
        atMost: { [model.dearestInputUnit]: rawBody.byteLength, output_tokens: limit * choices },
      };
    },
  },
  servedBy: { openai: { exchange: "chat", path: "/chat/completions" } },
});

// A handful of well-known models with their list prices, so that a fresh clone has something to call.

export const gpt4o = defineModel({
  id: "gpt-4o",
  kind: "chat",
  protocols: ["openai"],
  price: { input: "2.5", cache_read: "1.25", output: "10" },
  maxOutputTokens: 16_384,
});

export const gpt4oMini = defineModel({
  id: "gpt-4o-mini",
  kind: "chat",
  protocols: ["openai"],
  price: { input: "0.15", cache_read: "0.075", output: "0.6" },
  maxOutputTokens: 16_384,
});

export const gpt41 = defineModel({
  id: "gpt-4.1",
  kind: "chat",
  protocols: ["openai"],
  price: { input: "2", cache_read: "0.5", output: "8" },
  maxOutputTokens: 32_768,
});

export const gpt41Mini = defineModel({
  id: "gpt-4.1-mini",
  kind: "chat",
  protocols: ["openai"],
  price: { input: "0.4", cache_read: "0.1", output: "1.6" },
  maxOutputTokens: 32_768,
});

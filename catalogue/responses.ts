import { defineOperation, z } from "../gateway/src/for-catalogues.ts";
import { modelResponse } from "./answers/model-answers.ts";
import {
  everyConversation,
  modelMember,
  serviceTier,
  streamMember,
  tokensMax,
} from "./conversations/common.ts";
import { estimateConversation } from "./conversations/estimate.ts";
import { keptResponses } from "./conversations/kept-responses.ts";
import { thoughtTokensMax } from "./conversations/thought-tokens.ts";

/** Only what is priced or decided here is checked; every other member travels to the upstream untouched. */
const responsesBody = z.looseObject({
  model: modelMember,
  input: z
    .union([z.string(), z.array(z.unknown())], "expected a text or a list of items")
    .nullish()
    .describe("What to answer: a text, or a list of items."),
  max_output_tokens: z
    .int()
    .min(1)
    .max(tokensMax)
    .nullish()
    .describe("The most tokens to answer with, thoughts included. The fewer, the less is held."),
  stream: streamMember,
  // A response that is fetched later could not be metered when it is answered.
  background: z.literal(false, "responses in the background are not served here").nullish(),
  previous_response_id: z
    .string()
    .nullish()
    .describe("The response of this account that this one continues."),
  service_tier: serviceTier,
  tools: z.array(z.looseObject({ type: z.string() })).nullish(),
});

export const responsesCreate = defineOperation({
  id: "responses.create",
  title: "Response (OpenAI)",
  summary:
    "Answers with any model through OpenAI's Responses interface. Only OpenAI keeps what was said for later calls.",
  keywords: ["openai", "gpt", "chatgpt", "llm", "agent", "ask a question", "write", "summarize"],
  category: "models",
  method: "POST",
  path: "/v1/responses",
  dialects: ["openai"],
  body: responsesBody,
  response: modelResponse,
  example: { body: { model: "gpt-4o-mini", input: "Say hello.", max_output_tokens: 64 } },
  ...everyConversation,
  streams: ({ body }) => body.stream === true,
  price: {
    kind: "per_token",
    modelKind: "chat",
    estimate: (input, model) =>
      estimateConversation(input, model, {
        dialect: "responses",
        outputTokens: input.body.max_output_tokens ?? 0,
        limitedBy: "max_output_tokens",
        choices: 1,
        thoughtTokensMax: thoughtTokensMax(model, { byOlderWord: true }),
      }),
  },
  goesOn: keptResponses,
  // Who does not know it is asked for a conversation in its own dialect.
  servedBy: {
    openai: { exchange: "responses", path: "/responses", dialect: "responses" },
    anthropic: { exchange: "chat", path: "", dialect: "responses" },
    gemini: { exchange: "chat", path: "", dialect: "responses" },
  },
});

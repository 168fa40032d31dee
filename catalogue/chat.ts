import { defineOperation, z, type LimitWord, type ModelFacts } from "../gateway/src/for-catalogues.ts";
import { chatCompletion } from "./answers/model-answers.ts";
import {
  conversations,
  messagesMember,
  modelMember,
  serviceTier,
  streamMember,
  tokensMax,
} from "./conversations/common.ts";
import { estimateConversation } from "./conversations/estimate.ts";
import { thoughtTokensMax } from "./conversations/thought-tokens.ts";

const choicesMax = 128;

/** Only what is priced or decided here is checked; every other member travels to the upstream untouched. */
const chatBody = z.looseObject({
  model: modelMember,
  messages: messagesMember,
  max_tokens: z
    .int()
    .min(1)
    .max(tokensMax)
    .nullish()
    .describe("The most tokens to answer with, by its older name. The fewer, the less is held."),
  max_completion_tokens: z
    .int()
    .min(1)
    .max(tokensMax)
    .nullish()
    .describe("The most tokens to answer with, thoughts included. The fewer, the less is held."),
  n: z.int().min(1).max(choicesMax).nullish().describe("How many answers to write; each is paid for."),
  stream: streamMember,
  stream_options: z
    .looseObject({ include_usage: z.boolean().nullish().describe("A last event tells the tokens used.") })
    .nullish(),
  service_tier: serviceTier,
  enable_thinking: z.boolean().nullish().describe("Qwen's word for thinking before the answer."),
  thinking_budget: z
    .int()
    .max(tokensMax)
    .nullish()
    .describe("The most tokens to think with, where the vendor does not count them as part of the answer."),
});

export const chatCompletionsCreate = defineOperation({
  id: "chat.completions.create",
  title: "Chat completion (OpenAI)",
  summary: "Answers a conversation with a model, in the OpenAI dialect.",
  keywords: ["openai", "gpt", "chatgpt", "llm", "ask a question", "write", "summarize", "translate"],
  category: "models",
  method: "POST",
  path: "/v1/chat/completions",
  body: chatBody,
  response: chatCompletion,
  example: {
    body: {
      model: "gpt-4o-mini",
      messages: [{ role: "user", content: "Say hello." }],
      max_tokens: 64,
    },
  },
  ...conversations("openai"),
  streams: ({ body }) => body.stream === true,
  price: {
    kind: "per_token",
    modelKind: "chat",
    estimate: (input, model) =>
      estimateConversation(input, model, {
        dialect: "openai",
        // An upstream may honour either limit, so the larger of the two is held.
        outputTokens: Math.max(input.body.max_completion_tokens ?? 0, input.body.max_tokens ?? 0),
        limitedBy: limitWord(input.body, model),
        limitedToLeast: Math.min(input.body.max_completion_tokens ?? 1, input.body.max_tokens ?? 1),
        choices: input.body.n ?? 1,
        predictedTokensMax: bytesOf(input.body["prediction"]),
        thoughtTokensMax: thoughtTokensMax(model, { ...input.body, byOlderWord: mayBeOlder(input.body) }),
      }),
  },
});

/** The caller's own word for the limit; without one, the word that its model takes. Beside a prediction that is the older one. */
function limitWord(body: z.infer<typeof chatBody>, model: ModelFacts): LimitWord {
  const newer = body.max_completion_tokens ?? 0;
  const older = body.max_tokens ?? 0;
  if (newer === 0 && older === 0) return hasPrediction(body) ? "max_tokens" : model.limitWord;
  return newer > older ? "max_completion_tokens" : "max_tokens";
}

/** Whether the limit may be sent in the older word: as the caller wrote it, or because of a prediction beside it. */
const mayBeOlder = (body: z.infer<typeof chatBody>): boolean =>
  ((body.max_tokens ?? null) !== null && (body.max_completion_tokens ?? null) === null) ||
  hasPrediction(body);

const hasPrediction = (body: z.infer<typeof chatBody>): boolean => (body["prediction"] ?? null) !== null;

/** The length of its JSON, which bounds the tokens of every text in it. */
const bytesOf = (value: unknown): number =>
  value === undefined || value === null ? 0 : Buffer.byteLength(JSON.stringify(value));

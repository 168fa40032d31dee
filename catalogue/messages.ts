import { defineOperation, z } from "../gateway/src/operation/define-operation.ts";
import { conversationEstimate, conversations } from "./conversations.ts";

const tokensMax = 10_000_000;

const messagesBody = z.looseObject({
  model: z.string().min(1).max(200),
  messages: z.array(z.looseObject({ role: z.string() })).min(1, "must hold at least one message"),
  max_tokens: z.int().min(1).max(tokensMax),
  stream: z.boolean().nullish(),
});

export const messagesCreate = defineOperation({
  id: "messages.create",
  title: "Message",
  summary: "Answers a conversation with a model, in the Anthropic dialect.",
  keywords: ["claude", "anthropic", "llm", "ask a question", "write", "summarize", "translate"],
  category: "models",
  method: "POST",
  path: "/v1/messages",
  body: messagesBody,
  ...conversations("anthropic"),
  streams: ({ body }) => body.stream === true,
  price: {
    kind: "per_token",
    modelKind: "chat",
    estimate: ({ body, rawBody }, model) =>
      conversationEstimate(rawBody, model, { outputTokens: body.max_tokens, choices: 1 }),
  },
});

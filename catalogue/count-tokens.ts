// How long a prompt is, before it is paid for. Free; the vendor of the model counts, and where it cannot, the gateway
// estimates.

import { defineOperation, z } from "../gateway/src/operation/define-operation.ts";

const bodyBytesMax = 32 * 1024 * 1024;

const countedBy = (dialect: "anthropic" | "gemini") =>
  ({
    anthropic: { exchange: "count_tokens", path: "", dialect },
    gemini: { exchange: "count_tokens", path: "", dialect },
    openai: { exchange: "count_tokens", path: "", dialect },
  }) as const;

export const messagesCountTokens = defineOperation({
  id: "messages.count_tokens",
  title: "Count a message's tokens",
  summary: "How many tokens a message would read, in the Anthropic dialect.",
  keywords: ["claude", "prompt length", "estimate"],
  category: "models",
  method: "POST",
  path: "/v1/messages/count_tokens",
  body: z.looseObject({
    model: z.string().min(1).max(200),
    messages: z.array(z.looseObject({ role: z.string() })).min(1, "must hold at least one message"),
  }),
  bodyBytesMax,
  price: { kind: "free", modelKind: "chat" },
  servedBy: countedBy("anthropic"),
});

const contents = z.union([
  z.array(z.unknown()).min(1, "must hold at least one content"),
  z.looseObject({}),
  z.string(),
]);

export const modelsCountTokens = defineOperation({
  id: "models.count_tokens",
  title: "Count a content's tokens",
  summary: "How many tokens contents would be read as, in the Gemini dialect.",
  keywords: ["google", "prompt length", "estimate"],
  category: "models",
  method: "POST",
  path: "/v1beta/models/{model}:countTokens",
  body: z
    .looseObject({
      contents: contents.optional(),
      generateContentRequest: z.looseObject({ contents }).optional(),
      generate_content_request: z.looseObject({ contents }).optional(),
    })
    .refine(
      (body) => body.contents ?? body.generateContentRequest ?? body.generate_content_request,
      "expected contents or generateContentRequest",
    ),
  bodyBytesMax,
  price: { kind: "free", modelKind: "chat", modelOf: ({ params }) => params["model"] },
  servedBy: countedBy("gemini"),
});

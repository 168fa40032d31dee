import { defineOperation, z, type CallInput, type ModelFacts } from "../gateway/src/for-catalogues.ts";
import { generatedContent } from "./answers/model-answers.ts";
import { conversations, serviceTier, tokensMax } from "./conversations/common.ts";
import { estimateConversation } from "./conversations/estimate.ts";
import { thoughtTokensMax } from "./conversations/thought-tokens.ts";

const choicesMax = 8;
const requestsPerMinute = 30;

/** No member of Google's has a longer name. To respell one of megabytes would take a good part of a second. */
const nameCharactersMax = 100;

/** Official clients write camelCase, the documentation snake_case. If a member came in both, nobody knows which Google heeds. */
function checkSpelling(value: object, context: z.RefinementCtx): void {
  for (const name of Object.keys(value)) {
    if (name.length > nameCharactersMax) continue;
    const camelCase = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (camelCase === name || !Object.hasOwn(value, camelCase)) continue;
    context.addIssue({ code: "custom", path: [name], message: "is given twice, in two spellings" });
  }
}

const generationConfig = z
  .looseObject({
    maxOutputTokens: z.int().min(1).max(tokensMax).nullish(),
    max_output_tokens: z.int().min(1).max(tokensMax).nullish(),
    candidateCount: z.int().min(1).max(choicesMax).nullish(),
    candidate_count: z.int().min(1).max(choicesMax).nullish(),
  })
  .superRefine(checkSpelling)
  .nullish();

const generateBody = z
  .looseObject({
    contents: z.union(
      [z.array(z.unknown()).min(1, "must hold at least one content"), z.looseObject({}), z.string()],
      "expected a content, a list of contents or a text",
    ),
    generationConfig,
    generation_config: generationConfig,
    serviceTier,
    service_tier: serviceTier,
  })
  .superRefine(checkSpelling);

const common = {
  category: "models",
  method: "POST",
  body: generateBody,
  params: { model: "A model of `GET /v1/models`." },
  response: generatedContent,
  example: {
    params: { model: "gemini-2.5-flash" },
    body: { contents: [{ role: "user", parts: [{ text: "Say hello." }] }] },
  },
  ...conversations("gemini"),
  dialectsUnder: "/v1beta/",
  limits: { rpm: { group: "generateContent", limit: requestsPerMinute } },
  price: {
    kind: "per_token",
    modelKind: "chat",
    modelOf: ({ params }: { readonly params: Readonly<Record<string, string>> }) => params["model"],
    estimate: (
      input: Pick<CallInput<unknown, z.infer<typeof generateBody>>, "body" | "rawBody" | "plainNames">,
      model: ModelFacts,
    ) => {
      const config = input.body.generationConfig ?? input.body.generation_config;
      return estimateConversation(input, model, {
        dialect: "gemini",
        outputTokens: config?.maxOutputTokens ?? config?.max_output_tokens ?? 0,
        limitedBy: limitMember(input.body),
        choices: config?.candidateCount ?? config?.candidate_count ?? 1,
        thoughtTokensMax: thoughtTokensMax(model),
      });
    },
  },
} as const;

/** The limit's path in the caller's own spelling; there is only one, since two are refused. */
function limitMember(body: z.infer<typeof generateBody>): string {
  const name = "generation_config" in body ? "generation_config" : "generationConfig";
  const limit = "max_output_tokens" in (body[name] ?? {}) ? "max_output_tokens" : "maxOutputTokens";
  return `${name}.${limit}`;
}

export const generateContent = defineOperation({
  ...common,
  id: "models.generate_content",
  title: "Generate content (Gemini)",
  summary: "Answers a conversation with a model, in the Gemini dialect.",
  keywords: ["google", "gemini", "llm", "ask a question", "write", "summarize", "translate"],
  path: "/v1beta/models/{model}:generateContent",
});

export const streamGenerateContent = defineOperation({
  ...common,
  id: "models.stream_generate_content",
  title: "Stream generated content (Gemini)",
  summary: "Answers a conversation with a model piece by piece, in the Gemini dialect.",
  keywords: ["google", "gemini", "llm", "token by token", "server-sent events"],
  path: "/v1beta/models/{model}:streamGenerateContent",
  query: z.looseObject({
    alt: z
      .string()
      .optional()
      .describe("`sse` for server-sent events; otherwise a JSON array grows piece by piece."),
  }),
  response: z.array(generatedContent),
  example: { ...common.example, query: { alt: "sse" } },
  streams: () => true,
  limits: { ...common.limits, slot: "streaming" },
});

import { defineOperation, guessTokens, z } from "../gateway/src/for-catalogues.ts";
import { conversationTimeoutMs, modelMember } from "./conversations/common.ts";
import { checkDearer } from "./conversations/dearer-members.ts";
import { bodyValuesMax, embeddingInput, type EmbeddingInput } from "./embeddings/input.ts";
import { embeddings } from "./answers/model-answers.ts";

const dimensionsMax = 100_000;

/** Only what is priced or decided here is checked; every other member travels to the upstream untouched. */
const embeddingsBody = z.looseObject({
  model: modelMember,
  input: embeddingInput,
  dimensions: z.int().min(1).max(dimensionsMax).nullish(),
  encoding_format: z.enum(["float", "base64"]).nullish(),
});

export const embeddingsCreate = defineOperation({
  id: "embeddings.create",
  title: "Embeddings",
  summary: "Turns texts into vectors, which are close to each other where the texts mean the same.",
  keywords: ["semantic search", "similarity", "vector"],
  category: "models",
  method: "POST",
  path: "/v1/embeddings",
  dialects: ["openai"],
  body: embeddingsBody,
  response: embeddings,
  example: { body: { model: "text-embedding-3-small", input: "how do plants make food" } },
  bodyBytesMax: 10 * 1024 * 1024,
  bodyValuesMax,
  firstByteTimeoutMs: conversationTimeoutMs,
  price: {
    kind: "per_token",
    modelKind: "embedding",
    estimate: ({ body, rawBody }) => {
      checkDearer(body);
      const expected = tokensExpected(body.input);
      return {
        expected: { input_tokens: expected },
        tokens: expected,
        // A token is at least one byte of a text, and written out as a number at least one digit.
        atMost: { input_tokens: rawBody.byteLength },
      };
    },
  },
  servedBy: { openai: { exchange: "embeddings", path: "/embeddings" } },
});

/** Tokens are counted, and those of a text guessed. */
function tokensExpected(input: EmbeddingInput): number {
  if (typeof input === "string") return guessTokens(Buffer.byteLength(input));
  let counted = 0;
  for (const one of input) counted += typeof one === "number" ? 1 : tokensExpected(one);
  return counted;
}

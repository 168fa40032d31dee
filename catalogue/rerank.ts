import { defineModel, defineOperation, guessTokens, z } from "../gateway/src/for-catalogues.ts";

const documentsMax = 2_048;
const documentBytesMax = 512 * 1024;
const queryBytesMax = 64 * 1024;
/** Vendors add separators around each pair of query and document. */
const tokensAddedPerDocument = 8;

/** Bounded in bytes, which are held and sent; a character can take three of them. */
const textWithin = (bytesMax: number) =>
  z
    .string()
    .min(1, "must not be empty")
    .refine((text) => Buffer.byteLength(text) <= bytesMax, `at most ${bytesMax} bytes`)
    .meta({ maxLength: bytesMax });

/** As large as one likes, because it is clamped. `z.int` would refuse a figure whose last digits are not exact. */
const atLeastOne = z
  .number()
  .refine(Number.isInteger, "must be a whole number")
  .min(1)
  .meta({ type: "integer" });

const rerankBody = z.object({
  model: z
    .string()
    .min(1)
    .max(200)
    .nullish()
    .describe("Rerank model; the configured default serves when absent."),
  query: textWithin(queryBytesMax).describe(`At most ${queryBytesMax} bytes.`),
  documents: z
    .array(textWithin(documentBytesMax).describe(`At most ${documentBytesMax} bytes.`))
    .min(1, "must hold at least one document")
    .max(documentsMax, `at most ${documentsMax} documents`),
  top_n: atLeastOne.nullish().describe("Return only the N most relevant documents."),
});

const rerankResult = z
  .object({
    model: z.string(),
    results: z.array(
      z.object({
        index: z.int().min(0).describe("Position in the input `documents`."),
        relevance_score: z.number(),
        document: z.object({ text: z.string() }),
      }),
    ),
    usage: z.object({ total_tokens: z.int().min(0).describe("Tokens billed.") }),
  })
  .meta({ id: "RerankResult" });

export const rerankCreate = defineOperation({
  id: "rerank.create",
  title: "Rerank documents",
  summary: "Orders documents by their relevance to a query, best first.",
  keywords: ["sort passages", "cross-encoder", "retrieval", "rag", "similarity"],
  category: "models",
  method: "POST",
  path: "/v1/rerank",
  body: rerankBody,
  notes: "Results come highest `relevance_score` first. `top_n` above the number of documents is clamped.",
  response: rerankResult,
  example: {
    body: {
      query: "how do plants make food",
      documents: ["Trains run on rails.", "Plants make food from light."],
    },
    response: {
      model: "jina-reranker-v3",
      results: [
        { index: 1, relevance_score: 0.92, document: { text: "Plants make food from light." } },
        { index: 0, relevance_score: 0.03, document: { text: "Trains run on rails." } },
      ],
      usage: { total_tokens: 22 },
    },
  },
  bodyBytesMax: 10 * 1024 * 1024,
  // Thousands of documents take a while, and the vendor bills a call that is given up all the same.
  firstByteTimeoutMs: 120_000,
  price: {
    kind: "per_token",
    modelKind: "rerank",
    defaultModels: ["jina-reranker-v3", "rerank-v3.5", "rerank-2.5"],
    modelOf: ({ body }) => body.model ?? undefined,
    estimate: ({ body }) => {
      // A token is at least one byte, and the query is read once with every document.
      const queryBytes = Buffer.byteLength(body.query);
      const documentBytes = body.documents.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
      const bytes = queryBytes * body.documents.length + documentBytes;
      const tokens = guessTokens(bytes);
      return {
        expected: { input_tokens: tokens },
        tokens,
        atMost: { input_tokens: bytes + tokensAddedPerDocument * body.documents.length },
      };
    },
  },
  servedBy: {
    jina: { exchange: "rerank", path: "/rerank" },
    cohere: { exchange: "rerank", path: "/rerank" },
    voyage: { exchange: "rerank", path: "/rerank" },
  },
});

export const jinaRerankerV3 = defineModel({
  id: "jina-reranker-v3",
  kind: "rerank",
  protocols: ["jina"],
  price: { input: "0.05" },
});

/** Cohere bills by search; per token this is the operator's to set. */
export const cohereRerank = defineModel({
  id: "rerank-v3.5",
  kind: "rerank",
  protocols: ["cohere"],
  price: { input: "0.05" },
});

export const voyageRerank = defineModel({
  id: "rerank-2.5",
  kind: "rerank",
  protocols: ["voyage"],
  price: { input: "0.05" },
});

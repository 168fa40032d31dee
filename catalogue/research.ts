import { defineOperation, z } from "../gateway/src/for-catalogues.ts";

const queryCharactersMax = 8_000;
const resultsMax = 20;
const requestsPerMinute = 5;

const researchBody = z.strictObject({
  query: z
    .string()
    .min(1, "must not be empty")
    .max(queryCharactersMax, `at most ${queryCharactersMax} characters`)
    .describe("What to find out."),
  instructions: z
    .string()
    .min(1, "must not be empty")
    .max(queryCharactersMax, `at most ${queryCharactersMax} characters`)
    .optional()
    .describe("How to go about it, for vendors that take instructions."),
  max_results: z.int().min(1).max(resultsMax).optional().describe("How many citations the answer may have."),
});

const researchAnswer = z
  .looseObject({
    answer: z.string(),
    citations: z.array(
      z.object({
        url: z.string(),
        title: z.string().nullable(),
        snippet: z.string().nullable(),
        date: z.string().nullable(),
      }),
    ),
    usage: z.looseObject({
      micro_usd: z
        .int()
        .min(0)
        .optional()
        .describe("What the vendor says the call cost, in whole micro-USD, rounded up."),
      input_tokens: z.int().min(0).optional().describe("What was read, where the vendor counts it."),
      output_tokens: z.int().min(0).optional().describe("What was written, where the vendor counts it."),
    }),
  })
  .meta({ id: "ResearchAnswer" });

export const deepSearch = defineOperation({
  id: "research.deep_search",
  title: "Deep research",
  summary: "Searches the web, reads what it finds, and answers with citations.",
  keywords: [
    "internet",
    "sources",
    "report",
    "up to date information",
    "latest news",
    "current events",
    "investigate",
  ],
  category: "data",
  method: "POST",
  path: "/apis/v1/research/deep-search",
  body: researchBody,
  response: researchAnswer,
  example: { body: { query: "How do heat pumps work in cold climates?" } },
  firstByteTimeoutMs: 300_000,
  limits: { slot: "always", rpm: { group: "deep_research", limit: requestsPerMinute } },
  // Vendors charge by what they read and searched. What a call may cost at most is the operator's to set.
  price: { kind: "by_cost", usualUsd: "0.05", atMostUsd: "0.5" },
  servedBy: {
    perplexity: { exchange: "research", path: "/v1/agent" },
    tavily: { exchange: "research", path: "/search" },
    exa: { exchange: "research", path: "/search" },
  },
});

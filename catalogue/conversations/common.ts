// What the dialects of a conversation declare alike: who serves them, how long that may take, which members they check.

import { z, type ModelDialect } from "../../gateway/src/for-catalogues.ts";

/** What callers are told about the refusals of `dearer-members.ts` and `estimate.ts`. */
const hostedToolsNote =
  "Tools that the vendor runs, such as a web search or an MCP server, are refused with 400 unless the operator allows them. Members by which a router would ask another model, or write more than is held, are always refused with 400.";

/** As long as the official clients wait for a whole answer: if we gave up sooner, it would be asked for again, and made twice. */
export const conversationTimeoutMs = 600_000;

/** What holds for every conversation, whoever serves it. */
export const everyConversation = {
  bodyBytesMax: 32 * 1024 * 1024,
  firstByteTimeoutMs: conversationTimeoutMs,
  limits: { slot: "streaming" },
  notes: hostedToolsNote,
} as const;

/** Any model vendor can serve any dialect: the gateway translates where they differ. */
export const conversations = (dialect: ModelDialect) => ({
  ...everyConversation,
  dialects: [dialect] as const,
  servedBy: {
    openai: { exchange: "chat", path: "", dialect },
    anthropic: { exchange: "chat", path: "", dialect },
    gemini: { exchange: "chat", path: "", dialect },
  } as const,
});

export const modelMember = z.string().min(1).max(200).describe("A model of `GET /v1/models`.");

/** The vendor checks the content. It is named here because clients generated from the contract send only members they know. */
export const messagesMember = z
  .array(
    z.looseObject({
      role: z.string(),
      content: z.unknown().optional().describe("A text, or a list of parts."),
    }),
  )
  .min(1, "must hold at least one message");

export const streamMember = z.boolean().nullish().describe("Answers piece by piece, as server-sent events.");

/** Several times what any model writes: a limit above this is a slip, and nothing should be held for a slip. */
export const tokensMax = 10_000_000;

/** At these tiers a vendor charges what is priced here, or less. At others it may charge more than is held. */
const serviceTiers = [
  "auto",
  "default",
  "standard",
  "standard_only",
  "on_demand",
  "flex",
  "unspecified",
] as const;
const unpriced = "what costs more has no price here";

export const serviceTier = z
  .enum(serviceTiers, `expected auto, default, standard or flex; ${unpriced}`)
  .nullish()
  .describe("How soon it is served. What costs more than the usual tier is refused with 400.");
export const speed = z.enum(["standard"], `expected standard; ${unpriced}`).nullish();
export const inferenceGeo = z.enum(["global"], `expected global; ${unpriced}`).nullish();

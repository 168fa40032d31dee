/** The dialects in which models are spoken to. */
export const modelDialects = ["openai", "anthropic", "gemini"] as const;

export type ModelDialect = (typeof modelDialects)[number];

/** Whose error shape an answer takes; the plain one is our own. */
export type ErrorDialect = ModelDialect | "plain";

/** The header in which a dialect's official client sends its key, where that is no bearer. */
export const keyHeaders = {
  openai: undefined,
  anthropic: "x-api-key",
  gemini: "x-goog-api-key",
} as const satisfies Readonly<Record<ModelDialect, string | undefined>>;

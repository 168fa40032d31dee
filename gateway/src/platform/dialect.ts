/** The dialects in which models are spoken to. */
export const modelDialects = ["openai", "anthropic", "gemini"] as const;

export type ModelDialect = (typeof modelDialects)[number];

/**
 * The dialects in which callers speak: OpenAI has two for conversations, and every vendor is asked in the older one, but for
 * those that know the newer themselves.
 */
export const callersDialects = [...modelDialects, "responses"] as const;

export type CallersDialect = (typeof callersDialects)[number];

/** Whose clients speak it, and whose words stand beside it: those of errors, and of a silent stream. */
export const vendorsDialect = (dialect: CallersDialect): ModelDialect =>
  dialect === "responses" ? "openai" : dialect;

/** Whose error shape an answer takes; the plain one is our own. */
export type ErrorDialect = ModelDialect | "plain";

/** The header in which a dialect's official client sends its key, where that is no bearer. */
export const keyHeaders = {
  openai: undefined,
  anthropic: "x-api-key",
  gemini: "x-goog-api-key",
} as const satisfies Readonly<Record<ModelDialect, string | undefined>>;

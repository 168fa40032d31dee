/** The dialects in which models are spoken to. */
export type ModelDialect = "openai" | "anthropic" | "gemini";

/** Whose error shape an answer takes; decided by the path alone, so it also holds for paths that do not exist. */
export type Dialect = ModelDialect | "plain";

const openaiPath = /^\/v1\/(chat\/completions|responses|embeddings|images\/|models)/;

export function dialectOf(path: string): Dialect {
  if (path.startsWith("/v1beta/")) return "gemini";
  if (isAnthropicPath(path)) return "anthropic";
  return openaiPath.test(path) ? "openai" : "plain";
}

export const isAnthropicPath = (path: string): boolean => path.startsWith("/v1/messages");

/** Where Anthropic's official client asks: models are listed in one place for all dialects. */
export const isAskedByAnthropicClient = (path: string): boolean =>
  isAnthropicPath(path) || path.startsWith("/v1/models");

/** The header in which the dialect's official client sends its key, beside a bearer. */
export function keyHeaderOf(path: string): "x-api-key" | "x-goog-api-key" | undefined {
  if (isAnthropicPath(path)) return "x-api-key";
  return path.startsWith("/v1beta/") ? "x-goog-api-key" : undefined;
}

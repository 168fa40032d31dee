// Tokens in words that are no vendor's, and how a test may have them stated.

import type { Reply } from "./model-reply.ts";
import { isObject, omitted } from "./vendor-checks.ts";
import type { JsonObject, JsonValue } from "./vendor-checks.ts";

/** Disjoint, but for reasoning, which is inside output. */
export interface TokenUsage {
  readonly input: number;
  readonly cacheRead: number;
  /** Written to a cache that lives five minutes. */
  readonly cacheWrite: number;
  /** Written to a cache that lives an hour. */
  readonly cacheWrite1h: number;
  readonly output: number;
  readonly reasoning: number;
}

/** What is left out is 0. */
export type ScriptedUsage = Partial<TokenUsage>;

/**
 * Tokens, which the vendor states in its own way; or any other JSON, stated as it is, so that a vendor can lie; or
 * `omitted`; or a function of the request's body.
 */
export type UsageOption =
  | ScriptedUsage
  | JsonValue
  | typeof omitted
  | ((body: JsonObject) => ScriptedUsage | JsonValue | typeof omitted);

/** How a vendor states usage: first in the classes it knows, then in its words. */
export interface UsageDialect {
  readonly fold: (tokens: TokenUsage) => TokenUsage;
  readonly say: (tokens: TokenUsage) => JsonValue;
}

export interface PlannedUsage {
  /** What the vendor bills: as scripted, else counted. A lie does not change it. */
  readonly tokens: TokenUsage;
  /** Usage once so many tokens are spent; undefined (which JSON drops) when it is omitted. */
  readonly stated: (tokens: TokenUsage) => JsonValue | undefined;
}

export const planUsage = ({
  option,
  body,
  counted,
  dialect,
}: {
  readonly option: UsageOption | undefined;
  readonly body: JsonObject;
  readonly counted: ScriptedUsage;
  readonly dialect: UsageDialect;
}): PlannedUsage => {
  const chosen = typeof option === "function" ? option(body) : option;
  const honest = dialect.fold({ ...noTokens, ...counted });
  if (chosen === undefined) return { tokens: honest, stated: dialect.say };
  if (isTokens(chosen)) {
    return { tokens: dialect.fold({ ...noTokens, ...chosen }), stated: dialect.say };
  }
  return { tokens: honest, stated: () => (chosen === omitted ? undefined : chosen) };
};

/** What was counted of a request and its reply. */
export const countedOf = (inputTokens: number, reply: Reply): ScriptedUsage => ({
  input: inputTokens,
  output: reply.outputTokens,
  reasoning: reply.reasoningTokens,
});

/** What is spent when a share of the output is generated, and some events beyond it. */
export function spentAt(
  tokens: TokenUsage,
  { share, extra = 0 }: { readonly share: number; readonly extra?: number },
): TokenUsage {
  // A share is a quotient: without the margin a whole number of tokens may come out a hair above itself.
  const output = Math.ceil(tokens.output * share - 1e-9) + extra;
  return { ...tokens, output, reasoning: Math.min(tokens.reasoning, output) };
}

/** The whole input, cached or not. */
export const promptOf = ({ input, cacheRead, cacheWrite, cacheWrite1h }: TokenUsage): number =>
  input + cacheRead + cacheWrite + cacheWrite1h;

const noTokens: TokenUsage = {
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  output: 0,
  reasoning: 0,
};

// No vendor's own usage is made of these names alone.
const isTokens = (value: unknown): value is ScriptedUsage =>
  isObject(value) &&
  Object.keys(value).length > 0 &&
  Object.entries(value).every(([name, count]) => Object.hasOwn(noTokens, name) && typeof count === "number");

/** Words that name an upstream's protocol, and the header in which its vendor expects the operator's key. */
const keyHeaders = {
  openai: "authorization",
  anthropic: "x-api-key",
  gemini: "x-goog-api-key",
  jina: "authorization",
  cohere: "authorization",
  voyage: "authorization",
  dashscope: "authorization",
  tikhub: "authorization",
  scrapecreators: "x-api-key",
  twitterapi: "x-api-key",
  x: "authorization",
  financialdatasets: "x-api-key",
  similarweb: "api-key",
  perplexity: "authorization",
  tavily: "authorization",
  exa: "x-api-key",
} as const;

export type ProtocolWord = keyof typeof keyHeaders;

export const protocolWords = Object.keys(keyHeaders) as ProtocolWord[];

export const usualKeyHeader = (protocol: string): string =>
  (keyHeaders as Readonly<Record<string, string>>)[protocol] ?? "authorization";

/** In `authorization` a key is a bearer's; in any other header it stands as it is. */
export const sayKey = (header: string, key: string): string =>
  header === "authorization" ? `Bearer ${key}` : key;

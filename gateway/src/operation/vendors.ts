import type { Upstream } from "./upstream.ts";

interface Vendor {
  /** Where it expects the operator's key. */
  readonly keyHeader: string;
  /** Whose list prices ship with the catalogue: the address that is its own. */
  readonly domain?: string;
  /** It has no other models. */
  readonly onlyReranks?: true;
  /** Somebody else stands between us and the source, unless the operator says otherwise. */
  readonly managed?: true;
}

/** What is known of each vendor, by the word that names its protocol in the configuration. */
const vendors = {
  openai: { keyHeader: "authorization", domain: "openai.com" },
  anthropic: { keyHeader: "x-api-key", domain: "anthropic.com" },
  gemini: { keyHeader: "x-goog-api-key", domain: "googleapis.com" },
  jina: { keyHeader: "authorization", domain: "jina.ai", onlyReranks: true },
  cohere: { keyHeader: "authorization", domain: "cohere.com", onlyReranks: true },
  voyage: { keyHeader: "authorization", domain: "voyageai.com", onlyReranks: true },
  dashscope: { keyHeader: "authorization", domain: "aliyuncs.com" },
  tikhub: { keyHeader: "authorization", managed: true },
  scrapecreators: { keyHeader: "x-api-key" },
  twitterapi: { keyHeader: "x-api-key" },
  x: { keyHeader: "authorization" },
  financialdatasets: { keyHeader: "x-api-key" },
  similarweb: { keyHeader: "api-key", managed: true },
  perplexity: { keyHeader: "authorization" },
  tavily: { keyHeader: "authorization" },
  exa: { keyHeader: "x-api-key" },
} as const satisfies Record<string, Vendor>;

export type ProtocolWord = keyof typeof vendors;

export const protocolWords = Object.keys(vendors) as ProtocolWord[];

/** Undefined for a protocol that tests bring along. */
const vendorOf = (protocol: string): Vendor | undefined =>
  (vendors as Readonly<Record<string, Vendor>>)[protocol];

export const usualKeyHeader = (protocol: string): string => vendorOf(protocol)?.keyHeader ?? "authorization";

export const usualTransport = (protocol: string): Upstream["transport"] =>
  vendorOf(protocol)?.managed ? "managed" : "native";

export const onlyReranks = (protocol: string): boolean => vendorOf(protocol)?.onlyReranks === true;

/** True also where no list prices ship that another's address could be sold at. */
export function isVendorsOwn({ protocol, url }: Pick<Upstream, "protocol" | "url">): boolean {
  const domain = vendorOf(protocol)?.domain;
  return domain === undefined || `.${new URL(url).hostname}`.endsWith(`.${domain}`);
}

/** In `authorization` a key is a bearer's; in any other header it stands as it is. */
export const sayKey = (header: string, key: string): string =>
  header === "authorization" ? `Bearer ${key}` : key;

// A toy ranking that the three rerank doubles share; only their wire formats differ.

export interface RankRequest {
  readonly query: string;
  readonly documents: readonly string[];
}

export interface Ranked {
  readonly index: number;
  readonly relevance_score: number;
}

/** Best first, by the share of the query's words that a document holds; ties keep input order. */
export function rank({ query, documents }: RankRequest): readonly Ranked[] {
  const wanted = wordsOf(query);
  return documents
    .map((document, index) => {
      const words = new Set(wordsOf(document));
      const found = wanted.filter((word) => words.has(word)).length;
      return { index, relevance_score: wanted.length === 0 ? 0 : found / wanted.length };
    })
    .toSorted((a, b) => b.relevance_score - a.relevance_score);
}

/** The query is read once with each document, as a cross-encoder does. */
export const rankTokens = ({ query, documents }: RankRequest): number =>
  documents.reduce((sum, document) => sum + countTokens(query) + countTokens(document), 0);

/** Four bytes to the token: no vendor's count, but a stable one. */
export const countTokens = (text: string): number =>
  Math.max(1, Math.ceil(new TextEncoder().encode(text).length / 4));

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

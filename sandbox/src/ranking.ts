// Lexical ranking that really ranks: BM25 over light stems, with a fuzzy match for typos and
// inflections. No model, so that the same request gives the same scores on every machine.

import { createAlike, type Alike } from "./alike.ts";
import { isStopWord, termsOf } from "./words.ts";

export interface Ranked {
  readonly index: number;
  /** 0..1, comparable between queries: how much of what the query asks for the document holds. */
  readonly score: number;
}

const saturation = 1.2;
const lengthWeight = 0.5;
const stopWordWeight = 0.1;
const fuzzyWeight = 0.7;
const neighboursWeight = 0.2;
// A query that is itself a book is matched fuzzily by its beginning only.
const fuzzyTermsMax = 256;

/** Best first; documents of equal score keep their input order. */
export function rank(query: string, documents: readonly string[]): Ranked[] {
  const asked = termsOf(query);
  const corpus = readCorpus(documents);
  const wanted = [...new Set(asked)].map((term, position) => want(term, position, corpus));
  const ideal = wanted.reduce((sum, { weight }) => sum + weight, 0);
  const neighbours = new Set(asked.slice(1).map((term, i) => `${asked[i]} ${term}`));

  const scored = corpus.documents.map((document, index) => {
    const met = wanted.reduce((sum, term) => sum + scoreOf(term, document, corpus), 0);
    const bonus = 1 + neighboursWeight * shareOf(neighbours, document.neighbours);
    return { index, score: ideal === 0 ? 0 : intoUnit((met * bonus) / ideal) };
  });
  return scored.sort((a, b) => b.score - a.score || a.index - b.index);
}

interface Document {
  readonly length: number;
  readonly counts: ReadonlyMap<string, number>;
  readonly neighbours: ReadonlySet<string>;
}

interface Corpus {
  readonly documents: readonly Document[];
  readonly documentsWith: ReadonlyMap<string, number>;
  readonly averageLength: number;
  readonly alike: (term: string) => Alike[];
}

interface WantedTerm {
  readonly term: string;
  readonly weight: number;
  /** Other terms of the corpus that may stand for it, best first. */
  readonly alike: readonly Alike[];
}

function readCorpus(texts: readonly string[]): Corpus {
  const documents = texts.map(readDocument);
  const documentsWith = new Map<string, number>();
  for (const { counts } of documents) {
    for (const term of counts.keys()) documentsWith.set(term, (documentsWith.get(term) ?? 0) + 1);
  }
  const totalLength = documents.reduce((sum, { length }) => sum + length, 0);
  return {
    documents,
    documentsWith,
    averageLength: Math.max(1, totalLength / Math.max(1, documents.length)),
    alike: createAlike([...documentsWith.keys()].filter((term) => !isStopWord(term))),
  };
}

function readDocument(text: string): Document {
  const terms = termsOf(text);
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return {
    length: terms.length,
    counts,
    neighbours: new Set(terms.slice(1).map((term, i) => `${terms[i]} ${term}`)),
  };
}

function want(term: string, position: number, corpus: Corpus): WantedTerm {
  const holding = corpus.documentsWith.get(term) ?? 0;
  const rarity = Math.log(1 + (corpus.documents.length - holding + 0.5) / (holding + 0.5));
  if (isStopWord(term)) return { term, weight: rarity * stopWordWeight, alike: [] };

  const alike = position < fuzzyTermsMax ? corpus.alike(term) : [];
  return { term, weight: rarity, alike };
}

function scoreOf(wanted: WantedTerm, document: Document, corpus: Corpus): number {
  const exact = document.counts.get(wanted.term);
  if (exact !== undefined) return wanted.weight * saturated(exact, document, corpus);

  const nearest = wanted.alike.find(({ term }) => document.counts.has(term));
  if (nearest === undefined) return 0;
  const count = document.counts.get(nearest.term) ?? 0;
  return wanted.weight * fuzzyWeight * nearest.likeness * saturated(count, document, corpus);
}

const saturated = (count: number, { length }: Document, { averageLength }: Corpus): number =>
  (count * (saturation + 1)) /
  (count + saturation * (1 - lengthWeight + (lengthWeight * length) / averageLength));

const shareOf = (wanted: ReadonlySet<string>, present: ReadonlySet<string>): number =>
  wanted.size === 0 ? 0 : wanted.intersection(present).size / wanted.size;

// A document that holds every wanted term once scores about 0.9, and repeating them never reaches 1.
// Rounded before sorting, so that what looks like a tie is one.
const intoUnit = (share: number): number => Math.round((1 - Math.exp(-2.3 * share)) * 1e8) / 1e8;

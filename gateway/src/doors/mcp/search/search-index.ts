import type { Offer, OfferedOperation } from "../../../offer/offer.ts";
import { parametersOf } from "../../../operation/call-arguments.ts";
import { relatives } from "./search-synonyms.ts";
import { wordsOf } from "./search-words.ts";

/** Ranks the operations of one offer. Made once for an offer; the same question always gets the same order. */
export interface SearchIndex {
  /** Best first. An empty question lists everything in the order of the catalogue. */
  readonly search: (asked: string) => readonly OfferedOperation[];
}

/** What a word is worth by where it stands. */
const fieldWeights = {
  title: 3,
  keywords: 3,
  models: 3,
  id: 2.5,
  summary: 2,
  path: 1,
  parameters: 1,
  category: 0.5,
};
type Field = keyof typeof fieldWeights;

/** How soon more of the same word stops to matter, and how much long descriptions are held back (BM25's k1 and b). */
const saturation = 1.2;
const lengthPenalty = 0.3;
/** A relative of a word counts, but less than the word itself. */
const relativeWorth = 0.5;

interface Entry {
  readonly offered: OfferedOperation;
  /** Each word with its worth here: the sum over the fields it stands in, long fields held back. */
  readonly worth: ReadonlyMap<string, number>;
}

export function createSearchIndex(offer: Offer): SearchIndex {
  const offered = [...offer.operations.values()];
  const texts = offered.map(fieldsOf);
  const averages = averageLengths(texts);
  const entries = offered.map((one, at): Entry => ({ offered: one, worth: worthOf(texts[at], averages) }));
  const rarity = rarities(entries);

  const score = ({ worth }: Entry, words: readonly string[]): number => {
    let total = 0;
    let matched = 0;
    for (const word of words) {
      const best = Math.max(
        wordScore(word, worth, rarity),
        ...(relatives.get(word) ?? []).map((other) => relativeScore(word, other, worth, rarity)),
      );
      if (best > 0) matched++;
      total += best;
    }
    // The better of two equal scores answers more of the question.
    return words.length === 0 ? 0 : total * (0.5 + (0.5 * matched) / words.length);
  };

  return {
    search: (asked) => {
      if (asked.trim() === "") return offered;
      const words = [...new Set([...wordsOf(asked), ...modelsNamed(asked, rarity)])];
      // Whoever knows the id is not searching.
      const named = (entry: Entry): boolean => entry.offered.operation.id === asked.trim();
      return entries
        .map((entry, at) => ({ entry, at, score: named(entry) ? Infinity : score(entry, words) }))
        .filter((found) => found.score > 0)
        .toSorted((a, b) => b.score - a.score || a.at - b.at)
        .map(({ entry }) => entry.offered);
    },
  };
}

type Fields = Readonly<Record<Field, readonly string[]>>;

function fieldsOf({ operation, path, models }: OfferedOperation): Fields {
  const parameters = parametersOf(operation, path).map(({ name, description }) => `${name} ${description}`);
  return {
    title: wordsOf(operation.title),
    keywords: wordsOf((operation.keywords ?? []).join(" ")),
    models: [...models.keys()].map((id) => id.toLowerCase()),
    id: wordsOf(operation.id),
    summary: wordsOf(operation.summary),
    path: wordsOf(path),
    parameters: wordsOf(parameters.join(" ")),
    category: wordsOf(operation.category),
  };
}

const fieldNames = Object.keys(fieldWeights) as Field[];

function averageLengths(texts: readonly Fields[]): Record<Field, number> {
  const average = (field: Field): number =>
    texts.reduce((sum, fields) => sum + fields[field].length, 0) / Math.max(1, texts.length);
  return Object.fromEntries(fieldNames.map((field) => [field, average(field)])) as Record<Field, number>;
}

function worthOf(fields: Fields | undefined, averages: Record<Field, number>): Map<string, number> {
  const worth = new Map<string, number>();
  if (!fields) return worth;
  for (const field of fieldNames) {
    const words = fields[field];
    const length = 1 - lengthPenalty + lengthPenalty * (words.length / Math.max(1, averages[field]));
    for (const word of words) worth.set(word, (worth.get(word) ?? 0) + fieldWeights[field] / length);
  }
  return worth;
}

/** A word that few operations have tells more than one that all of them have. */
function rarities(entries: readonly Entry[]): Map<string, number> {
  const having = new Map<string, number>();
  for (const { worth } of entries) {
    for (const word of worth.keys()) having.set(word, (having.get(word) ?? 0) + 1);
  }
  return new Map(
    [...having].map(([word, count]) => [word, Math.log(1 + (entries.length - count + 0.5) / (count + 0.5))]),
  );
}

/** Ids of models are compared whole: their parts ("mini", "4", "image") say little and stand in many. */
const modelsNamed = (asked: string, rarity: ReadonlyMap<string, number>): string[] =>
  asked
    .toLowerCase()
    .split(/[\s,;"'()?!]+/)
    .filter((word) => word.length > 1 && rarity.has(word));

/** A rare relative of a common word tells no more than the word itself would. */
function relativeScore(
  word: string,
  other: string,
  worth: ReadonlyMap<string, number>,
  rarity: ReadonlyMap<string, number>,
): number {
  const most = rarity.get(word) ?? Infinity;
  const own = rarity.get(other) ?? 0;
  const score = relativeWorth * wordScore(other, worth, rarity);
  return own > most ? (score * most) / own : score;
}

function wordScore(
  word: string,
  worth: ReadonlyMap<string, number>,
  rarity: ReadonlyMap<string, number>,
): number {
  const here = worth.get(word);
  return here === undefined ? 0 : ((rarity.get(word) ?? 0) * here) / (saturation + here);
}

// Which terms of a vocabulary are alike: by shared letter trigrams (typos) or a shared beginning
// (inflections). An index by trigram, because comparing every pair costs too much on long texts.

export interface Alike {
  readonly term: string;
  /** 0..1 */
  readonly likeness: number;
}

const likenessMin = 0.5;
const beginningLengthMin = 4;

/** The answer lists the most alike first, without the term itself. */
export const createAlike = (vocabulary: readonly string[]): ((term: string) => Alike[]) => {
  const termsWith = new Map<string, string[]>();
  for (const term of vocabulary) {
    for (const trigram of trigramsOf(term)) {
      const terms = termsWith.get(trigram);
      if (terms === undefined) termsWith.set(trigram, [term]);
      else terms.push(term);
    }
  }

  return (wanted) => {
    const trigrams = trigramsOf(wanted);
    const shared = new Map<string, number>();
    for (const trigram of trigrams) {
      for (const term of termsWith.get(trigram) ?? []) shared.set(term, (shared.get(term) ?? 0) + 1);
    }
    shared.delete(wanted);

    return [...shared]
      .map(([term, count]) => ({ term, likeness: likeness(wanted, term, count) }))
      .filter((candidate) => candidate.likeness >= likenessMin)
      .sort((a, b) => b.likeness - a.likeness);
  };
};

const likeness = (a: string, b: string, trigramsShared: number): number => {
  const dice = (2 * trigramsShared) / (trigramsOf(a).size + trigramsOf(b).size);
  return Math.max(dice, sharedBeginning(a, b));
};

const sharedBeginning = (a: string, b: string): number => {
  let shared = 0;
  while (shared < a.length && a[shared] === b[shared]) shared++;
  return shared < beginningLengthMin ? 0 : shared / Math.max(a.length, b.length);
};

/** Of the term with its ends marked; a term under three letters has none, and is like nothing. */
const trigramsOf = (term: string): Set<string> => {
  const found = new Set<string>();
  if (term.length < 3) return found;
  const marked = `^${term}$`;
  for (let i = 0; i + 3 <= marked.length; i++) found.add(marked.slice(i, i + 3));
  return found;
};

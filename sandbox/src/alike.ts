// Which terms of a vocabulary are alike: by shared letter trigrams (typos) or a shared beginning
// (inflections). An index by trigram, because comparing every pair costs too much on long texts.

export interface Alike {
  readonly term: string;
  /** 0..1 */
  readonly likeness: number;
}

const likenessMin = 0.5;
const beginningLengthMin = 4;
/** What more terms have in common tells none of them apart, and to compare each of them with all would take minutes. */
const termsSharingMax = 1_000;

/** The answer lists the most alike first, without the term itself. */
export function createAlike(vocabulary: readonly string[]): (term: string) => Alike[] {
  const termsWith = new Map<string, string[]>();
  const sizes = new Map<string, number>();
  for (const term of vocabulary) {
    const trigrams = trigramsOf(term);
    sizes.set(term, trigrams.size);
    for (const trigram of trigrams) {
      const terms = termsWith.get(trigram);
      if (terms === undefined) termsWith.set(trigram, [term]);
      else terms.push(term);
    }
  }

  return (wanted) => {
    const trigrams = trigramsOf(wanted);
    const shared = new Map<string, number>();
    for (const trigram of trigrams) {
      const terms = termsWith.get(trigram) ?? [];
      if (terms.length > termsSharingMax) continue;
      for (const term of terms) shared.set(term, (shared.get(term) ?? 0) + 1);
    }
    shared.delete(wanted);

    return [...shared]
      .map(([term, count]) => {
        const dice = (2 * count) / (trigrams.size + (sizes.get(term) ?? 0));
        return { term, likeness: Math.max(dice, sharedBeginning(wanted, term)) };
      })
      .filter((candidate) => candidate.likeness >= likenessMin)
      .sort((a, b) => b.likeness - a.likeness);
  };
}

function sharedBeginning(a: string, b: string): number {
  let shared = 0;
  while (shared < a.length && a[shared] === b[shared]) shared++;
  return shared < beginningLengthMin ? 0 : shared / Math.max(a.length, b.length);
}

/** The trigrams of a term with its ends marked. A term under three letters has none, and is like nothing. */
function trigramsOf(term: string): Set<string> {
  const found = new Set<string>();
  if (term.length < 3) return found;
  const marked = `^${term}$`;
  for (let i = 0; i + 3 <= marked.length; i++) found.add(marked.slice(i, i + 3));
  return found;
}

// From text to comparable terms: words in lower case, stemmed lightly; CJK as overlapping pairs.

const cjk = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+/v;
const word =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+|[[\p{L}\p{M}\p{N}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]]+/gv;

export function termsOf(text: string): string[] {
  // A possessive is the word itself, and an apostrophe inside a word does not part it.
  const plain = text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/['’]s?\b/gu, "");
  return (plain.match(word) ?? []).flatMap((run) => (cjk.test(run) ? pairs(run) : [stem(run)]));
}

export const isStopWord = (term: string): boolean => stopWords.has(term);

function pairs(run: string): string[] {
  const letters = [...run];
  if (letters.length === 1) return letters;
  return letters.slice(1).map((letter, i) => `${letters[i]}${letter}`);
}

// A few endings of English, longest first. Being wrong alike on both sides does no harm.
const endings: readonly (readonly [ending: string, put: string])[] = [
  ["ations", ""],
  ["ation", ""],
  ["ments", ""],
  ["ment", ""],
  ["ness", ""],
  ["ions", ""],
  ["ion", ""],
  ["ings", ""],
  ["ing", ""],
  ["ies", "y"],
  ["ied", "y"],
  ["ed", ""],
  ["ers", ""],
  ["er", ""],
  ["ly", ""],
  ["es", ""],
  ["s", ""],
  ["e", ""],
];
const stemLengthMin = 3;

function stem(term: string): string {
  if (!/^[a-z]+$/.test(term) || term.endsWith("ss") || term.endsWith("us")) return term;

  for (const [ending, put] of endings) {
    if (!term.endsWith(ending)) continue;
    const rest = term.slice(0, -ending.length);
    if (rest.length + put.length < stemLengthMin || !/[aeiouy]/.test(rest)) continue;
    return undouble(rest + put);
  }
  return undouble(term);
}

/** stopp(ing) → stop, but fall and miss keep both letters. */
const undouble = (term: string): string =>
  /([b-df-hj-km-np-rtv-z])\1$/.test(term) ? term.slice(0, -1) : term;

const stopWords: ReadonlySet<string> = new Set(
  (
    "a an the and or but not no of in on at to for from with by as is are was were be been am do does did " +
    "has have had it its this that these those i you he she we they my your our their me him her them what " +
    "which who whom whose when where why how can could should would may might must will shall if so than " +
    "then there here also into over under about up out"
  )
    .split(" ")
    .map((stopWord) => stem(stopWord)),
);

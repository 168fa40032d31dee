// The sandbox's tokenizer: a rule, not a vocabulary, so that every figure can be checked by hand.
//
// Invariants: countTokens(text) is at most the UTF-8 length of the text (a gateway may hold money by
// bytes) and at least 1 for a text that is not empty.

// Words, numbers, runs of blank space, and everything else (so also CJK) one code point at a time.
const piece =
  /[[\p{L}\p{M}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]]+|\p{N}{1,3}|\s+|[^]/gv;

const lettersPerToken = 6;

export interface Piece {
  readonly text: string;
  readonly tokens: number;
}

export function countTokens(text: string): number {
  let total = 0;
  for (const { tokens } of pieces(text)) total += tokens;
  return text === "" ? 0 : Math.max(1, total);
}

/** The longest beginning of `text` worth at most `tokensMax` tokens. */
export function cutToTokens(text: string, tokensMax: number): { text: string; cut: boolean } {
  let kept = "";
  let total = 0;

  for (const next of pieces(text)) {
    if (total + next.tokens > tokensMax) {
      const letters = [...next.text].slice(0, (tokensMax - total) * lettersPerToken);
      return { text: kept + (isWord(next.text) ? letters.join("") : ""), cut: true };
    }
    kept += next.text;
    total += next.tokens;
  }
  return { text: kept, cut: false };
}

export function* pieces(text: string): Generator<Piece> {
  for (const [match] of text.matchAll(piece)) yield { text: match, tokens: tokensOf(match) };
}

function tokensOf(match: string): number {
  // A blank belongs to the word after it, as in the tokenizers of the vendors; a line break counts.
  if (/^\s/u.test(match)) return match.includes("\n") ? 1 : 0;
  return isWord(match) ? Math.ceil([...match].length / lettersPerToken) : 1;
}

const isWord = (match: string): boolean => /^[\p{L}\p{M}]{2,}$/u.test(match);

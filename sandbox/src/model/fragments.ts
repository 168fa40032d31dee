// A text in the portions in which a model streams it: word by word, long runs in short pieces.

import { pieces } from "../tokens.ts";

export interface Fragment {
  readonly text: string;
  /** What this fragment counts as; all of them add up to the tokens of the text. */
  readonly tokens: number;
}

const tokensPerFragmentMax = 6;

export function* fragmentsOf(text: string): Generator<Fragment> {
  let [gathered, tokens] = ["", 0];
  // A text of blanks alone counts as one token, and as no piece.
  let counted = 0;

  for (const piece of pieces(text)) {
    const beginsWord = /^\s/u.test(piece.text);
    if (gathered !== "" && (beginsWord || tokens + piece.tokens > tokensPerFragmentMax)) {
      yield { text: gathered, tokens };
      [gathered, tokens] = ["", 0];
    }
    gathered += piece.text;
    tokens += piece.tokens;
    counted += piece.tokens;
  }
  if (gathered !== "") yield { text: gathered, tokens: counted === 0 ? 1 : tokens };
}

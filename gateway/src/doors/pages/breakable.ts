import { html, type Html } from "./html.ts";

/** Paths and ids are long words: they may be broken between their parts, the longest between words too. */
export const breakable = (words: string): Html[] =>
  words
    .split(words.length > longCharacters ? /(?<=\w)(?=[/.:])|(?<=[_-])(?=\w)/ : /(?<=\w)(?=[/.:])/)
    .map((part, at) => (at === 0 ? html`${part}` : html`<wbr />${part}`));

const longCharacters = 24;

import { html, type Html } from "./html.ts";

/**
 * Paths and ids are long words: they may be broken between their parts, the longest between words too. An address is not
 * broken behind its scheme.
 */
export const breakable = (words: string): Html[] =>
  words
    .split(words.length > longCharacters ? seamsOfLong : seams)
    .map((part, at) => (at === 0 ? html`${part}` : html`<wbr />${part}`));

const longCharacters = 24;
const seams = /(?<=\w)(?=[/.:])(?!:\/\/)/;
const seamsOfLong = new RegExp(`${seams.source}|(?<=[_-])(?=\\w)`);

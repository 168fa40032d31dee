import { html } from "../pages/html.ts";
import type { SmallPage } from "../pages/small-page.ts";

/** Where somebody goes who met an error. */
export interface Onward {
  readonly path: string;
  readonly words: string;
}

export const errorPage = (title: string, sentence: string, onward?: Onward): SmallPage => ({
  title,
  body: html`<p role="alert">${sentence}</p>
    ${onward && html`<p><a href="${onward.path}">${onward.words}</a></p>`}`,
});

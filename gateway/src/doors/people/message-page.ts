import { html } from "../pages/html.ts";
import type { SmallPage } from "../pages/small-page.ts";

export const errorPage = (title: string, sentence: string): SmallPage => ({
  title,
  body: html`<p role="alert">${sentence}</p>`,
});

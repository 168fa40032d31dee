import { html } from "./html.ts";
import { page, type Page } from "./page.ts";

export const errorPage = (title: string, sentence: string): Page =>
  page(title, html`<p role="alert">${sentence}</p>`);

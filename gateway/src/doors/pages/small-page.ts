import { brandMark } from "./brand-mark.ts";
import { html, type Html } from "./html.ts";
import { inlineStyle } from "./inline-style.ts";
import { privatePageHeaders } from "./page-headers.ts";
import { privatePage } from "./private-page.ts";

/** A page that asks or tells a person one thing: no script, nothing loaded from elsewhere, not framed. */
export interface SmallPage {
  readonly title: string;
  readonly body: Html;
}

export function pageResponse(
  page: SmallPage,
  status = 200,
  further: Readonly<Record<string, string>> = {},
): Response {
  const { markup, headers } = writePage(page);
  return new Response(markup, { status, headers: { ...headers, ...further } });
}

/** For whoever answers in another way than with a Response. */
export const writePage = (page: SmallPage) => ({
  markup: markupOf(page),
  headers: privatePageHeaders(style),
});

const markupOf = ({ title, body }: SmallPage): string =>
  privatePage({
    title,
    style,
    body: html`<main>
      <p class="brand">${brandMark}Tollgate</p>
      <h1>${title}</h1>
      ${body}
    </main>`,
  });

const style = inlineStyle(["colours.css", "small-page.css"]);

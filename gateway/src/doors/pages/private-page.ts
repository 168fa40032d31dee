import { html, type Html } from "./html.ts";
import { inlineIcon, type InlineStyle } from "./inline-style.ts";

interface PrivatePage {
  readonly title: string;
  readonly style: InlineStyle;
  /** All that stands in the body of the document. */
  readonly body: Html;
}

/** The document of a page for one person: it loads nothing, and no search engine is to find it. */
export const privatePage = ({ title, style, body }: PrivatePage): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <link rel="icon" href="${inlineIcon}" />
        <title>${title} · Tollgate</title>
        ${style.element}
      </head>
      <body>
        ${body}
      </body>
    </html> `.markup;

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brandMark } from "./brand-mark.ts";
import { html, type Html } from "./html.ts";

/** A page that asks or tells a person one thing: no script, nothing loaded from anywhere, in nobody's frame. */
export interface SmallPage {
  readonly title: string;
  readonly body: Html;
  /** Where a form of this page may end up besides with us: browsers hold redirects to it as well. */
  readonly formEndsAt?: string | undefined;
}

export const pageResponse = (
  page: SmallPage,
  status = 200,
  further: Readonly<Record<string, string>> = {},
): Response => {
  const { markup, headers } = writePage(page);
  return new Response(markup, { status, headers: { ...headers, ...further } });
};

/** For whoever answers in another way than with a Response. */
export const writePage = (page: SmallPage) => ({ markup: markupOf(page), headers: headersOf(page) });

const markupOf = ({ title, body }: SmallPage): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <link rel="icon" href="${icon}" />
        <title>${title} · Tollgate</title>
        ${styleElement}
      </head>
      <body>
        <main>
          <p class="brand">${brandMark}Tollgate</p>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html> `.markup;

const headersOf = ({ formEndsAt }: SmallPage): Record<string, string> => ({
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": [
    "default-src 'none'",
    `style-src 'sha256-${styleDigest}'`,
    "img-src data:",
    `form-action 'self'${formEndsAt === undefined ? "" : ` ${formEndsAt}`}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; "),
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  // Not no-referrer: with it browsers name no origin when they send a form, and forms are told apart by it.
  "referrer-policy": "same-origin",
});

/** The site's own colours and type, so that these pages are known as ours; inside the page, so that it loads nothing. */
const siteFile = (name: string): string =>
  readFileSync(join(import.meta.dir, "../../../../site", name), "utf8");
const style = siteFile("colours.css") + siteFile("small-page.css");
const icon = `data:image/svg+xml;base64,${Buffer.from(siteFile("icon.svg")).toString("base64")}`;

/** Made in one piece: a blank between tag and text would change what the digest is of. */
const styleElement: Html = { markup: `<style>${style}</style>` };
const styleDigest = new Bun.CryptoHasher("sha256").update(style).digest("base64");

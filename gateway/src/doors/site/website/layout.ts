import { accountPageUrl } from "../../../config/addresses.ts";
import { brandMark } from "../../pages/brand-mark.ts";
import { html, type Html } from "../../pages/html.ts";
import { twinOf, type Material, type Page } from "./page.ts";

/** The whole page around what it says. Where the content brings its own main landmark, ours steps back. */
export function layout(page: Page, { link, assets, addresses }: Material): string {
  const places = [
    { path: "/quickstart", words: "Quick start", section: "quickstart" },
    { path: "/prices", words: "Prices", section: "prices" },
    { path: "/docs", words: "API reference", section: "docs" },
  ] as const;
  const twin = page.path === undefined ? undefined : link(twinOf(page.path));
  const room = page.bare ? html`div` : html`main`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.path === "/" ? page.title : `${page.title} · Tollgate`}</title>
<meta name="description" content="${page.description}">
${page.path === undefined ? html`<meta name="robots" content="noindex" />` : html`<link rel="canonical" href="${addresses.siteUrl}${page.path}" />`}
${twin === undefined ? html`` : html`<link rel="alternate" type="text/markdown" href="${twin}" title="This page as Markdown" />`}
<link rel="icon" type="image/svg+xml" href="${link(assets.icon.path)}">
<link rel="stylesheet" href="${link(assets.style.path)}">
<script src="${link(assets.script.path)}" type="module"></script>
${page.head}</head>
<body${page.bare ? html` class="bare"` : html``}>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<div class="bar">
<a class="brand" href="${link("/")}">${brandMark}Tollgate</a>
<nav aria-label="Main"><ul>
${places.map(
  ({ path, words, section }) =>
    html`<li>
      <a href="${link(path)}" ${page.section === section ? html` aria-current="page"` : html``}>${words}</a>
    </li> `,
)}<li><a href="${accountPageUrl(addresses)}">Account</a></li>
</ul></nav>
</div>
</header>
<${room} id="main" tabindex="-1">
${page.main}
</${room}>
${page.bare ? html`` : footer(link, twin)}</body>
</html>
`.markup;
}

const footer = (link: (path: string) => string, twin: string | undefined): Html =>
  html`<footer class="bottom">
    <div class="bar">
      <p>Prices are estimates in USD; a call’s receipt says what it cost.</p>
      <nav aria-label="For programs">
        <ul>
          ${twin === undefined ? html`` : html`<li><a href="${twin}">This page as Markdown</a></li>`}
          <li><a href="${link("/llms.txt")}">llms.txt</a></li>
          <li><a href="${link("/openapi.json")}">OpenAPI</a></li>
          <li><a href="${link("/api/sales-api-data")}">Prices as JSON</a></li>
        </ul>
      </nav>
    </div>
  </footer> `;

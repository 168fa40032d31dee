import { breakable } from "../../pages/breakable.ts";
import { html, type Html } from "../../pages/html.ts";
import { piecesOf, type Block, type Table } from "./blocks.ts";

/** Where a path of this site leads, seen from a page. */
export type LinkTo = (path: string) => string;

export const blocksHtml = (blocks: readonly Block[], link: LinkTo): Html[] =>
  blocks.map((block) => blockHtml(block, link));

function blockHtml(block: Block, link: LinkTo): Html {
  switch (block.kind) {
    case "heading": {
      const id = block.id ?? slug(block.text);
      const words = inline(block.text, link);
      return block.level === 2 ? html`<h2 id="${id}">${words}</h2>` : html`<h3 id="${id}">${words}</h3>`;
    }
    case "text":
      return html`<p>${inline(block.text, link)}</p>`;
    case "note":
      return html`<p class="note">${inline(block.text, link)}</p>`;
    case "list":
      return html`<ul>
        ${block.items.map((item) => html`<li>${inline(item, link)}</li>`)}
      </ul>`;
    case "code":
      return codeHtml(block.label, block.code);
    case "table":
      return tableHtml(block, link);
  }
}

/** What is wider than the screen scrolls by itself, also by keyboard. */
export const codeHtml = (label: string, written: string): Html =>
  html`<figure class="code">
    <figcaption>${label}</figcaption>
    <pre tabindex="0" role="region" aria-label="${label}"><code>${written}</code></pre>
  </figure>`;

export function tableHtml({ caption, columns, rows, figures = [], aside = [] }: Table, link: LinkTo): Html {
  const classOf = (column: number): string | undefined =>
    figures.includes(column) ? "figure" : aside.includes(column) ? "aside" : undefined;
  return html`<div
    class="${aside.length > 0 ? "table" : "table roomy"}"
    tabindex="0"
    role="region"
    aria-label="${caption}"
  >
    <table>
      <caption>
        ${inline(caption, link)}
      </caption>
      <thead>
        <tr>
          ${columns.map((name, at) => html`<th scope="col" class="${classOf(at)}">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map((cell, at) =>
                at === 0
                  ? html`<th scope="row">${inline(cell, link)}</th>`
                  : html`<td class="${classOf(at)}">${inline(cell, link)}</td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

export const inline = (written: string, link: LinkTo): Html[] =>
  piecesOf(written).map(({ words, code, href }) => {
    if (code) return html`<code>${breakable(words)}</code>`;
    return href === undefined ? html`${words}` : html`<a href="${link(href)}">${words}</a>`;
  });

const slug = (words: string): string =>
  words
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");

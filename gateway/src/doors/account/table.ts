import { html, type Html } from "../pages/html.ts";

type Cell = string | Html;

interface Table {
  /** What it is about, for whoever does not see the heading above it. */
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** Columns of figures stand right, so that they can be compared. */
  readonly figures?: readonly number[];
  /** Columns that a narrow screen can do without. */
  readonly aside?: readonly number[];
}

/** A table that scrolls by itself where it is wider than the screen, also by keyboard. */
export function tableHtml({ caption, columns, rows, figures = [], aside = [] }: Table): Html {
  const classOf = (column: number): string =>
    [figures.includes(column) ? "figure" : "", aside.includes(column) ? "aside" : ""].join(" ").trim();
  return html`<div class="table" tabindex="0" role="region" aria-label="${caption}">
    <table>
      <caption>
        ${caption}
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
                at === 0 ? html`<th scope="row">${cell}</th>` : html`<td class="${classOf(at)}">${cell}</td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

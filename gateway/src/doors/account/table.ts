import { html, type Html } from "../pages/html.ts";

type Cell = string | Html;

interface Table {
  /** What it is about, for whoever does not see the heading above it. */
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** Columns of figures stand right, so that they can be compared. */
  readonly figures: readonly number[];
}

/**
 * On a narrow screen each row becomes a sheet of its own, with the columns' names beside what they hold. The roles are
 * those that the elements have anyway, written down because browsers forget them where a table is laid out otherwise.
 */
export function accountTable({ caption, columns, rows, figures }: Table): Html {
  const classOf = (column: number): string => (figures.includes(column) ? "figure" : "");
  return html`<div class="table" tabindex="0" role="region" aria-label="${caption}">
    <table role="table">
      <caption>
        ${caption}
      </caption>
      <thead role="rowgroup">
        <tr role="row">
          ${columns.map((name, at) => html`<th scope="col" role="columnheader" class="${classOf(at)}">${name}</th>`)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          (row) =>
            html`<tr role="row">
              ${row.map((cell, at) =>
                at === 0
                  ? html`<th scope="row" role="rowheader">${cell}</th>`
                  : html`<td role="cell" class="${classOf(at)}" data-column="${columns[at]}">
                      <div>${cell}</div>
                    </td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

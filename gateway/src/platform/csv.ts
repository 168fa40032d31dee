/** Rows as spreadsheets and programs read them (RFC 4180); what separates cells or rows is quoted inside one. */
export const csvOf = (rows: readonly (readonly string[])[]): string =>
  rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("");

function cellOf(text: string): string {
  const shown = isFormula.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

/** What somebody called a key must not be run by the spreadsheet of whoever opens the file; a number may have its sign. */
const isFormula = /^[=+@\t\r-](?![\d.]+$)/;

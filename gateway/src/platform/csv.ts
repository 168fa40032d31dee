/** Rows as spreadsheets and programs read them (RFC 4180); what separates cells or rows is quoted inside one. */
export const csvOf = (rows: readonly (readonly string[])[]): string =>
  rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("");

const cellOf = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

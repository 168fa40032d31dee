/** Rows as one text for `json_to_recordset`. Postgres takes no zero bytes and no halves of characters in a text. */
export function jsonOf(rows: readonly object[]): string {
  const text = JSON.stringify(rows);
  return perhapsBad.test(text)
    ? JSON.stringify(rows, (_, value: unknown) => (typeof value === "string" ? soundText(value) : value))
    : text;
}

/** Nobody means a zero byte, and whoever sends one must not break a statement. */
export const soundText = (text: string): string =>
  text.includes("\0") ? text.replaceAll("\0", "\ufffd").toWellFormed() : text.toWellFormed();

/** Bytes as they travel in JSON. */
export const hexOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");

/** How JSON.stringify writes such characters; hardly any other text has these letters. */
const perhapsBad = /\\u(?:0000|d[89a-f])/;

import { STATUS_CODES } from "node:http";

/** A status may have no reason, but its line has the space before it. */
export function statusLine(status: number): string {
  const known = lines.get(status);
  if (known !== undefined) return known;
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`;
  lines.set(status, line);
  return line;
}

/** There are a thousand at most. */
const lines = new Map<number, string>();

/** All but those about the body's length and the connection, which are the listener's own. */
export function linesOf(headers: Headers): string {
  let text = "";
  for (const [name, value] of headers) if (!ours.has(name)) text += `${name}: ${value}\r\n`;
  return text;
}

const ours: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "content-length",
  "transfer-encoding",
  "date",
]);

/** Neither has a body, whatever is said about its length. */
export const hasNoBody = (status: number): boolean => status === 204 || status === 304;

import { endOfString } from "../../platform/json.ts";

/**
 * The members of a JSON object exactly as they are written, by their names. Lets one member go or come while
 * every other byte stays: numbers too large for a double and escaped characters survive. The text must have
 * been parsed before; this only finds where members begin and end.
 */
export function membersAsWritten(text: string): Map<string, string> {
  const members = new Map<string, string>();
  for (const written of piecesAsWritten(text)) {
    // A pattern would take seconds for a name of megabytes, which costs its sender nothing.
    const name = written.slice(0, endOfString(written, 0) + 1);
    members.set(String(JSON.parse(name)), written);
  }
  return members;
}

/** The elements of a JSON array, or the members of an object, exactly as they are written. */
export function piecesAsWritten(text: string): string[] {
  const pieces: string[] = [];
  let depth = 0;
  let start = 0;
  const take = (end: number): void => {
    const written = text.slice(start, end).trim();
    if (written !== "") pieces.push(written);
    start = end + 1;
  };

  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = endOfString(text, at);
        break;
      case 0x7b: // {
      case 0x5b: // [
        depth++;
        if (depth === 1) start = at + 1;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth--;
        if (depth === 0) take(at);
        break;
      case 0x2c: // ,
        if (depth === 1) take(at);
        break;
    }
  }
  return pieces;
}

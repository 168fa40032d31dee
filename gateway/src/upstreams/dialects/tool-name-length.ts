import { Inexpressible } from "./dialect.ts";

/**
 * Twice what any vendor takes. A name is said again with every call of an answer, to Google with every result of a call, and one
 * of a namespace with each of its tools: were it of any length, an answer or a request would be as long as all of these times
 * that.
 */
const nameCharactersMax = 256;

export function checkToolName(name: string, field: string): string {
  if (name.length <= nameCharactersMax) return name;
  throw new Inexpressible(field, `the name of a tool may have at most ${nameCharactersMax} characters`);
}

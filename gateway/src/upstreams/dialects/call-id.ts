import { Inexpressible } from "./dialect.ts";

/** No vendor gives a longer one, not even those that put what they want back into it. */
const idCharactersMax = 8192;

/** The id of a call of a tool, as the caller wrote it. */
export function checkCallId(id: string, field: string): string {
  if (id.length <= idCharactersMax) return id;
  throw new Inexpressible(field, `an id may have at most ${idCharactersMax} characters`);
}

import { Inexpressible } from "./dialect.ts";

/** Longer ones no vendor fetches from; what is inside of the body is no address. */
const addressCharactersMax = 8192;

/** An address that a vendor is to fetch from, as the caller wrote it. */
export function checkAddress(url: string, field: string): string {
  if (url.length <= addressCharactersMax) return url;
  throw new Inexpressible(field, `an address may have at most ${addressCharactersMax} characters`);
}

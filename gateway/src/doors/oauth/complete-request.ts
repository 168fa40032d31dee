// What clients leave out, or write in a way of their own, before the authorization server compares it to the letter.

import { renameToHost } from "../../config/addresses.ts";
import { grantScopes } from "../../grants/grants.ts";
import { formFields } from "../pages/form-fields.ts";

/**
 * A client that names none of our scopes gets the usual ones (RFC 6749, 3.3); the person sees and bounds them. Who may
 * spend may read, and a person who allows only the reading has not refused the client.
 */
export function completeQuery(rawQuery: string, mcpUrl: string): string {
  const query = new URLSearchParams(rawQuery);
  nameResource(query, mcpUrl);
  const given = query.getAll("scope");
  const scopes = (given[0] ?? "").split(" ").filter((scope) => scope !== "");
  const ours = scopes.some((scope) => grantScopes.some((known) => known === scope));
  if (given.length <= 1 && (!ours || scopes.includes("tools:spend")))
    query.set("scope", [...new Set([...grantScopes, ...scopes])].join(" "));
  return query.toString();
}

export function completeForm(body: Uint8Array, mcpUrl: string): Uint8Array {
  const form = formFields(body);
  nameResource(form, mcpUrl);
  return new TextEncoder().encode(form.toString());
}

/** An address may end with a slash, as the door itself takes it, and one on this machine may use any name of the machine. */
function nameResource(given: URLSearchParams, mcpUrl: string): void {
  const [written = "", ...more] = given.getAll("resource");
  const asked = URL.parse(written);
  if (!asked || more.length > 0) return;
  const door = new URL(renameToHost(mcpUrl, asked.host)).href;
  if (asked.href === door || asked.href === `${door}/`) given.set("resource", mcpUrl);
}

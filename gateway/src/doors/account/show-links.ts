import { seesAccount } from "../../keys/seen-by.ts";
import { accountResponse } from "../people/account-layout.ts";
import { notUnderstood, type SignedInVisit } from "../people/with-person.ts";
import { keyNames } from "./key-names.ts";
import { linksPage, linksShownMax } from "./links-page.ts";
import type { Reader } from "./reader.ts";

/** The platform accounts that the reader's calls may act for, after the one that they want to end has ended. */
export async function showLinks(
  reader: Reader,
  { action, fields, csrf }: Pick<SignedInVisit, "action" | "fields" | "csrf">,
): Promise<Response> {
  if (action !== undefined && action !== "end") return notUnderstood();
  const { asker, selfService } = reader;
  const ending = action === undefined ? undefined : (fields.get("link") ?? "");
  const ended = ending === undefined ? undefined : await selfService.revokeLink(asker, ending);
  const links = await selfService.links(asker);
  const shown = links.slice(0, linksShownMax);
  const nameOf = await keyNames(
    reader,
    shown.map(({ key_id: id }) => id),
  );
  const whose = seesAccount(asker) ? "of this account" : "with this key";
  return accountResponse(
    linksPage({ links: shown, more: links.length - shown.length, nameOf, whose, csrf, ended }),
    reader,
  );
}

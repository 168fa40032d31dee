import type { Key } from "../../keys/keys.ts";
import { pageResponse } from "../pages/small-page.ts";
import { askForKey, readForm, signIn, signOut, type PageRequest, type FormParts } from "./form.ts";
import { errorPage } from "./message-page.ts";

/** Somebody who signed in, and what they want of a page. */
export interface SignedInVisit {
  readonly key: Key;
  /** The button that was pressed, "" for none of ours; undefined when the page was only opened. */
  readonly action: string | undefined;
  readonly fields: URLSearchParams;
  readonly csrf: string;
  readonly signedInAs: string;
}

/** Shows a page to whoever signed in; everybody else is asked for a key first. */
export async function withPerson<Page>(
  asked: PageRequest,
  parts: FormParts,
  page: { readonly purpose: string; readonly show: (visit: SignedInVisit) => Promise<Page> },
): Promise<Page | Response> {
  const { people } = parts;
  const person = await people.read(asked.request);
  const posted = asked.request.method === "POST";
  const form = posted ? await readForm(asked, person, parts) : undefined;
  if (form?.ok === false) return form.refusal;
  const fields = form?.fields ?? new URLSearchParams();
  const action = posted ? (fields.get("action") ?? "") : undefined;
  if (action === "sign_in") return signIn(asked, person, fields.get("key") ?? "", page, parts);
  if (action === "sign_out") return signOut(asked, person, parts);
  if (!person.key) return askForKey(asked, person, page, parts);
  return page.show({
    key: person.key,
    action,
    fields,
    csrf: people.csrf(person, asked.path),
    signedInAs: people.describe(person.key),
  });
}

export const notUnderstood = (): Response =>
  pageResponse(errorPage("Please try again", "The form was not understood."), 400);

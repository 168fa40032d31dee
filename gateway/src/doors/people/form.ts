import type { Limiter } from "../../limits/limiter.ts";
import { signInFailures } from "../../limits/visitor-limits.ts";
import { formFields } from "../pages/form-fields.ts";
import { pageResponse } from "../pages/small-page.ts";
import { errorPage } from "./message-page.ts";
import { signInPage } from "./sign-in-page.ts";
import type { People, Person } from "./person.ts";

/** What every page with a form needs. */
export interface FormParts {
  readonly people: People;
  readonly limiter: Limiter;
  readonly origins: () => ReadonlySet<string>;
  readonly readBody: (request: Request, bytesMax: number) => Uint8Array | Promise<Uint8Array>;
}

/** A request for a page that people sign in at. */
export interface PageRequest {
  readonly request: Request;
  readonly path: string;
  /** The query with its question mark, or "". It is kept through a sign-in, so that the same page is shown after it. */
  readonly search: string;
  readonly address: string | undefined;
}

export const searchOf = (rawQuery: string): string => (rawQuery === "" ? "" : `?${rawQuery}`);

/** A form that came back from the browser it was shown in; anything else is answered with `refusal`. */
export type ReadForm =
  | { readonly ok: true; readonly fields: URLSearchParams }
  | { readonly ok: false; readonly refusal: Response };

const formBytesMax = 16 * 1024;

export async function readForm(asked: PageRequest, person: Person, parts: FormParts): Promise<ReadForm> {
  const { request, path } = asked;
  const origin = request.headers.get("origin");
  if (origin !== null && !parts.origins().has(origin)) return { ok: false, refusal: foreignForm(asked) };
  const fields = formFields(await parts.readBody(request, formBytesMax));
  const ours = parts.people.isCsrf(person, path, fields.get("csrf") ?? "");
  return ours ? { ok: true, fields } : { ok: false, refusal: foreignForm(asked) };
}

/** Mostly met by people whose page stood open for so long that the browser has forgotten who they were. */
const foreignForm = ({ path, search }: PageRequest): Response =>
  pageResponse(
    errorPage(
      "Please try again",
      "This form did not come from this page in this browser, or it stood open for more than an hour.",
      { path: path + search, words: "Open the page again" },
    ),
    403,
  );

/** Shows the form for a key, and remembers the browser it is shown in. */
export const askForKey = (
  asked: PageRequest,
  person: Person,
  { purpose, problem }: { purpose: string; problem?: string },
  { people }: FormParts,
  status = 200,
): Response =>
  pageResponse(signInPage({ csrf: people.csrf(person, asked.path), purpose, problem }), status, {
    "set-cookie": people.cookie(person),
  });

/** Signs a person in by the key they typed, and sends them back to the page they wanted. */
export async function signIn(
  asked: PageRequest,
  person: Person,
  typed: string,
  about: { purpose: string },
  parts: FormParts,
): Promise<Response> {
  const failures = signInFailures(asked.address);
  if ((await parts.limiter.look(failures)).remaining <= 0) {
    const problem = "Too many wrong keys came from your address. Wait a minute, then try again.";
    return askForKey(asked, person, { ...about, problem }, parts, 429);
  }
  const secret = typed.trim();
  const key = await parts.people.recognise(secret);
  if (!key) {
    await parts.limiter.take([failures]);
    return askForKey(asked, person, { ...about, problem: "This is not a key that works here." }, parts, 401);
  }
  return backToPage(asked, parts.people.cookie(parts.people.signedIn(key, secret)));
}

export const signOut = async (asked: PageRequest, person: Person, { people }: FormParts): Promise<Response> =>
  backToPage(asked, people.cookie(await people.signOut(person)));

const backToPage = ({ path, search }: PageRequest, cookie: string): Response =>
  new Response(null, {
    status: 303,
    headers: { location: path + search, "set-cookie": cookie, "cache-control": "no-store" },
  });

import { pageResponse } from "../pages/small-page.ts";
import { errorPage } from "../people/message-page.ts";

/** Says no: to a client in the words of OAuth, to a person with a page. */
type Say = (
  status: number,
  error: string,
  description: string,
  headers?: Readonly<Record<string, string>>,
) => Response;

export const sayerAt = (path: string): Say => (isForPeople(path) ? sorryPage : oauthError);

/** A client sends its person's browser to `/authorize`, and does not see what that is told there. */
const isForPeople = (path: string): boolean =>
  isPage(path) || path === "/authorize" || path.startsWith("/authorize/");

export const isPage = (path: string): boolean => path.startsWith("/oauth/") && path !== "/oauth/jwks";

export const oauthError: Say = (status, error, description, headers) =>
  Response.json({ error, error_description: description }, { status, headers: { ...noStore, ...headers } });

export const noStore = { "cache-control": "no-store" };

const sorryPage: Say = (status, _, description, headers) =>
  pageResponse(
    errorPage(status === 403 || status === 405 ? "Not here" : "Please try again", description),
    status,
    headers,
  );

export const foreignHost = (say: Say, issuer: string): Response =>
  say(403, "invalid_request", `Sign-in is at ${issuer}; this request was sent to another host.`);

export const tooMany = (say: Say): Response =>
  say(429, "temporarily_unavailable", "Too many requests; wait a minute, then try again.", {
    "retry-after": "60",
  });

export const notAllowed = (say: Say, allow: string): Response =>
  say(405, "invalid_request", "This method is not served here.", { allow });

import { accountPage } from "../../config/addresses.ts";
import type { KeyScope } from "../../keys/keys.ts";
import { seesAccount } from "../../keys/seen-by.ts";
import type { Account } from "../../ledger/accounts.ts";
import { brandMark } from "../pages/brand-mark.ts";
import { html, type Html } from "../pages/html.ts";
import { inlineStyle } from "../pages/inline-style.ts";
import { privatePageHeaders } from "../pages/page-headers.ts";
import { privatePage } from "../pages/private-page.ts";

export interface AccountPage {
  readonly title: string;
  /** Which of the places in the navigation it is; undefined below one. */
  readonly place?: string;
  readonly body: Html;
}

/** Whoever the pages are for. */
export interface AccountReader {
  /** What they see: as much as the key that they signed in with. */
  readonly asker: { readonly scope: KeyScope };
  readonly account: Pick<Account, "suspended">;
  readonly csrf: string;
  readonly signedInAs: string;
  readonly siteUrl: string;
}

export const accountResponse = (page: AccountPage, reader: AccountReader, status = 200): Response =>
  new Response(markupOf(page, reader), { status, headers: privatePageHeaders(style) });

const markupOf = ({ title, place, body }: AccountPage, reader: AccountReader): string =>
  privatePage({
    title,
    style,
    body: html`<a class="skip" href="#main">Skip to the content</a>
      <header class="top">
        <div class="bar">
          <a class="brand" href="${reader.siteUrl}/">${brandMark}Tollgate</a>
          <nav aria-label="Your account">
            <ul>
              ${placesFor(reader).map(
                ({ path, words }) =>
                  html`<li>
                    <a href="${path}" ${path === place ? html`aria-current="page"` : undefined}>${words}</a>
                  </li>`,
              )}
            </ul>
          </nav>
        </div>
      </header>
      <main id="main" tabindex="-1">
        <div class="page wide">
          <form class="signed-in" method="post">
            <p>
              Signed in with ${reader.signedInAs}, which sees
              ${seesAccount(reader.asker) ? "the whole account" : "its own calls only"}.
            </p>
            <input type="hidden" name="csrf" value="${reader.csrf}" />
            <button name="action" value="sign_out">Sign out</button>
          </form>
          ${reader.account.suspended ? suspended : undefined} ${body}
        </div>
      </main>`,
  });

/** It ends what sign-in began, so it is where that is. */
export const clientsPage = "/oauth/grants";

export const callsPath = `${accountPage}/calls`;

/** The list of calls, narrowed down to those of one client. */
export const callsOfClient = (grantId: string): string =>
  `${callsPath}?grant_id=${encodeURIComponent(grantId)}`;

const placesFor = ({ asker }: AccountReader) => [
  { path: accountPage, words: "Overview" },
  { path: callsPath, words: "Calls" },
  ...(seesAccount(asker) ? [{ path: `${accountPage}/keys`, words: "Keys" }] : []),
  { path: `${accountPage}/links`, words: "Links" },
  { path: clientsPage, words: "Your clients" },
];

const suspended = html`<p class="note" role="status">
  This account is suspended: it can be read, and buys nothing. Ask the operator.
</p>`;

const style = inlineStyle(["colours.css", "style.css", "account.css"]);

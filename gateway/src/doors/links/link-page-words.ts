// What the pages of the link flow say.

import type { LinkQuestion } from "../../links/confirm-link.ts";
import type { EndedLink } from "../../links/end-link.ts";
import type { LinkOutcome, WhyNotLinked } from "../../links/finish-link.ts";
import { html, type Html } from "../pages/html.ts";
import type { SmallPage } from "../pages/small-page.ts";

export interface LinkPage extends SmallPage {
  readonly status: number;
}

/** Before the platform asks: who wants to act for the person, and how. */
export const confirmPage = (
  { requester, scopes, formToken }: Extract<LinkQuestion, { kind: "asking" }>,
  { state, confirmUrl }: { readonly state: string; readonly confirmUrl: string },
): LinkPage => ({
  status: 200,
  title: "Link your account?",
  body: html`
    <p>
      The key <strong>${requester.keyName}</strong> of <strong>${requester.accountName}</strong> asks to act
      for your account, itself and through clients that its owner lets in:
    </p>
    ${listOf(scopes)}
    <p>Go on only if you asked for this yourself. If somebody sent you here, close this page.</p>
    <form method="post" action="${confirmUrl}">
      <input type="hidden" name="state" value="${state}" />
      <input type="hidden" name="token" value="${formToken}" />
      <div class="buttons"><button class="main">Go on to the platform</button></div>
    </form>
  `,
});

export const onwardPage = (platformUrl: string): LinkPage => ({
  status: 200,
  title: "On to the platform",
  body: html`<p><a href="${platformUrl}" rel="noreferrer">Go on to the platform</a></p>`,
});

export const linkedPage = (
  { requester, user, scopes, undoToken }: Extract<LinkOutcome, { kind: "linked" }>,
  undoUrl: string,
): LinkPage => ({
  status: 200,
  title: "Account linked",
  body: html`
    <p>
      ${user ? html`The account <strong>@${user.username}</strong>` : html`The account`} is now linked to the
      key <strong>${requester.keyName}</strong> of <strong>${requester.accountName}</strong>. Calls with this
      key can act for it, and so can clients that were let in with this key and may spend:
    </p>
    ${listOf(scopes)}
    <p>You can close this page. If you did not mean to do this, undo it now:</p>
    <form method="post" action="${undoUrl}">
      <input type="hidden" name="token" value="${undoToken}" />
      <div class="buttons"><button>Undo</button></div>
    </form>
  `,
});

const listOf = (scopes: readonly string[]): Html =>
  html`<ul>
    ${scopes.map((scope) => html`<li><code>${scope}</code></li>`)}
  </ul>`;

export function undonePage({ platform }: EndedLink): LinkPage {
  const atPlatform =
    platform === "revoked"
      ? "The platform has been told, too."
      : "The platform could not be told; you can remove the application in your settings there.";
  return {
    status: 200,
    title: "Link undone",
    body: html`<p>The account is not linked any more, and its tokens are forgotten. ${atPlatform}</p>`,
  };
}

const askForNew = "Ask for a new link and open it within 10 minutes.";
const startAgain = html`<p>Nothing was linked. ${askForNew}</p>`;

const sorry = (status: number, title: string, body: Html): LinkPage => ({ status, title, body });

export const notLinkedPages: Readonly<Record<WhyNotLinked, LinkPage>> = {
  no_state: sorry(400, "This link is not complete", startAgain),
  // Nobody knows any more what came of it, so this does not say that nothing was linked.
  unknown: sorry(400, "This link is not known", html`<p>${askForNew}</p>`),
  used: sorry(
    400,
    "This link was used already",
    html`<p>
      It works once. If you were told that the account is linked, it is, until it is ended: the owner of the
      key can see it and end it. If you were told anything else: ${askForNew}
    </p>`,
  ),
  expired: sorry(400, "This link has expired", startAgain),
  other_browser: sorry(
    400,
    "This link was opened elsewhere",
    html`<p>
      It has to be confirmed and finished in the same browser. If somebody sent you here, close this page:
      nothing was linked.
    </p>`,
  ),
  key_gone: sorry(400, "The key has ended", startAgain),
  denied: sorry(400, "You said no", html`<p>Nothing was linked. You can close this page.</p>`),
  suspicious: sorry(400, "This answer did not come from the platform", startAgain),
  refused: sorry(400, "The platform did not accept it", startAgain),
  failed: sorry(
    502,
    "The platform did not answer",
    html`<p>Nothing was linked. Ask for a new link in a while; the platform may be having trouble.</p>`,
  ),
  platform_gone: sorry(503, "The platform cannot be reached from here", startAgain),
};

export const nothingToUndoPage = sorry(
  400,
  "There is nothing to undo",
  html`<p>
    It was undone or replaced already, or more than an hour has passed. The owner of the key can still end it.
  </p>`,
);

export const brokenPage = (status: number): LinkPage =>
  sorry(status, "Something went wrong", html`<p>Please try again.</p>`);

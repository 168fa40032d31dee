import { accountPage } from "../../config/addresses.ts";
import type { LinkReport, RevokedLinkReport } from "../../operation/self-service.ts";
import { counted } from "../pages/counted.ts";
import { html, type Html } from "../pages/html.ts";
import type { AccountPage } from "../people/account-layout.ts";
import type { KeyName } from "./key-names.ts";
import { moment } from "./words.ts";

export const linksPath = `${accountPage}/links`;

/** Whoever links thousands of people has a program to look through them. */
export const linksShownMax = 100;

interface Listed {
  readonly links: readonly LinkReport[];
  readonly more: number;
  readonly nameOf: (keyId: string) => KeyName;
  /** Where these accounts were linked, in words. */
  readonly whose: string;
  readonly csrf: string;
  /** What the reader has just ended. */
  readonly ended: RevokedLinkReport | undefined;
}

export const linksPage = ({ ended, links, more, nameOf, whose, csrf }: Listed): AccountPage => ({
  title: "Linked accounts",
  place: linksPath,
  body: html`<h1>Linked accounts</h1>
    <p class="lead">
      Accounts at platforms for which calls ${whose} may act. Once you end a link, no call acts for it.
    </p>
    ${ended && html`<p class="note" role="status">${endWords(ended)}</p>`}
    ${
      links.length === 0
        ? html`<p>There are none.</p>`
        : html`<ul class="clients">
            ${links.map((link) => entryOf(link, nameOf(link.key_id), csrf))}
          </ul>`
    }
    ${
      more === 0
        ? undefined
        : html`<p class="beside">And ${counted(more, "older one")}: the API lists them all.</p>`
    }`,
});

function entryOf(link: LinkReport, keyName: KeyName, csrf: string): Html {
  const name = nameOfAccount(link);
  return html`<li>
    <h2>${name}</h2>
    <dl class="facts">
      <dt>Linked to</dt>
      <dd>${keyName.markup}</dd>
      <dt>May</dt>
      <dd>${link.scopes.map((scope, at) => html`${at === 0 ? "" : " "}<code>${scope}</code>`)}</dd>
      <dt>Since</dt>
      <dd>${moment(link.created_at)} UTC</dd>
      <dt>Works</dt>
      <dd>${link.status === "active" ? "yes" : "no, it has to be linked again"}</dd>
    </dl>
    <form method="post">
      <input type="hidden" name="csrf" value="${csrf}" />
      <input type="hidden" name="link" value="${link.link_id}" />
      <button class="plain" name="action" value="end" aria-label="End the link to ${name}">End</button>
    </form>
  </li>`;
}

const nameOfAccount = ({ user, link_id: id }: LinkReport): string => (user ? `@${user.username}` : id);

const atPlatform: Readonly<Record<NonNullable<RevokedLinkReport["platform"]>, string>> = {
  revoked: "The platform has been told, too.",
  not_offered: "The platform cannot be told; its owner can remove the application in the settings there.",
  not_reached: "The platform could not be told; its owner can remove the application in the settings there.",
};

function endWords(ended: RevokedLinkReport): string {
  const words = `The link to ${nameOfAccount(ended)} has ended.`;
  // Of one that had ended before, nothing is said of the platform.
  return ended.platform ? `${words} ${atPlatform[ended.platform]}` : words;
}

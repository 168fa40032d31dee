import type { Grant } from "../../../grants/grants.ts";
import { dayAndMinute } from "../../../platform/clock.ts";
import { usdFromMicros } from "../../../platform/money.ts";
import { grouped } from "../../pages/counted.ts";
import { html } from "../../pages/html.ts";
import { clientsPage, type AccountPage } from "../../people/account-layout.ts";

interface Entry {
  readonly grant: Grant;
  /** The key that the person signed in with, in words. */
  readonly keyName: string;
  /** The grant's own end, or that of its key where it is sooner. */
  readonly expiresAtMs: number;
}

interface Listed {
  readonly csrf: string;
  readonly entries: readonly Entry[];
  /** Where these clients come in, in words. */
  readonly whose: string;
}

export const grantsPage = ({ csrf, entries, whose }: Listed): AccountPage => ({
  title: "Your clients",
  place: clientsPage,
  body: html`<h1>Your clients</h1>
    <p class="lead">
      Programs that were let in ${whose}. One that you end can spend and read nothing from that moment on.
    </p>
    ${
      entries.length === 0
        ? html`<p>There are none.</p>`
        : html`<ul class="clients">
            ${entries.map((entry) => entryOf(entry, csrf))}
          </ul>`
    }`,
});

function entryOf({ grant, keyName, expiresAtMs }: Entry, csrf: string) {
  const { id, clientName, redirectHost, scopes, spendPolicy, createdAtMs } = grant;
  return html`<li>
    <h2>${clientName}</h2>
    <dl class="facts">
      <dt>Returns to</dt>
      <dd>${redirectHost}</dd>
      <dt>Let in with</dt>
      <dd>${keyName}</dd>
      <dt>May</dt>
      <dd>
        ${
          scopes.includes("tools:spend")
            ? `look around; spend ${grouped(usdFromMicros(spendPolicy.perCallMicros))} USD a call, ${grouped(usdFromMicros(spendPolicy.perDayMicros))} USD a day; act for the platform accounts linked to its key`
            : "look around"
        }
      </dd>
      <dt>Since</dt>
      <dd>${dayAndMinute(createdAtMs)}</dd>
      <dt>Until</dt>
      <dd>${dayAndMinute(expiresAtMs)}</dd>
    </dl>
    <form method="post">
      <input type="hidden" name="csrf" value="${csrf}" />
      <input type="hidden" name="grant" value="${id}" />
      <button class="plain" name="action" value="revoke" aria-label="End ${clientName}">End</button>
    </form>
  </li>`;
}

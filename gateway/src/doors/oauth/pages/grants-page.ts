import type { DayUse, Grant } from "../../../grants/grants.ts";
import { dayAndMinute } from "../../../platform/clock.ts";
import { usdFromMicros, type Micros } from "../../../platform/money.ts";
import { grouped } from "../../pages/counted.ts";
import { html, type Html } from "../../pages/html.ts";
import { callsOfClient, clientsPage, type AccountPage } from "../../people/account-layout.ts";

interface Entry {
  readonly grant: Grant;
  /** The key that the person signed in with, in words. */
  readonly keyName: string;
  /** The grant's own end, or that of its key where it is sooner. */
  readonly expiresAtMs: number;
  /** How it stands against its bound of one day. */
  readonly today: DayUse;
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

function entryOf({ grant, keyName, expiresAtMs, today }: Entry, csrf: string) {
  const { id, clientName, redirectHost, scopes, spendPolicy, createdAtMs } = grant;
  const spends = scopes.includes("tools:spend");
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
          spends
            ? `look around; spend ${usd(spendPolicy.perCallMicros)} USD a call, ${usd(spendPolicy.perDayMicros)} USD a day; act for the platform accounts linked to its key`
            : "look around"
        }
      </dd>
      ${spends ? spending(grant, today) : undefined}
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

/** What tells whether a client that spends all night should be ended, and what it spent on. */
const spending = ({ id, clientName, spendPolicy }: Grant, { spentMicros, heldMicros }: DayUse): Html =>
  html`<dt>Spent today (UTC)</dt>
    <dd>
      ${usd(spentMicros)} of ${usd(spendPolicy.perDayMicros)}
      USD${heldMicros === 0n ? undefined : `, and ${usd(heldMicros)} USD held by what still runs`}
    </dd>
    <dt>Made</dt>
    <dd><a href="${callsOfClient(id)}" aria-label="these calls: ${clientName}">these calls</a></dd>`;

const usd = (micros: Micros): string => grouped(usdFromMicros(micros));

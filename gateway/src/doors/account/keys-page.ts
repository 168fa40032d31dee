import { accountPage } from "../../config/addresses.ts";
import { windowWords } from "../../keys/budget-window.ts";
import type { BudgetUse, Key } from "../../keys/keys.ts";
import { liveSecrets } from "../../keys/live-secrets.ts";
import { seesAccount } from "../../keys/seen-by.ts";
import { dayAndMinute, isoTime } from "../../platform/clock.ts";
import { usdFromMicros } from "../../platform/money.ts";
import { dayOf } from "../../platform/utc-day.ts";
import type { UsageReport } from "../../usage/usage-report.ts";
import { grouped } from "../pages/counted.ts";
import { html, type Html } from "../pages/html.ts";
import type { AccountPage } from "../people/account-layout.ts";
import { accountTable } from "./table.ts";
import { microsAsUsd } from "./words.ts";

const path = `${accountPage}/keys`;

/** A key, what it spent, and how its budget stands. */
export interface KeySpending {
  readonly key: Key;
  readonly usage: UsageReport;
  readonly budgetUse: BudgetUse | undefined;
}

interface Listed {
  readonly keys: readonly KeySpending[];
  readonly days: number;
  /** The last key of this page, when there are more behind it. */
  readonly more: string | undefined;
  readonly isFirst: boolean;
  readonly nowMs: number;
}

export const keysPage = ({ keys, days, more, isFirst, nowMs }: Listed): AccountPage => ({
  title: "Keys",
  place: path,
  body: html`<h1>Keys</h1>
    <p class="lead">The keys of this account. They are issued, changed and revoked by the operator.</p>
    ${accountTable({
      caption: "Keys of the account, those that work first",
      columns: ["Key", "Sees", `Charged, ${days} days`, "Budget", "Last used (UTC)", "Works until"],
      figures: [2],
      rows: keys.map((one) => [
        nameOf(one.key, nowMs),
        seesAccount(one.key) ? "all keys" : "itself",
        microsAsUsd(one.usage.totals.charged_micros_usd),
        budgetOf(one),
        lastUsed(one, days),
        worksUntil(one.key, nowMs),
      ]),
    })}
    <p class="pages">
      ${more === undefined ? undefined : html`<a href="${path}?cursor=${more}">More keys</a>`}
      ${isFirst ? undefined : html`<a href="${path}">The first keys</a>`}
    </p>`,
});

/**
 * Owners tell their secrets apart by how these end. Only live ones are shown: one that works no more would mislead. The name
 * keeps its direction to itself, or the figures of an ending would be read as the end of an Arabic name.
 */
function nameOf(key: Key, nowMs: number): Html {
  const endings = liveSecrets(key, nowMs).map(({ last4 }) => html` <code class="whole">…${last4}</code>`);
  return html`<span class="name"><bdi>${key.name}</bdi>${endings}</span>
    ${onlyFor("models", key.allowedModels)} ${onlyFor("operations", key.allowedOperations)}`;
}

/** A row is no place for a long list; its own overview has all of it. */
const patternsShownMax = 3;

function onlyFor(what: string, patterns: readonly string[] | undefined): Html | undefined {
  if (patterns === undefined) return undefined;
  const shown = patterns.slice(0, patternsShownMax).join(", ");
  const more = patterns.length - patternsShownMax;
  return html`<span class="beside">only the ${what} ${shown}${more > 0 ? ` and ${more} more` : ""}</span>`;
}

const budgetOf = ({ key: { budget }, budgetUse }: KeySpending): Html =>
  budget && budgetUse
    ? html`${grouped(usdFromMicros(budgetUse.spentMicros))} of ${grouped(usdFromMicros(budget.limitMicros))}
      USD
      ${windowWords[budget.window]}${
        budgetUse.heldMicros === 0n
          ? undefined
          : html`<span class="beside">${grouped(usdFromMicros(budgetUse.heldMicros))} USD held</span>`
      }`
    : html`none`;

function lastUsed({ usage }: KeySpending, days: number): Html {
  const last = usage.buckets.findLast(({ requests }) => requests > 0);
  return last ? html`<time>${dayOf(last.start_time)}</time>` : html`not in ${days} days`;
}

function worksUntil({ revokedAtMs, expiresAtMs }: Key, nowMs: number): Html {
  if (revokedAtMs !== undefined) return html`revoked ${minute(revokedAtMs)}`;
  if (expiresAtMs === undefined) return html`no end`;
  return html`${expiresAtMs <= nowMs ? "expired " : ""}${minute(expiresAtMs)}`;
}

const minute = (ms: number): Html => html`<time datetime="${isoTime(ms)}">${dayAndMinute(ms)}</time>`;

export const notForThisKeyPage: AccountPage = {
  title: "Keys",
  body: html`<h1>Keys</h1>
    <p class="lead">Only a key that sees the whole account sees its other keys.</p>`,
};

import { accountPage } from "../../config/addresses.ts";
import { windowWords } from "../../keys/budget-window.ts";
import type { BalanceReport, SelfService, BudgetReport, LimitReport } from "../../operation/self-service.ts";
import { dayAndMinute } from "../../platform/clock.ts";
import type { UsageByGroup } from "../../usage/usage-by-group.ts";
import type { UsageFigures, UsageReport } from "../../usage/usage-report.ts";
import { counted, grouped } from "../pages/counted.ts";
import { html, type Html } from "../pages/html.ts";
import type { AccountPage } from "../people/account-layout.ts";
import { dayChart } from "./day-chart.ts";
import { accountTable } from "./table.ts";
import { callsReadMax, type CallsApart, type KeySpent } from "./take-usage-apart.ts";
import { microsAsUsd } from "./words.ts";

export type Spent = Pick<UsageFigures, "requests" | "failed_requests" | "charged_micros_usd">;

interface Overview {
  readonly balance: BalanceReport;
  readonly usage: UsageReport;
  readonly today: Spent;
  readonly week: Spent;
  readonly calls: CallsApart | undefined;
  readonly keys: { readonly shown: readonly KeySpent[]; readonly more: number } | undefined;
  readonly limits: Awaited<ReturnType<SelfService["limits"]>>;
  readonly siteUrl: string;
}

/** As many groups as are named; of the rest only the number is told. */
export const groupsShownMax = 5;

export const overviewPage = (overview: Overview): AccountPage => ({
  title: "Overview",
  place: accountPage,
  body: html`<h1>Overview</h1>
    ${moneyTiles(overview.balance)} ${overview.balance.balance_micros_usd > 0 ? undefined : spentUp}
    ${budget(overview.balance.budget)}
    <h2>Spent</h2>
    <dl class="tiles">
      ${spentTile("Today", overview.today)} ${spentTile("Last 7 days", overview.week)}
      ${spentTile(`Last ${overview.usage.buckets.length} days`, overview.usage.totals)}
    </dl>
    ${overview.usage.totals.requests === 0 ? noCalls(overview.siteUrl) : whereItWent(overview)}
    ${limitsNow(overview.limits)}`,
});

const moneyTiles = (balance: BalanceReport): Html =>
  html`<dl class="tiles">
    ${tile("Available", microsAsUsd(balance.available_micros_usd), "what calls can still hold")}
    ${tile("Held", microsAsUsd(balance.held_micros_usd), "what running calls may cost")}
    ${tile("Balance", microsAsUsd(balance.balance_micros_usd), "available and held together")}
  </dl>`;

const spentUp = html`<p class="note" role="status">
  The account has no money left: every call that can cost something is refused with 402, until the operator
  books a payment.
</p>`;

const tile = (name: string, figure: string, beside: string): Html =>
  html`<div>
    <dt>${name}</dt>
    <dd class="amount">${figure}</dd>
    <dd class="beside">${beside}</dd>
  </div>`;

const spentTile = (name: string, { charged_micros_usd: charged, requests, failed_requests: failed }: Spent) =>
  tile(name, microsAsUsd(charged), `${counted(requests, "call")}, ${grouped(failed)} failed`);

function budget(report: BudgetReport | null): Html {
  if (report === null) return html`<p class="beside">This key has no budget of its own.</p>`;
  const { limit_micros_usd: limit, spent_micros_usd: spent, held_micros_usd: held } = report;
  const used = spent + held;
  const drawn = (micros: number): string =>
    limit === 0 ? "0" : String((Math.min(micros, limit) / limit) * 100);
  const words = `${microsAsUsd(spent)} spent and ${microsAsUsd(held)} held of ${microsAsUsd(limit)} ${windowWords[report.window]}`;
  return html`<div class="budget">
    <h2>Budget of this key</h2>
    <p>
      ${words}; ${microsAsUsd(report.remaining_micros_usd)}
      left${report.resets_at === null ? "." : `. It begins anew at ${dayAndMinute(report.resets_at * 1000)}.`}
    </p>
    <svg class="meter" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label="${words}">
      <rect class="ground" x="0" y="0" width="100" height="4" />
      <rect class="held" x="0" y="0" width="${drawn(used)}" height="4" />
      <rect class="column" x="0" y="0" width="${drawn(spent)}" height="4" />
    </svg>
  </div>`;
}

const noCalls = (siteUrl: string): Html =>
  html`<p>
    No call has ended in these days. <a href="${siteUrl}/quickstart">Quick start</a> has one to paste; what it
    costs stands here a moment later.
  </p>`;

const whereItWent = ({ usage, calls, keys }: Overview): Html =>
  html`<h2>Charged by day</h2>
    ${dayChart(usage.buckets)}
    <p><a href="${accountPage}/calls">Every call and its receipt</a></p>
    <h2>Where it went</h2>
    ${calls ? callsApart(calls) : tooManyCalls}
    ${
      keys &&
      html`<h3>Keys, in the last ${usage.buckets.length} days</h3>
        ${accountTable({
          caption: "The dearest keys",
          columns: ["Key", "Calls", "Charged"],
          figures: [1, 2],
          rows: keys.shown.map((key) => [
            key.name.markup,
            grouped(key.requests),
            microsAsUsd(key.chargedMicros),
          ]),
        })}
        ${andMore(keys.more, "key")}
        <p><a href="${accountPage}/keys">All keys and their budgets</a></p>`
    }`;

function callsApart({ days, operations, models }: CallsApart): Html {
  const when = days === 1 ? "today" : `in the last ${days} days`;
  return html`<h3>Operations, ${when}</h3>
    ${groupTable("Operation", "The dearest operations", operations)}
    <h3>Models, ${when}</h3>
    ${groupTable("Model", "The dearest models", models)}`;
}

function groupTable(column: string, caption: string, { groups }: UsageByGroup): Html {
  const shown = groups.slice(0, groupsShownMax);
  return html`${accountTable({
    caption,
    columns: [column, "Calls", "Charged"],
    figures: [1, 2],
    rows: shown.map((group) => [
      group.name === undefined ? "without a model" : html`<code>${group.name}</code>`,
      grouped(group.requests),
      microsAsUsd(group.charged_micros_usd),
    ]),
  })}
  ${andMore(groups.length - shown.length, column.toLowerCase())}`;
}

const andMore = (more: number, one: string): Html | undefined =>
  more === 0 ? undefined : html`<p class="beside">And ${counted(more, one)} more.</p>`;

const tooManyCalls = html`<p>
  Too many calls ended today to look at each for this page (it looks at ${grouped(callsReadMax)} at most). The
  operator can take them apart with <code>tollgate account usage</code>.
</p>`;

const limitsNow = ({ limits, tier, ...allowed }: Overview["limits"]): Html =>
  html`<h2>Limits of this key, now</h2>
    <p>Tier <strong>${tier}</strong>.</p>
    ${onlyFor("models", allowed.allowed_models)}
    ${onlyFor("operations of vendors", allowed.allowed_operations)}
    ${accountTable({
      caption: "Limits, and what is left of them",
      columns: ["Limit", "At most", "Left now", "For"],
      figures: [1, 2],
      rows: limits.map((one) => [
        limitWords[one.name] ?? one.name.replaceAll("_", " "),
        grouped(one.limit),
        grouped(one.remaining),
        coverage(one),
      ]),
    })}`;

const onlyFor = (what: string, patterns: readonly string[] | null): Html | undefined =>
  patterns === null ? undefined : html`<p>It may call only these ${what}: ${codes(patterns)}.</p>`;

const codes = (words: readonly string[]): Html[] =>
  words.map((word, at) => html`${at === 0 ? "" : " "}<code>${word}</code>`);

const limitWords: Readonly<Record<string, string>> = {
  requests_per_minute: "Requests a minute",
  tokens_per_minute: "Tokens a minute",
  concurrency: "At the same time",
  concurrent_tasks: "Open tasks",
  upstream: "Requests a minute, of everybody",
};

/** Short lists are read, long ones counted. */
const namedMax = 2;

function coverage({ applies_to: covered }: LimitReport): Html {
  if (covered === "all") return html`every request`;
  if (covered.length > namedMax) return html`${counted(covered.length, "operation")}`;
  return html`${codes(covered)}`;
}

import type { Receipt } from "../../ledger/receipt.ts";
import { lineInWords } from "../../prices/line-in-words.ts";
import { grouped } from "../pages/counted.ts";
import { html, type Html } from "../pages/html.ts";
import { callsOfClient, callsPath, type AccountPage } from "../people/account-layout.ts";
import { outcomeOf } from "./calls-page.ts";
import type { KeyName } from "./key-names.ts";
import { accountTable } from "./table.ts";
import { moment, microsAsUsd } from "./words.ts";

/** Whose call it was: on paper nothing else says so. */
interface Payer {
  readonly accountName: string;
  readonly keyName: KeyName;
}

export const receiptPage = (receipt: Receipt, payer: Payer): AccountPage => ({
  title: "Receipt",
  body: html`${crumbs}
    <h1>Receipt</h1>
    <p class="lead"><code>${receipt.operation_id}</code> ${outcomeOf(receipt)}</p>
    <dl class="tiles">
      ${amount("Charged", receipt.charged_micros_usd, "what the account paid")}
      ${amount("Value", receipt.usage_value_micros_usd, "what was metered, at list price")}
      ${amount("Held", receipt.held_micros_usd, "the most it could cost")}
    </dl>
    <p>${receipt.explanation}</p>
    <h2>The call</h2>
    ${facts(receipt, payer)}
    <h2>Metered</h2>
    ${metered(receipt)}
    <h2>Attempts</h2>
    ${attempts(receipt)}
    <p class="beside">For programs: <code>GET /v1/requests/${receipt.request_id}</code></p>`,
});

const crumbs = html`<nav class="crumbs" aria-label="Breadcrumb">
  <ol>
    <li><a href="${callsPath}">Calls</a></li>
    <li>Receipt</li>
  </ol>
</nav>`;

const amount = (name: string, micros: number, beside: string): Html =>
  html`<div>
    <dt>${name}</dt>
    <dd class="amount">${microsAsUsd(micros)}</dd>
    <dd class="beside">${beside}</dd>
  </div>`;

const facts = (receipt: Receipt, { accountName, keyName }: Payer): Html =>
  html`<dl class="facts">
    ${fact("Request", html`<code>${receipt.request_id}</code>`)}
    ${fact("Operation", html`<code>${receipt.operation_id}</code>`)}
    ${receipt.model === null ? undefined : fact("Model", html`${receipt.model}`)}
    ${fact("Account", html`${accountName}`)}
    ${fact("Key", html`${keyName.markup} <code>${receipt.key_id}</code>`)}
    ${receipt.client ? fact("Client", clientOf(receipt.client)) : undefined}
    ${fact("Made", html`${moment(receipt.created_at, true)} UTC`)}
    ${fact("Ended", receipt.settled_at === null ? html`not yet` : html`${moment(receipt.settled_at, true)} UTC`)}
    ${fact("Money", html`${receipt.status}`)} ${fact("Outcome", html`${receipt.outcome ?? "not known yet"}`)}
    ${receipt.http_status === null ? undefined : fact("HTTP status", html`${receipt.http_status}`)}
  </dl>`;

/** What a client is called is a stranger's choice, and keeps its direction to itself. */
const clientOf = ({ grant_id: id, name }: NonNullable<Receipt["client"]>): Html =>
  html`<a href="${callsOfClient(id)}"><bdi>${name}</bdi></a> <code>${id}</code>`;

const fact = (name: string, value: Html): Html =>
  html`<dt>${name}</dt>
    <dd>${value}</dd>`;

const sources: Readonly<Record<string, string>> = {
  provider: "reported by the provider",
  estimated: "estimated where the provider reported none",
  none: "none",
};

function metered({ usage, prices, ...receipt }: Receipt): Html {
  const lineOf = new Map(prices.map((line) => [line.unit, lineInWords(line)]));
  const units = Object.entries(usage);
  return html`${
      units.length === 0
        ? html`<p>Nothing was metered.</p>`
        : accountTable({
            caption: "What was metered, and its prices",
            columns: ["Unit", "Quantity", "List price", "Value"],
            figures: [1, 2, 3],
            rows: units.map(([unit, quantity]) => {
              const { price, value } = lineOf.get(unit) ?? { price: "none", value: "none" };
              return [html`<code>${unit}</code>`, grouped(quantity), price, grouped(value)];
            }),
          })
    }
    <dl class="facts">
      ${fact("Figures", html`${sources[receipt.usage_source] ?? receipt.usage_source}`)}
      ${fact("Plan multiplier", html`${receipt.plan_multiplier}`)}
      ${fact("Price version", html`<code>${receipt.price_version}</code>`)}
    </dl>`;
}

const attempts = ({ attempts: made }: Receipt): Html =>
  made.length === 0
    ? html`<p>No upstream was asked, or none has answered yet.</p>`
    : accountTable({
        caption: "Attempts, in their order",
        columns: ["Upstream", "Outcome", "HTTP status", "From (UTC)", "To (UTC)"],
        figures: [2],
        rows: made.map((one) => [
          one.upstream,
          one.outcome.replaceAll("_", " "),
          one.status === null ? "none" : String(one.status),
          moment(one.started_at, true),
          moment(one.ended_at, true),
        ]),
      });

export const noReceiptPage: AccountPage = {
  title: "No such call",
  body: html`${crumbs}
    <h1>No such call</h1>
    <p class="lead">
      There is no call by this id that this key may see. One that was refused before anything was held leaves
      no receipt.
    </p>`,
};

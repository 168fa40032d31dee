import type { CallClient } from "../../ledger/call-record.ts";
import type { Receipt } from "../../ledger/receipt.ts";
import { breakable } from "../pages/breakable.ts";
import { html, type Html } from "../pages/html.ts";
import type { Onward } from "../people/message-page.ts";
import { callsOfClient, callsPath as path, type AccountPage } from "../people/account-layout.ts";
import type { KeyName } from "./key-names.ts";
import type { CallsShown } from "./read-calls.ts";
import { accountTable } from "./table.ts";
import { moment, microsAsUsd } from "./words.ts";

export const callsFilePath = `${path}.csv`;
export const backToCalls: Onward = { path, words: "Back to the calls" };

/** The days that were written into the form for a file, and why they give no file. */
export interface FileRefused {
  readonly from: string;
  readonly to: string;
  readonly problem: string;
}

interface Listed extends CallsShown {
  /** Whose each call is, for whoever sees the calls of several keys. */
  readonly nameOf: ((keyId: string) => KeyName) | undefined;
  /** Whose calls alone are listed. */
  readonly client: CallClient | undefined;
  readonly until: string | undefined;
  readonly today: string;
  readonly isNewest: boolean;
  readonly refused: FileRefused | undefined;
}

export const callsPage = (listed: Listed): AccountPage => ({
  title: "Calls",
  place: path,
  body: html`<h1>Calls</h1>
    ${listed.client && ofClient(listed.client)}
    <form class="search" method="get" action="${path}">
      ${listed.client && html`<input type="hidden" name="grant_id" value="${listed.client.grantId}" />`}
      <div>
        <label for="until">Made on this day or before (UTC)</label>
        <input type="date" id="until" name="until" value="${listed.until}" />
      </div>
      <button>Show</button>
    </form>
    ${listed.calls.length === 0 ? none(listed) : table(listed)} ${further(listed)}
    ${listed.client ? undefined : download(listed)}`,
});

const ofClient = ({ name }: CallClient): Html =>
  html`<p class="lead">Those that <bdi>${name}</bdi> made. <a href="${path}">All calls</a></p>`;

/** The running month is what is asked for most; whoever wants the last one changes two dates. */
function download({ today, refused }: Listed): Html {
  const { from, to } = refused ?? { from: `${today.slice(0, 8)}01`, to: today };
  const wrong = refused && html`aria-invalid="true" aria-describedby="problem"`;
  return html`<h2>As a file</h2>
    <p>
      The calls that ended in these days, with what each used and cost, for a spreadsheet. Their charges sum
      to those of the usage report.
    </p>
    ${refused && html`<p class="note" role="alert" id="problem">${refused.problem}</p>`}
    <form class="search" method="get" action="${callsFilePath}">
      <div>
        <label for="from">From (UTC)</label>
        <input
          type="date"
          id="from"
          name="from"
          value="${from}"
          required
          ${wrong}
          ${refused && html`autofocus`}
        />
      </div>
      <div>
        <label for="to">To, included</label>
        <input type="date" id="to" name="to" value="${to}" required ${wrong} />
      </div>
      <button>Download CSV</button>
    </form>`;
}

function table({ calls, nameOf }: Listed): Html {
  const byClients = calls.some(({ client }) => client !== null);
  const whose = nameOf ? ["Key"] : byClients ? ["Client"] : [];
  return accountTable({
    caption: "Calls, the newest first",
    columns: ["Made (UTC)", "Operation", ...whose, "Outcome", "Charged"],
    figures: [3 + whose.length],
    rows: calls.map((call) => [
      html`<a href="${path}/${call.request_id}">${moment(call.created_at)}</a>`,
      html`<span class="what"
        ><code>${breakable(call.operation_id)}</code>${
          call.model === null ? undefined : html`<span class="beside">${call.model}</span>`
        }</span
      >`,
      ...whose.map(() => whoseOf(call, nameOf)),
      outcomeOf(call),
      chargeOf(call),
    ]),
  });
}

/** Whoever sees one key alone need not be told which; by which client it was spent is said to everybody. */
function whoseOf({ key_id: keyId, client }: Receipt, nameOf: Listed["nameOf"]): Html {
  const by = client ? html`<bdi>${client.name}</bdi>` : undefined;
  if (!nameOf) return html`<span class="name">${by ?? "the key itself"}</span>`;
  return html`<span class="name"
    >${nameOf(keyId).markup}${by && html`<span class="beside">by ${by}</span>`}</span
  >`;
}

export function outcomeOf({ status, outcome, http_status: http }: Receipt): string {
  if (status === "held" || status === "dispatched") return "running";
  return `${outcome ?? "unknown"}${outcome === "succeeded" || http === null ? "" : ` (${http})`}`;
}

const chargeOf = (call: Receipt): Html =>
  call.settled_at === null
    ? html`nothing yet<span class="beside">${microsAsUsd(call.held_micros_usd)} held</span>`
    : html`${microsAsUsd(call.charged_micros_usd)}`;

const none = (listed: Listed): Html => html`<p>${whyNone(listed)}</p>`;

function whyNone({ complete, isNewest, until, client }: Listed): string {
  if (!complete) return `None of the calls looked at came from this ${client ? "client" : "key"}.`;
  if (!isNewest || until !== undefined) return "There are none before that.";
  return client ? "It has made none." : "There are no calls yet.";
}

function further({ older, complete, isNewest, until, client }: Listed): Html {
  const newest = client ? callsOfClient(client.grantId) : path;
  return html`${
      complete
        ? undefined
        : html`<p class="note">
            The account has many calls, and only some of them were looked at. Those of this
            ${client ? "client" : "key"} may go on further back.
          </p>`
    }
    <p class="pages">
      ${older === undefined ? undefined : html`<a href="${olderOf(older, client)}">${complete ? "Older calls" : "Look further back"}</a>`}
      ${isNewest && until === undefined ? undefined : html`<a href="${newest}">The newest calls</a>`}
    </p>`;
}

const olderOf = (cursor: string, client: CallClient | undefined): string =>
  client ? `${callsOfClient(client.grantId)}&cursor=${cursor}` : `${path}?cursor=${cursor}`;

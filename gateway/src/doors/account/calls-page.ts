import { accountPage } from "../../config/addresses.ts";
import type { Receipt } from "../../ledger/receipt.ts";
import { breakable } from "../pages/breakable.ts";
import { html, type Html } from "../pages/html.ts";
import type { Onward } from "../people/message-page.ts";
import type { AccountPage } from "../people/account-layout.ts";
import type { KeyName } from "./key-names.ts";
import type { CallsShown } from "./read-calls.ts";
import { accountTable } from "./table.ts";
import { moment, microsAsUsd } from "./words.ts";

const path = `${accountPage}/calls`;
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
  readonly until: string | undefined;
  readonly today: string;
  readonly isNewest: boolean;
  readonly refused: FileRefused | undefined;
}

export const callsPage = (listed: Listed): AccountPage => ({
  title: "Calls",
  place: path,
  body: html`<h1>Calls</h1>
    <form class="search" method="get" action="${path}">
      <div>
        <label for="until">Made on this day or before (UTC)</label>
        <input type="date" id="until" name="until" value="${listed.until}" />
      </div>
      <button>Show</button>
    </form>
    ${listed.calls.length === 0 ? none(listed) : table(listed)} ${further(listed)} ${download(listed)}`,
});

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

const table = ({ calls, nameOf }: Listed): Html =>
  accountTable({
    caption: "Calls, the newest first",
    columns: ["Made (UTC)", "Operation", ...(nameOf ? ["Key"] : []), "Outcome", "Charged"],
    figures: [nameOf ? 4 : 3],
    rows: calls.map((call) => [
      html`<a href="${path}/${call.request_id}">${moment(call.created_at)}</a>`,
      html`<span class="what"
        ><code>${breakable(call.operation_id)}</code>${
          call.model === null ? undefined : html`<span class="beside">${call.model}</span>`
        }</span
      >`,
      ...(nameOf ? [html`<span class="name">${nameOf(call.key_id).markup}</span>`] : []),
      outcomeOf(call),
      chargeOf(call),
    ]),
  });

export function outcomeOf({ status, outcome, http_status: http }: Receipt): string {
  if (status === "held" || status === "dispatched") return "running";
  return `${outcome ?? "unknown"}${outcome === "succeeded" || http === null ? "" : ` (${http})`}`;
}

const chargeOf = (call: Receipt): Html =>
  call.settled_at === null
    ? html`nothing yet<span class="beside">${microsAsUsd(call.held_micros_usd)} held</span>`
    : html`${microsAsUsd(call.charged_micros_usd)}`;

const none = ({ complete, isNewest, until }: Listed): Html =>
  html`<p>
    ${
      complete
        ? isNewest && until === undefined
          ? "There are no calls yet."
          : "There are none before that."
        : "None of the calls looked at came from this key."
    }
  </p>`;

const further = ({ older, complete, isNewest, until }: Listed): Html =>
  html`${
      complete
        ? undefined
        : html`<p class="note">
            The account has many calls, and only some of them were looked at. Those of this key may go on
            further back.
          </p>`
    }
    <p class="pages">
      ${older === undefined ? undefined : html`<a href="${path}?cursor=${older}">${complete ? "Older calls" : "Look further back"}</a>`}
      ${isNewest && until === undefined ? undefined : html`<a href="${path}">The newest calls</a>`}
    </p>`;

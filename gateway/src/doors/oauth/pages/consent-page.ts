import { html } from "../../pages/html.ts";
import type { SmallPage } from "../../pages/small-page.ts";

export interface Consent {
  readonly csrf: string;
  readonly clientName: string;
  /** The host of a client id that is an address; a client that registered itself has none. */
  readonly clientHost: string | undefined;
  readonly redirectHost: string;
  /** The code goes to a program on the person's own machine, and any program there could ask for it. */
  readonly toThisMachine: boolean;
  readonly signedInAs: string;
  readonly asksToSpend: boolean;
  /** How many days the client may be let in for. */
  readonly daysOffered: readonly string[];
  readonly fields: ConsentFields;
  readonly problem?: ConsentProblem | undefined;
}

/** What cannot be used, and the field in which it was written. */
export interface ConsentProblem {
  readonly field: "per_call_usd" | "per_day_usd" | "days";
  readonly sentence: string;
}

/** As written in the form. */
export interface ConsentFields {
  readonly spend: boolean;
  readonly perCallUsd: string;
  readonly perDayUsd: string;
  readonly days: string;
}

export const consentPage = (consent: Consent): SmallPage => ({
  title: `Let ${consent.clientName} in?`,
  body: html`<dl>
      <dt>Known as</dt>
      <dd>${consent.clientHost ?? "a client that registered itself, under a name of its own choice"}</dd>
      <dt>Returns to</dt>
      <dd><strong>${consent.redirectHost}</strong></dd>
      <dt>Signed in as</dt>
      <dd>${consent.signedInAs}</dd>
    </dl>
    ${consent.toThisMachine ? localWarning : undefined}
    <form method="post" autocomplete="off">
      <input type="hidden" name="csrf" value="${consent.csrf}" />
      <fieldset>
        <legend>It may</legend>
        <p>
          Look around: search operations and read their details and, through the HTTP API, the usage, balance
          and receipts of the account.
        </p>
        ${consent.asksToSpend ? spending(consent) : undefined}
      </fieldset>
      <label for="days">Until</label>
      ${problemAt(consent, "days")}
      <select id="days" name="days" ${wrongIf(consent, "days")}>
        ${consent.daysOffered.map(
          (days) =>
            html`<option value="${days}" ${days === consent.fields.days ? html`selected` : undefined}>
              ${days === "1" ? "1 day" : `${days} days`} from now
            </option>`,
        )}
      </select>
      <p class="hint">You can end it earlier under <a href="/oauth/grants">your clients</a>.</p>
      <div class="buttons">
        <button class="main" name="action" value="allow">Allow</button>
        <button name="action" value="deny">Deny</button>
        <button name="action" value="sign_out">Use another key</button>
      </div>
    </form>`,
});

const localWarning = html`<p class="warning">
  This client runs on your own machine. Allow it only if you have just started it yourself: any program there
  could ask like this.
</p>`;

/** The browser scrolls to the field that is wrong, so what is wrong with it has to stand there, and is heard there. */
const wrongIf = ({ problem }: Consent, field: ConsentProblem["field"]) =>
  problem?.field === field ? html`aria-invalid="true" aria-describedby="problem" autofocus` : undefined;

const problemAt = ({ problem }: Consent, field: ConsentProblem["field"]) =>
  problem?.field === field
    ? html`<p class="warning" role="alert" id="problem">${problem.sentence}</p>`
    : undefined;

function spending(consent: Consent) {
  const { spend, perCallUsd, perDayUsd } = consent.fields;
  return html`<p class="choice">
      <input type="checkbox" id="spend" name="spend" value="yes" ${spend ? html`checked` : undefined} />
      <label for="spend">Spend the account's money, within these bounds:</label>
    </p>
    <label for="per_call_usd"
      >Up to this for one call, without asking you <span class="hint">(USD)</span></label
    >
    ${problemAt(consent, "per_call_usd")}
    <input
      type="text"
      inputmode="decimal"
      id="per_call_usd"
      name="per_call_usd"
      value="${perCallUsd}"
      maxlength="20"
      ${wrongIf(consent, "per_call_usd")}
    />
    <label for="per_day_usd"
      >Up to this in one day, whatever you approve <span class="hint">(USD, days are UTC)</span></label
    >
    ${problemAt(consent, "per_day_usd")}
    <input
      type="text"
      inputmode="decimal"
      id="per_day_usd"
      name="per_day_usd"
      value="${perDayUsd}"
      maxlength="20"
      ${wrongIf(consent, "per_day_usd")}
    />
    <p class="hint">
      Whoever may spend also acts for the account: it reads its usage, balance and receipts, cancels its
      tasks, and acts for the platform accounts that are linked to your key, now or later. It can follow
      others in their name, link more of them, and end links.
    </p>`;
}

import type { Approval, ApprovalDecision, ApprovalItem } from "../../../approvals/approvals.ts";
import { dayAndMinute } from "../../../platform/clock.ts";
import { usdFromMicros } from "../../../platform/money.ts";
import { grouped } from "../../pages/counted.ts";
import { html } from "../../pages/html.ts";
import type { SmallPage } from "../../pages/small-page.ts";

interface ShownApproval {
  readonly csrf: string;
  readonly approval: Approval;
  /** What the person has just decided; it does not stand where another decision came first. */
  readonly decision: ApprovalDecision | undefined;
  /** In words, with the name of the key. */
  readonly asker: string;
  readonly signedInAs: string;
  readonly nowMs: number;
}

export function approvalPage(shown: ShownApproval): SmallPage {
  const { csrf, approval, asker, signedInAs, nowMs } = shown;
  const state = stateOf(approval, nowMs);
  const exposureMicros = approval.items.reduce((sum, { capMicros }) => sum + capMicros, 0n);
  const exposure = `${grouped(usdFromMicros(exposureMicros))} USD`;
  return {
    title: state === "open" ? `Approve spending up to ${exposure}?` : titles[state],
    body: html`${state === "open" ? undefined : html`<p role="status">${endOf(state, shown)}</p>`}
      <dl>
        <dt>Asked by</dt>
        <dd>${asker}</dd>
        <dt>At most</dt>
        <dd><strong>${exposure}</strong></dd>
        <dt>Signed in as</dt>
        <dd>${signedInAs}</dd>
        <dt>Open until</dt>
        <dd>${dayAndMinute(approval.expiresAtMs)}</dd>
      </dl>
      <ul class="entries">
        ${approval.items.map(entryOf)}
      </ul>
      ${
        state === "open"
          ? html`<form method="post" autocomplete="off">
              <input type="hidden" name="csrf" value="${csrf}" />
              <p class="hint">An approval allows each of these calls once, with exactly these arguments.</p>
              <div class="buttons">
                <button class="main" name="action" value="approve">Approve</button>
                <button name="action" value="deny">Deny</button>
                <button name="action" value="sign_out">Use another key</button>
              </div>
            </form>`
          : undefined
      }`,
  };
}

const entryOf = (item: Approval["items"][number]) =>
  html`<li>
    <p><strong>${item.operationId}</strong><br /><code>${item.summary}</code></p>
    ${item.arguments === item.summary ? undefined : atLength(item)}
    ${item.argumentsCut ? cutWarning : undefined}
    <dl>
      <dt>Expected</dt>
      <dd>${grouped(usdFromMicros(item.expectedMicros))} USD</dd>
      <dt>At most</dt>
      <dd>${grouped(usdFromMicros(item.capMicros))} USD</dd>
    </dl>
  </li>`;

const atLength = (item: ApprovalItem) =>
  html`<details>
    <summary>These arguments are shortened. Show them at length</summary>
    <p><code>${item.arguments}</code></p>
  </details>`;

const cutWarning = html`<p class="warning">
  The arguments are too long to be shown whole; what you approve is longer than what you see.
</p>`;

const stateOf = ({ decision, expiresAtMs }: Approval, nowMs: number) =>
  decision ?? (expiresAtMs <= nowMs ? "expired" : "open");

/** Two windows, or two persons, may decide: whoever came too late is told that it was not their word. */
function endOf(state: keyof typeof sentences, { decision }: ShownApproval): string {
  const stands = decision === undefined || decision === state || state === "expired";
  return stands ? sentences[state] : `${tooLate[state]} ${sentences[state]}`;
}

const titles = { approved: "Approved", denied: "Denied", expired: "Too late" };
const sentences = {
  approved: "You can close this page; the agent may go on.",
  denied: "Nothing will be spent. You can close this page.",
  expired: "The question has expired. The agent can ask again.",
};
const tooLate = {
  approved: "It was approved before you denied it, and that stands.",
  denied: "It was denied before you approved it, and that stands.",
};

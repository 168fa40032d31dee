import type { Approval } from "../../../approvals/approvals.ts";
import { usdFromMicros } from "../../../platform/money.ts";
import { html } from "./html.ts";
import { page, type Page } from "./page.ts";

interface Asked {
  readonly csrf: string;
  readonly approval: Approval;
  readonly signedInAs: string;
  readonly nowMs: number;
}

export const approvalPage = ({ csrf, approval, signedInAs, nowMs }: Asked): Page => {
  const state = stateOf(approval, nowMs);
  const exposureMicros = approval.items.reduce((sum, { capMicros }) => sum + capMicros, 0n);
  return page(
    state === "open" ? "Approve this spending?" : titles[state],
    html`<dl>
        <dt>Asked by</dt>
        <dd>${approval.asker}</dd>
        <dt>At most</dt>
        <dd><strong>${usdFromMicros(exposureMicros)} USD</strong></dd>
        <dt>Signed in as</dt>
        <dd>${signedInAs}</dd>
        <dt>Open until</dt>
        <dd>${new Date(approval.expiresAtMs).toISOString()}</dd>
      </dl>
      <table>
        <thead>
          <tr>
            <th scope="col">Operation</th>
            <th scope="col">Rate</th>
            <th scope="col">At most</th>
          </tr>
        </thead>
        <tbody>
          ${approval.items.map(
            (item) =>
              html`<tr>
                <td>${item.operationId}<br /><code>${item.summary}</code></td>
                <td>${item.rate}</td>
                <td>${usdFromMicros(item.capMicros)} USD</td>
              </tr>`,
          )}
        </tbody>
      </table>
      ${
        state === "open"
          ? html`<form method="post" autocomplete="off">
              <input type="hidden" name="csrf" value="${csrf}" />
              <p class="hint">An approval allows each of these calls once, exactly as shown.</p>
              <div class="buttons">
                <button class="main" name="action" value="approve">Approve</button>
                <button name="action" value="deny">Deny</button>
                <button name="action" value="sign_out">Use another key</button>
              </div>
            </form>`
          : html`<p role="status">${sentences[state]}</p>`
      }`,
  );
};

const stateOf = ({ decision, expiresAtMs }: Approval, nowMs: number) =>
  decision ?? (expiresAtMs <= nowMs ? "expired" : "open");

const titles = { approved: "Approved", denied: "Denied", expired: "Too late" };
const sentences = {
  approved: "You can close this page; the agent may go on.",
  denied: "Nothing will be spent. You can close this page.",
  expired: "The question has expired. The agent can ask again.",
};

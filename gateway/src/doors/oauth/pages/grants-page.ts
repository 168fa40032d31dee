import type { Grant } from "../../../grants/grants.ts";
import { usdFromMicros } from "../../../platform/money.ts";
import { html } from "./html.ts";
import { page, type Page } from "./page.ts";

interface Listed {
  readonly csrf: string;
  readonly grants: readonly Grant[];
  readonly signedInAs: string;
}

export const grantsPage = ({ csrf, grants, signedInAs }: Listed): Page =>
  page(
    "Your clients",
    html`<p>Clients that were let in to the account of ${signedInAs}.</p>
      ${
        grants.length === 0
          ? html`<p>There are none.</p>`
          : html`<table>
              <thead>
                <tr>
                  <th scope="col">Client</th>
                  <th scope="col">May</th>
                  <th scope="col">Until</th>
                  <th scope="col"><span class="hint">End it</span></th>
                </tr>
              </thead>
              <tbody>
                ${grants.map((grant) => rowOf(grant, csrf))}
              </tbody>
            </table>`
      }
      <form method="post">
        <input type="hidden" name="csrf" value="${csrf}" />
        <div class="buttons"><button name="action" value="sign_out">Sign out</button></div>
      </form>`,
  );

const rowOf = (grant: Grant, csrf: string) =>
  html`<tr>
    <td>${grant.clientName}<br /><span class="hint">returns to ${grant.redirectHost}</span></td>
    <td>
      ${
        grant.scopes.includes("tools:spend")
          ? `look around; spend ${usdFromMicros(grant.policy.perCallMicros)} USD a call, ${usdFromMicros(grant.policy.perDayMicros)} a day`
          : "look around"
      }
    </td>
    <td>${new Date(grant.policy.expiresAtMs).toISOString().slice(0, 10)}</td>
    <td>
      <form method="post">
        <input type="hidden" name="csrf" value="${csrf}" />
        <input type="hidden" name="grant" value="${grant.id}" />
        <button name="action" value="revoke" aria-label="End ${grant.clientName}">End</button>
      </form>
    </td>
  </tr>`;

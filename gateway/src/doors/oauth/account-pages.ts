// Pages for a person who is signed in: approving what an agent asks for, and ending what was granted.

import { approvalPages } from "../../approvals/approval-page.ts";
import type { ApprovalDecision } from "../../approvals/approvals.ts";
import type { Addresses } from "../../config/addresses.ts";
import { expiryWithKeyMs, lifeWithKey } from "../../grants/grants.ts";
import { budgetWindowStartMs } from "../../keys/budget-window.ts";
import type { Key } from "../../keys/keys.ts";
import { sees, seesAccount } from "../../keys/seen-by.ts";
import type { Store } from "../../store/store.ts";
import type { Clock } from "../../platform/clock.ts";
import { pageResponse } from "../pages/small-page.ts";
import type { PageRequest, FormParts } from "../people/form.ts";
import { approvalPage } from "./pages/approval-page.ts";
import { grantsPage } from "./pages/grants-page.ts";
import { accountResponse, clientsPage } from "../people/account-layout.ts";
import { errorPage } from "../people/message-page.ts";
import { notUnderstood, withPerson } from "../people/with-person.ts";

export interface PageParts extends FormParts {
  readonly addresses: Addresses;
  readonly store: Store;
  readonly clock: Clock;
}

export const answerApproval = (asked: PageRequest, parts: PageParts): Promise<Response> =>
  withPerson(asked, parts, {
    purpose: "An agent asks for your approval. First show that the account is yours.",
    show: async ({ key, action, csrf, signedInAs }) => {
      const { approvals, keys } = parts.store;
      const id = asked.path.slice(approvalPages.length);
      const { accountId } = key;
      // Another asker's question looks as if it did not exist.
      const approval = await approvals.find(id, accountId);
      if (!approval || !decidesOver(key, approval)) return unknownApproval();
      const decision = action === undefined ? undefined : decisions.get(action);
      if (action !== undefined && decision === undefined) return notUnderstood();
      const nowMs = parts.clock.wallMs();
      const stands = decision && (await approvals.decide({ id, accountId, decision, nowMs }));
      const askedWith = await keys.find(approval.keyId);
      const asker = `${approval.asker}, with ${askedWith ? parts.people.describe(askedWith) : "a key"}`;
      const shown = { csrf, approval: stands ?? approval, decision, asker, signedInAs, nowMs };
      return pageResponse(approvalPage(shown));
    },
  });

const decisions: ReadonlyMap<string, ApprovalDecision> = new Map([
  ["approve", "approved"],
  ["deny", "denied"],
]);

export const answerGrants = (asked: PageRequest, parts: PageParts): Promise<Response> =>
  withPerson(asked, parts, {
    purpose: "See which clients were let in, and end them.",
    show: async ({ key, action, fields, csrf, signedInAs }) => {
      if (action !== undefined && action !== "revoke") return notUnderstood();
      const { accounts, grants, keys } = parts.store;
      const nowMs = parts.clock.wallMs();
      const ending = fields.get("grant");
      const grant = ending === null ? undefined : await grants.find(ending);
      if (grant && decidesOver(key, grant)) await grants.revoke(grant.id, nowMs);
      const keysById = new Map((await keys.list(key.accountId)).map((one) => [one.id, one]));
      const living = (await grants.list(key.accountId)).filter(
        (one) => decidesOver(key, one) && lifeWithKey(one, keysById.get(one.keyId), nowMs) === "active",
      );
      const whose = seesAccount(key) ? "to this account" : "with this key";
      const todayMs = budgetWindowStartMs("day", nowMs);
      const entries = await Promise.all(
        living.map(async (one) => {
          const letInWith = keysById.get(one.keyId);
          const keyName = letInWith ? parts.people.describe(letInWith) : "a key";
          const today = await grants.dayUse(one.id, todayMs);
          return { grant: one, keyName, expiresAtMs: expiryWithKeyMs(one, letInWith), today };
        }),
      );
      const account = await accounts.find(key.accountId);
      if (!account) throw new Error("A key names an account that is not there.");
      const { siteUrl } = parts.addresses;
      const reader = { asker: key, account, csrf, signedInAs, siteUrl };
      return accountResponse(grantsPage({ csrf, entries, whose }), reader);
    },
  });

/** Whoever signed in decides over what their key sees. */
const decidesOver = (key: Key, thing: { readonly accountId: string; readonly keyId: string }): boolean =>
  sees({ ...key, keyId: key.id }, thing);

const unknownApproval = (): Response =>
  pageResponse(
    errorPage(
      "Nothing to approve",
      "There is no such question for the key you signed in with. If another key asked, sign out under Your clients, " +
        "and sign in with that key or with one that sees the whole account.",
      { path: clientsPage, words: "Your clients" },
    ),
    404,
  );

// Pages for a person who is signed in: approving what an agent asks for, and ending what was granted.

import { approvalPages } from "../../approvals/approval-page.ts";
import type { Store } from "../../ledger/store.ts";
import type { Clock } from "../../platform/clock.ts";
import { askForKey, readForm, signIn, signOut, type Asked, type FormParts } from "./form.ts";
import { approvalPage } from "./pages/approval-page.ts";
import { grantsPage } from "./pages/grants-page.ts";
import { errorPage } from "./pages/message-page.ts";
import { pageResponse } from "./pages/page.ts";

export interface PageParts extends FormParts {
  readonly store: Store;
  readonly clock: Clock;
}

export async function answerApproval(asked: Asked, parts: PageParts): Promise<Response> {
  const { people, store, clock } = parts;
  const about = { purpose: "An agent asks for your approval. First show that the account is yours." };
  const person = await people.read(asked.request);
  const posted = asked.request.method === "POST";
  const form = posted ? await readForm(asked, person, parts) : undefined;
  if (form?.ok === false) return form.refusal;
  const action = form?.fields.get("action");
  if (action === "sign_in") return signIn(asked, person, form?.fields.get("key") ?? "", about, parts);
  if (action === "sign_out") return signOut(asked, parts);
  if (!person.key) return askForKey(asked, person, about, parts);

  const { accountId } = person.key;
  const id = asked.path.slice(approvalPages.length);
  // Somebody else's question looks like none: what other accounts ask is nobody's business.
  const approval = await store.approvals.find(id, accountId);
  if (!approval) return unknownApproval();
  const decisions: Record<string, "approved" | "denied"> = { approve: "approved", deny: "denied" };
  const decision = decisions[action ?? ""];
  if (posted && decision === undefined) return notUnderstood();
  const nowMs = clock.wallMs();
  const stands = decision && (await store.approvals.decide({ id, accountId, decision, nowMs }));
  return pageResponse(
    approvalPage({
      csrf: people.csrf(person, asked.path),
      approval: stands ?? approval,
      signedInAs: people.describe(person.key),
      nowMs,
    }),
  );
}

export async function answerGrants(asked: Asked, parts: PageParts): Promise<Response> {
  const { people, store, clock } = parts;
  const about = { purpose: "See which clients were let in to your account, and end them." };
  const person = await people.read(asked.request);
  const posted = asked.request.method === "POST";
  const form = posted ? await readForm(asked, person, parts) : undefined;
  if (form?.ok === false) return form.refusal;
  const action = form?.fields.get("action");
  if (action === "sign_in") return signIn(asked, person, form?.fields.get("key") ?? "", about, parts);
  if (action === "sign_out") return signOut(asked, parts);
  if (!person.key) return askForKey(asked, person, about, parts);
  if (posted && action !== "revoke") return notUnderstood();

  const { accountId } = person.key;
  const ending = form?.fields.get("grant") ?? undefined;
  const grant = ending === undefined ? undefined : await store.grants.find(ending);
  if (grant?.accountId === accountId) await store.grants.revoke(grant.id, clock.wallMs());
  const nowMs = clock.wallMs();
  const grants = (await store.grants.list(accountId)).filter(
    ({ revokedAtMs, policy }) => revokedAtMs === undefined && policy.expiresAtMs > nowMs,
  );
  const csrf = people.csrf(person, asked.path);
  return pageResponse(grantsPage({ csrf, grants, signedInAs: people.describe(person.key) }));
}

const unknownApproval = (): Response =>
  pageResponse(errorPage("Nothing to approve", "There is no such question for your account."), 404);

const notUnderstood = (): Response =>
  pageResponse(errorPage("Please try again", "The form was not understood."), 400);

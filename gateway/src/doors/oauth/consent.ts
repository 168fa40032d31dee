// The page a client sends its person to: sign in, see who asks for what, set the bounds, allow or deny.

import type { Addresses } from "../../config/addresses.ts";
import type { McpConfig } from "../../config/mcp-config.ts";
import type { GrantScope } from "../../grants/grants.ts";
import { isLoopback } from "../../grants/redirect-policy.ts";
import type { Key } from "../../keys/keys.ts";
import type { Secrets } from "../../keys/secrets.ts";
import type { Store } from "../../store/store.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { html } from "../pages/html.ts";
import { pageResponse } from "../pages/small-page.ts";
import type { Provider } from "./authorization-server.ts";
import { daysOffered, proposedFields, readFields, readPolicy } from "./consent-form.ts";
import { askForKey, readForm, signIn, signOut, type PageRequest, type FormParts } from "../people/form.ts";
import { grantIdOf, letIn } from "./let-in.ts";
import { nodePair, type NodePair } from "./node-exchange.ts";
import { consentPage, type ConsentFields, type ConsentProblem } from "./pages/consent-page.ts";
import { errorPage } from "../people/message-page.ts";
import { notUnderstood } from "../people/with-person.ts";
import type { Person } from "../people/person.ts";
import { plainName } from "./registration.ts";

export interface ConsentParts extends FormParts {
  readonly provider: () => Promise<Provider>;
  readonly addresses: Addresses;
  readonly config: () => McpConfig;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly log: Log;
}

/** A client's request that waits for its person. */
interface Waiting {
  readonly pair: NodePair;
  readonly interactionId: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly redirect: URL;
  readonly oidcScopes: readonly string[];
  readonly asksToSpend: boolean;
}

export async function answerConsent(asked: PageRequest, parts: ConsentParts): Promise<Response> {
  const waiting = await findWaiting(asked, parts);
  if (!waiting) return expired();
  const person = await parts.people.read(asked.request);
  const about = {
    purpose: `${waiting.clientName} wants to use your account. First show that it is yours.`,
  };
  if (asked.request.method !== "POST") {
    if (!person.key) return askForKey(asked, person, about, parts);
    return show(
      { asked, person, key: person.key, waiting },
      proposedFields(parts.config(), waiting.asksToSpend),
      parts,
    );
  }

  const form = await readForm(asked, person, parts);
  if (!form.ok) return form.refusal;
  const { fields } = form;
  switch (fields.get("action")) {
    case "sign_in":
      return signIn(asked, person, fields.get("key") ?? "", about, parts);
    case "sign_out":
      return signOut(asked, person, parts);
    case "deny":
      return deny(waiting, parts);
    case "allow":
      if (!person.key) return askForKey(asked, person, about, parts);
      return allow({ asked, person, key: person.key, waiting }, fields, parts);
    default:
      return notUnderstood();
  }
}

async function findWaiting(asked: PageRequest, parts: ConsentParts): Promise<Waiting | undefined> {
  const provider = await parts.provider();
  const pair = nodePair(asked.request, new URL(parts.addresses.baseUrl).host);
  const interaction = await provider.interactionDetails(pair.request, pair.response).catch(() => undefined);
  if (!interaction || asked.path !== `/oauth/sign-in/${interaction.uid}`) return undefined;
  const { client_id: clientId, redirect_uri: redirectUri, scope } = interaction.params;
  const { client_name: clientName } = interaction.prompt.details;
  const redirect = typeof redirectUri === "string" ? URL.parse(redirectUri) : null;
  if (typeof clientId !== "string" || !redirect) return undefined;
  const scopes = typeof scope === "string" ? scope.split(" ") : [];
  return {
    pair,
    interactionId: interaction.uid,
    clientId,
    clientName: (typeof clientName === "string" && plainName(clientName)) || "A client without a name",
    redirect,
    oidcScopes: scopes,
    asksToSpend: scopes.includes("tools:spend"),
  };
}

/** Somebody who signed in, and whom they are asked about. */
interface ConsentVisit {
  readonly asked: PageRequest;
  readonly person: Person;
  readonly key: Key;
  readonly waiting: Waiting;
}

function show(
  { asked, person, key, waiting }: ConsentVisit,
  fields: ConsentFields,
  parts: ConsentParts,
  problem?: ConsentProblem,
): Response {
  const { people } = parts;
  const made = consentPage({
    csrf: people.csrf(person, asked.path),
    clientName: waiting.clientName,
    clientHost: knownAs(waiting.clientId, parts.config()),
    redirectHost: waiting.redirect.host,
    toThisMachine: isLoopback(waiting.redirect.hostname),
    signedInAs: people.describe(key),
    asksToSpend: waiting.asksToSpend,
    daysOffered: daysOffered(parts.config()),
    fields,
    problem,
  });
  return pageResponse(made, problem === undefined ? 200 : 400, { "set-cookie": people.cookie(person) });
}

function knownAs(clientId: string, config: McpConfig): string | undefined {
  if (config.clients.has(clientId)) return "a client set up by the operator of this gateway";
  return clientId.startsWith("https://") ? URL.parse(clientId)?.host : undefined;
}

async function allow(visit: ConsentVisit, form: URLSearchParams, parts: ConsentParts): Promise<Response> {
  const { key, waiting } = visit;
  const fields = readFields(form);
  const spends = waiting.asksToSpend && fields.spend;
  const spendPolicy = readPolicy(fields, spends, parts.config(), parts.clock.wallMs());
  if ("sentence" in spendPolicy) return show(visit, fields, parts, spendPolicy);
  const scopes: readonly GrantScope[] = spends ? ["tools:read", "tools:spend"] : ["tools:read"];
  const grantId = await letIn({ ...waiting, key, scopes, spendPolicy }, parts);
  if (grantId === undefined) return expired();
  const consented = { login: { accountId: key.id, remember: false }, consent: { grantId } };
  return finish(waiting, consented, parts);
}

async function deny(waiting: Waiting, parts: ConsentParts): Promise<Response> {
  // A no after a yes, by going back in the browser, ends what the yes allowed.
  await parts.store.grants.revoke(grantIdOf(waiting.interactionId, parts.secrets), parts.clock.wallMs());
  return finish(waiting, { error: "access_denied", error_description: "the person said no" }, parts);
}

async function finish(
  { pair, clientName }: Waiting,
  result: object,
  { provider }: ConsentParts,
): Promise<Response> {
  const server = await provider();
  const options = { mergeWithLastSubmission: false };
  const returnTo = await server.interactionResult(pair.request, pair.response, { ...result }, options);
  // Not a redirect: browsers hold a form to its page's policy through every redirect, and a client may use several, or
  // have an address that no policy can name.
  const onward = {
    title: `Back to ${clientName}`,
    body: html`<p><a href="${returnTo}" rel="noreferrer">Go on to ${clientName}</a></p>`,
  };
  return pageResponse(onward, 200, { refresh: `0; url=${returnTo}` });
}

const expired = (): Response =>
  pageResponse(
    errorPage(
      "This sign-in is over",
      "It took too long, or was begun in another browser. Start again in your client.",
    ),
    400,
  );

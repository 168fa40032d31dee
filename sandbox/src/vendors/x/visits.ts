// What a person does on the platform's pages: choose who they are, then allow or deny.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { InteractionResults, Provider } from "oidc-provider";
import { consentPage, errorPage, loginPage } from "./pages.ts";
import { personById, personByUsername } from "./persons.ts";

type Interaction = Awaited<ReturnType<Provider["interactionDetails"]>>;

/** A page of the person's way from the authorization request to the redirect; cookies say how far they are. */
export async function visit(
  server: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const interaction = await server.interactionDetails(request, response).catch(() => undefined);
  const action = `${server.issuer}/interaction/${interaction?.uid}`;
  if (interaction === undefined || !action.endsWith(request.url ?? "")) {
    return show(response, 400, errorPage("This page has expired, or belongs to another browser."));
  }
  if (request.method === "GET")
    return show(response, 200, await pageFor(server, interaction, action), interaction);

  const form = new URLSearchParams(await textOf(request));
  const result = await resultOf(server, interaction, form);
  if (result === undefined)
    return show(response, 400, errorPage("This is not one of the choices on the page."));
  const next = await server.interactionResult(request, response, result);
  const { session } = interaction;
  if (session !== undefined && result.login !== undefined) await signOut(server, session.uid);
  response.writeHead(303, { location: next, "content-length": "0" }).end();
}

async function pageFor(
  server: Provider,
  { prompt, params, session }: Interaction,
  action: string,
): Promise<string> {
  const person = personById(session?.accountId ?? "");
  if (prompt.name === "login" || person === undefined) return loginPage({ action });

  const client = await server.Client.find(String(params["client_id"]));
  const again = new URLSearchParams({ ...textsOf(params), prompt: "login" });
  return consentPage({
    action,
    clientName: client?.clientName ?? String(params["client_id"]),
    person,
    scopes: scopesOf(params),
    returnHost: URL.parse(String(params["redirect_uri"]))?.host ?? "",
    switchUrl: `${server.issuer}/oauth2/authorize?${again.toString()}`,
  });
}

/** Undefined when the form says nothing that this page asked for. */
async function resultOf(
  server: Provider,
  { prompt, params, session }: Interaction,
  form: URLSearchParams,
): Promise<InteractionResults | undefined> {
  if (prompt.name === "login") {
    const person = personByUsername(form.get("person") ?? "");
    return person && { login: { accountId: person.id, remember: false } };
  }

  const decision = form.get("decision");
  if (decision === "deny") return { error: "access_denied", error_description: "The person denied access." };
  if (decision !== "allow" || session?.accountId === undefined) return undefined;
  const grant = new server.Grant({ accountId: session.accountId, clientId: String(params["client_id"]) });
  grant.addOIDCScope(scopesOf(params).join(" "));
  return { consent: { grantId: await grant.save() } };
}

/** Who signs in anew may be another. Left to itself the library uses a page with a script for that; ours have none. */
async function signOut(server: Provider, sessionUid: string): Promise<void> {
  const session = await server.Session.findByUid(sessionUid);
  if (session === undefined) return;
  delete session.accountId;
  await session.save(session.exp - Math.floor(Date.now() / 1000));
}

const scopesOf = (params: Interaction["params"]): readonly string[] =>
  typeof params["scope"] === "string" ? params["scope"].split(" ") : [];

const textsOf = (params: Interaction["params"]): Record<string, string> =>
  Object.fromEntries(
    Object.entries(params).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );

function show(response: ServerResponse, status: number, html: string, interaction?: Interaction): void {
  // Browsers hold the redirects that follow a form to `form-action` too: the last one leads back to the app.
  const back = URL.parse(String(interaction?.params["redirect_uri"]))?.origin ?? "";
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": `default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self' ${back}; base-uri 'none'; frame-ancestors 'none'`,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  });
  response.end(html);
}

// The forms of these pages have one short field.
const formBytesMax = 4096;

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8") as AsyncIterable<string>) {
    text += chunk;
    if (text.length > formBytesMax) return "";
  }
  return text;
}

import { namesHostOf, type Addresses } from "../../config/addresses.ts";
import { unusedClientsMax } from "../../grants/sign-in-records.ts";
import { clientRegistrations, tryTake } from "../../limits/visitor-limits.ts";
import { refuse } from "../../platform/refusals.ts";
import type { Store } from "../../store/store.ts";
import { searchOf, type FormParts, type PageRequest } from "../people/form.ts";
import { issuerOf, type Provider } from "./authorization-server.ts";
import { completeForm, completeQuery } from "./complete-request.ts";
import { askNodeApp } from "./node-exchange.ts";
import { readRegistration, registrationBytesMax } from "./registration.ts";
import { noStore, oauthError, tooMany } from "./sign-in-refusals.ts";

interface Parts extends Pick<FormParts, "limiter" | "readBody"> {
  readonly provider: () => Promise<Provider>;
  readonly addresses: Addresses;
  readonly store: Pick<Store, "signIns">;
}

/** Where clients speak OAuth: requests reach the authorization server checked, completed and under its own name. */
export type AnswerEndpoint = (asked: PageRequest) => Promise<Response>;

const bodyBytesMax = 64 * 1024;

/**
 * A sign-in has some dozen. The server looks through all of them for each, so thousands of them, which fit into an address,
 * would keep everybody waiting for seconds; and whoever sends them needs no key.
 */
const parametersMax = 100;

export function createProtocolEndpoints(parts: Parts): AnswerEndpoint {
  const { addresses, limiter, readBody } = parts;
  const { mcpUrl } = addresses;
  const issuer = issuerOf(addresses);
  const { host } = new URL(issuer);

  const askServer = async ({ request, path, address }: PageRequest, sent: Sent = {}): Promise<Response> => {
    const { search = "", body = noBody } = sent;
    const headers: Record<string, string> = {};
    for (const [name, value] of request.headers) headers[name] = value;
    const response = await askNodeApp((await parts.provider()).callback(), {
      method: request.method,
      target: path + search,
      headers: {
        ...headers,
        // What the server says about itself follows from our configuration, never from what a stranger sent.
        host,
        ...(body.length > 0 ? { "content-length": String(body.length) } : {}),
      },
      body,
      encrypted: issuer.startsWith("https:"),
      address,
    });
    return withoutSessionCookie(response);
  };

  const register: AnswerEndpoint = async (asked) => {
    const body = await readBody(asked.request, registrationBytesMax);
    if (!(await tryTake(limiter, clientRegistrations(asked.address)))) return tooMany(oauthError);
    const registration = readRegistration(body);
    if (!registration.ok) return oauthError(400, registration.error, registration.why);
    await parts.store.signIns.keepUnused("Client", unusedClientsMax - 1);
    return askServer(asked, { body: new TextEncoder().encode(JSON.stringify(registration.metadata)) });
  };

  const authorize: AnswerEndpoint = async (asked) => {
    const { request, search } = asked;
    // A sign-in ends where its issuer is; begun under another name, it would not find its cookies there.
    if (!namesHostOf(issuer, request.headers.get("host"))) return beginAt(issuer, search);
    return askServer(asked, { search: searchOf(completeQuery(search.slice(1), mcpUrl)) });
  };

  return async (asked) => {
    const { request, path, search } = asked;
    if (search.split("&").length > parametersMax) {
      refuse("invalid_parameters", `The address has more than ${parametersMax} parameters.`);
    }
    if (path === "/register" && request.method === "POST") return forAnyPage(await register(asked));
    if (path === "/register" && request.method === "OPTIONS")
      return forAnyPage(new Response(null, { status: 204 }));
    if (path === "/authorize") return authorize(asked);
    if (request.method !== "POST") return askServer(asked, { search });
    const body = await readBody(request, bodyBytesMax);
    return askServer(asked, { search, body: path === "/token" ? completeForm(body, mcpUrl) : body });
  };
}

/** What the server is told of a request beside its head. */
interface Sent {
  /** The query with its question mark, or "". */
  readonly search?: string;
  readonly body?: Uint8Array;
}

const noBody = new Uint8Array();

const beginAt = (issuer: string, search: string): Response =>
  new Response(null, { status: 303, headers: { ...noStore, location: `${issuer}/authorize${search}` } });

/** A client may be a page. It reads everything else by the server's own rules, which know nothing of registrations. */
function forAnyPage(response: Response): Response {
  response.headers.set("access-control-allow-origin", "*");
  response.headers.set("access-control-allow-headers", "*");
  return response;
}

/** Every sign-in begins anew and asks its person: the server's own memory of an earlier one never leaves it. */
function withoutSessionCookie(response: Response): Response {
  const kept = response.headers.getSetCookie().filter((one) => !one.startsWith("tollgate_session"));
  response.headers.delete("set-cookie");
  for (const one of kept) response.headers.append("set-cookie", one);
  return response;
}

// Plays the two sides of a sign-in from outside: a person with a browser that keeps cookies and follows redirects, and a
// client that registers, sends its person away, and trades the code for tokens.

/** A browser without a screen: keeps cookies, follows redirects within the gateway, fills in the forms. */
export interface Person {
  /** Opens an address and follows redirects until a page comes, or an address that is not the gateway's. */
  readonly open: (url: string, init?: RequestInit) => Promise<Opened>;
  /** Sends the form of a page back, with what is hidden in it. */
  readonly submit: (page: Opened, fields: Readonly<Record<string, string>>) => Promise<Opened>;
  /** Signs in and allows; answers with where the client's code was sent. */
  readonly allow: (authorizeUrl: string, fields?: Readonly<Record<string, string>>) => Promise<URL>;
  readonly cookies: ReadonlyMap<string, string>;
}

interface Opened {
  /** The address of the page, or of the redirect that led out of the gateway. */
  readonly url: URL;
  readonly response: Response;
  readonly html: string;
  readonly left: boolean;
}

export function createPerson(gatewayUrl: string, key: string): Person {
  const jar = new Map<string, string>();
  const origin = new URL(gatewayUrl).origin;

  const open = async (url: string, init: RequestInit = {}): Promise<Opened> => {
    let at = new URL(url, gatewayUrl);
    let next = init;
    for (let hops = 0; hops < 10; hops++) {
      if (at.origin !== origin) return { url: at, response: new Response(), html: "", left: true };
      const headers = new Headers(next.headers);
      headers.set("accept", "text/html");
      if (jar.size > 0) headers.set("cookie", [...jar].map(([name, value]) => `${name}=${value}`).join("; "));
      const response = await fetch(at, { ...next, headers, redirect: "manual" });
      for (const cookie of response.headers.getSetCookie()) keep(jar, cookie);
      const { headers: answered } = response;
      const onward = answered.get("location") ?? answered.get("refresh")?.replace(/^0; url=/, "");
      if (onward === undefined) return { url: at, response, html: await response.text(), left: false };
      at = new URL(onward, at);
      next = {};
    }
    throw new Error("The gateway sends its person in circles.");
  };

  const submit: Person["submit"] = (page, fields) => {
    const csrf = csrfOf(page.html);
    return open(page.url.href, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", origin },
      body: new URLSearchParams({ csrf, ...fields }).toString(),
    });
  };

  return {
    open,
    submit,
    cookies: jar,
    allow: async (authorizeUrl, fields = {}) => {
      let page = await open(authorizeUrl);
      if (page.left) return page.url;
      if (page.html.includes('name="key"')) page = await submit(page, { action: "sign_in", key });
      const usual = { action: "allow", spend: "yes", per_call_usd: "1", per_day_usd: "10", days: "30" };
      const done = await submit(page, { ...usual, ...fields });
      if (!done.left)
        throw new Error(`The sign-in ended at ${done.url.href} with ${done.response.status}: ${done.html}`);
      return done.url;
    },
  };
}

/** What a form must bring back to show that it is the page's own. */
export const csrfOf = (html: string): string => /name="csrf" value="([^"]*)"/.exec(html)?.[1] ?? "";

function keep(jar: Map<string, string>, cookie: string): void {
  const [pair = ""] = cookie.split(";");
  const equals = pair.indexOf("=");
  const name = pair.slice(0, equals);
  const value = pair.slice(equals + 1);
  if (value === "" || /expires=Thu, 01 Jan 1970/i.test(cookie)) jar.delete(name);
  else jar.set(name, value);
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly scope: string;
  readonly id_token?: string;
}

export interface Client {
  readonly clientId: string;
  readonly redirectUri: string;
  /** Where to send the person, and the verifier that belongs to it. */
  readonly begin: (more?: Readonly<Record<string, string | undefined>>) => { url: string; verifier: string };
  readonly trade: (form: Readonly<Record<string, string | undefined>>) => Promise<Response>;
  readonly redeem: (returned: URL, verifier: string) => Promise<Tokens>;
  readonly refresh: (token: string) => Promise<Response>;
}

export const redirectUri = "http://127.0.0.1:4711/callback";

export async function registerClient(gatewayUrl: string, metadata: object = {}): Promise<Client> {
  const response = await fetch(`${gatewayUrl}/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "Test client", redirect_uris: [redirectUri], ...metadata }),
  });
  if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`);
  const { client_id: clientId } = (await response.json()) as { client_id: string };
  return createClient(gatewayUrl, clientId);
}

export function createClient(gatewayUrl: string, clientId: string, ownRedirectUri = redirectUri): Client {
  const trade: Client["trade"] = (form) =>
    fetch(`${gatewayUrl}/token`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: queryOf({ client_id: clientId, resource: `${gatewayUrl}/mcp`, ...form }),
    });
  return {
    clientId,
    redirectUri: ownRedirectUri,
    begin: (more = {}) => {
      const verifier = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
      const challenge = new Bun.CryptoHasher("sha256").update(verifier).digest("base64url");
      const query = queryOf({
        response_type: "code",
        client_id: clientId,
        redirect_uri: ownRedirectUri,
        scope: "tools:read tools:spend",
        state: "state-1",
        code_challenge: challenge,
        code_challenge_method: "S256",
        resource: `${gatewayUrl}/mcp`,
        ...more,
      });
      return { url: `${gatewayUrl}/authorize?${query}`, verifier };
    },
    trade,
    redeem: async (returned, verifier) => {
      const response = await trade({
        grant_type: "authorization_code",
        code: returned.searchParams.get("code") ?? "",
        redirect_uri: ownRedirectUri,
        code_verifier: verifier,
      });
      if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
      return (await response.json()) as Tokens;
    },
    refresh: (token) => trade({ grant_type: "refresh_token", refresh_token: token }),
  };
}

/** The whole sign-in: a client registers, its person allows, the code becomes tokens. */
export async function signInWith(
  gatewayUrl: string,
  key: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<Tokens & { readonly client: Client }> {
  const client = await registerClient(gatewayUrl);
  const { url, verifier } = client.begin();
  const returned = await createPerson(gatewayUrl, key).allow(url, fields);
  return { ...(await client.redeem(returned, verifier)), client };
}

const queryOf = (form: Readonly<Record<string, string | undefined>>): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(form)) if (value !== undefined) query.set(name, value);
  return query.toString();
};

// A browser without a screen: follows redirects, keeps cookies by path, sends the forms of the pages it gets.

import { createHash, randomBytes } from "node:crypto";

type Fetch = (request: Request) => Promise<Response>;

export const callback = "http://127.0.0.1:8787/apis/v1/social_a/oauth_callback";
export const basic = `Basic ${btoa("tollgate-sandbox:tollgate-sandbox-secret")}`;
export const everyday = "follows.write tweet.read users.read offline.access";

export function createVisitor({ fetch, publicUrl }: { fetch: Fetch; publicUrl: string }) {
  const cookies = new Map<string, { value: string; path: string }>();

  const load = async (url: URL, form?: Record<string, string>): Promise<Response> => {
    if (!url.href.startsWith(`${publicUrl}/x/`)) throw new Error(`the visitor was sent to ${url.href}`);
    const sent = [...cookies].filter(([, { path }]) => isBelow(url.pathname, path));
    const response = await fetch(
      new Request(`http://sandbox.test/public${url.href.slice(publicUrl.length)}`, {
        method: form === undefined ? "GET" : "POST",
        headers: {
          cookie: sent.map(([name, { value }]) => `${name}=${value}`).join("; "),
          ...(form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }),
        },
        ...(form === undefined ? {} : { body: new URLSearchParams(form).toString() }),
        redirect: "manual",
      }),
    );
    for (const line of response.headers.getSetCookie()) keep(line);
    return response;
  };

  const keep = (line: string): void => {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    const path = /;\s*path=([^;]*)/i.exec(line)?.[1] ?? "/";
    if (value === "") cookies.delete(name);
    else cookies.set(name, { value, path });
  };

  /** The page at the end of the redirects, or the address of the app to which they lead. */
  const open = async (address: string, form?: Record<string, string>): Promise<Page> => {
    let url = new URL(address);
    let response = await load(url, form);
    for (let hops = 0; response.status >= 300 && response.status <= 399; hops += 1) {
      if (hops > 5) throw new Error("too many redirects");
      url = new URL(response.headers.get("location") ?? "", url);
      if (!url.href.startsWith(publicUrl)) return { status: response.status, html: "", url };
      response = await load(url);
    }
    return { status: response.status, html: await response.text(), url, headers: response.headers };
  };

  const submit = (page: Page, form: Record<string, string>): Promise<Page> => {
    const action = /<form method="post" action="([^"]+)"/.exec(page.html)?.[1];
    if (action === undefined) throw new Error(`no form on ${page.url.href}: ${page.html.split("<main>")[1]}`);
    return open(new URL(action, page.url).href, form);
  };

  return { open, submit, cookies };
}

export interface Page {
  readonly status: number;
  readonly html: string;
  readonly url: URL;
  readonly headers?: Headers;
}

/** An authorization request as an app makes it, with the secret half of its proof. */
export function createRequest(publicUrl: string, changed: Record<string, string | undefined> = {}) {
  const verifier = randomBytes(32).toString("base64url");
  const params = {
    response_type: "code",
    client_id: "tollgate-sandbox",
    redirect_uri: callback,
    scope: everyday,
    state: "the state",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    ...changed,
  };
  const said = Object.entries(params).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { verifier, url: `${publicUrl}/x/oauth2/authorize?${new URLSearchParams(said).toString()}` };
}

const isBelow = (path: string, parent: string): boolean =>
  path === parent || path.startsWith(parent.endsWith("/") ? parent : `${parent}/`);

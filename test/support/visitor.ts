// A browser without a screen, for the pages of the link flow: follows redirects, keeps cookies, sends forms.

import { expect } from "bun:test";
import type { TestAccount, TestGateway } from "./test-gateway.ts";

export interface Seen {
  readonly status: number;
  readonly text: string;
  readonly url: string;
  readonly headers: Headers;
}

export interface Visitor {
  /** The page at the end of the redirects; `stopAt` ends the way before an address that contains it. */
  readonly open: (url: string, options?: { form?: Record<string, string>; stopAt?: string }) => Promise<Seen>;
  /** Sends the form of a page, with its hidden fields. */
  readonly submit: (page: Seen, fields?: Record<string, string>, stopAt?: string) => Promise<Seen>;
  readonly cookies: Map<string, string>;
}

const hopsMax = 8;

export function createVisitor(): Visitor {
  const cookies = new Map<string, string>();

  const load = async (url: string, form?: Record<string, string>): Promise<Response> => {
    const response = await fetch(url, {
      method: form ? "POST" : "GET",
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
        ...(form ? { "content-type": "application/x-www-form-urlencoded" } : {}),
      },
      ...(form ? { body: new URLSearchParams(form).toString() } : {}),
      redirect: "manual",
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    return response;
  };

  const open: Visitor["open"] = async (start, { form, stopAt } = {}) => {
    let url = start;
    let response = await load(url, form);
    for (let hops = 0; response.status >= 300 && response.status < 400; hops++) {
      if (hops > hopsMax) throw new Error("too many redirects");
      url = new URL(response.headers.get("location") ?? "", url).href;
      if (stopAt !== undefined && url.includes(stopAt)) break;
      response = await load(url);
    }
    return { status: response.status, text: await response.text(), url, headers: response.headers };
  };

  return {
    open,
    cookies,
    submit: (page, fields = {}, stopAt) => {
      const action = /<form[^>]* action="([^"]+)"/.exec(page.text)?.[1];
      if (action === undefined) throw new Error(`There is no form on ${page.url}: ${page.text}`);
      const hidden = [...page.text.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)];
      const form = {
        ...Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value])),
        ...fields,
      };
      return open(new URL(action, page.url).href, stopAt === undefined ? { form } : { form, stopAt });
    },
  };
}

interface Started {
  readonly auth_url: string;
  readonly state: string;
  readonly expires_at: string;
}

export async function startLink(
  gateway: Pick<TestGateway, "post">,
  account: TestAccount,
  scopes?: readonly string[],
): Promise<Started> {
  const response = await gateway.post(account, "/apis/v1/social_a/auth_social_a", scopes ? { scopes } : {});
  expect(response.status).toBe(200);
  return (await response.json()) as Started;
}

/** Walks from the platform's first page to where it sends the person back, as one of the sandbox's people. */
export async function agree(visitor: Visitor, authUrl: string): Promise<string> {
  let page = await visitor.open(authUrl);
  if (page.text.includes("Choose who you are")) page = await visitor.submit(page, { person: "ada" });
  return (await visitor.submit(page, { decision: "allow" }, "/oauth_callback")).url;
}

/** Links one of the sandbox's people to the account's key, the whole way. */
export async function linkInSandbox(
  gateway: TestGateway,
  account: TestAccount,
  scopes?: readonly string[],
): Promise<Seen> {
  const visitor = createVisitor();
  const { auth_url: authUrl } = await startLink(gateway, account, scopes);
  const linked = await visitor.open(await agree(visitor, authUrl));
  expect(linked.status).toBe(200);
  return linked;
}

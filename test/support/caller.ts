/** How tests ask a gateway as somebody who has a key. */
export interface Caller {
  /** A request with the account's key. */
  readonly call: (account: HasKey, path: string, init?: RequestInit) => Promise<Response>;
  /** A text is sent as it is, anything else as JSON. */
  readonly post: (
    account: HasKey,
    path: string,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Response>;
}

interface HasKey {
  readonly key: string;
}

export function callerAt(url: string): Caller {
  const call: Caller["call"] = (account, path, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${account.key}`);
    return fetch(url + path, { ...init, headers });
  };
  return {
    call,
    post: (account, path, body, headers = {}) =>
      call(account, path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
  };
}

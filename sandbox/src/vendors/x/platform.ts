// The authorization server behind a fetch function. It is made for node:http, so it gets a listener of its
// own in this process; and it is bound to one issuer, while the address a browser sees may become known
// only with the first visit, so there is one server for each address, all over the same tokens.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Provider } from "oidc-provider";
import { createAuthorizationServer } from "./authorization-server.ts";
import type { TokenStore } from "./token-store.ts";
import { visit } from "./visits.ts";

export interface Platform {
  /** Asks the server known at this public address for a path below its issuer. */
  readonly ask: (base: string, path: string, request: Asked) => Promise<Response>;
  /** What a token that is good right now allows, and whom it speaks for. */
  readonly tokenOf: (value: string) => Promise<{ personId: string; scopes: ReadonlySet<string> } | undefined>;
}

interface Asked {
  readonly method: string;
  readonly headers: Headers;
  readonly body: string;
}

// One in use; a few more for a gateway that changes its address.
const serversMax = 8;

export function createPlatform(ownBase: string, store: TokenStore): Platform {
  const servers = new Map<string, Promise<Provider>>();
  let port: Promise<number> | undefined;

  const serverAt = (base: string): Promise<Provider> => {
    const server = servers.get(base) ?? createAuthorizationServer(issuerAt(base), store);
    servers.set(base, server);
    const oldest = [...servers.keys()].find((known) => known !== ownBase && known !== base);
    if (servers.size > serversMax && oldest !== undefined) servers.delete(oldest);
    return server;
  };

  const exchange = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const base = String(incoming.headers[baseHeader]);
    const server = await serverAt(base);
    if (incoming.url?.startsWith("/interaction/")) return visit(server, incoming, outgoing);
    // This is how the library is told what part of the path lies before its own.
    const mounted = `${new URL(issuerAt(base)).pathname}${incoming.url}`;
    await server.callback()(Object.assign(incoming, { originalUrl: mounted }), outgoing);
  };

  return {
    async ask(base, path, { method, headers: given, body }) {
      port ??= openPort(exchange);
      const headers = new Headers(given);
      for (const name of hopHeaders) headers.delete(name);
      const { protocol, host } = new URL(base);
      headers.set(baseHeader, base);
      headers.set("x-forwarded-proto", protocol.slice(0, -1));
      headers.set("x-forwarded-host", host);
      return fetch(`http://127.0.0.1:${await port}${path}`, {
        method,
        headers,
        redirect: "manual",
        keepalive: false,
        ...(method === "POST" ? { body } : {}),
      });
    },

    async tokenOf(value) {
      const token = await (await serverAt(ownBase)).AccessToken.find(value);
      return token && { personId: token.accountId, scopes: token.scopes };
    },
  };
}

const issuerAt = (base: string): string => `${base}/x`;

const baseHeader = "x-public-base";
const hopHeaders = ["host", "connection", "content-length", "accept-encoding", "x-forwarded-for"];

async function openPort(
  exchange: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>,
): Promise<number> {
  const server = createServer((incoming, outgoing) => {
    exchange(incoming, outgoing).catch((error: unknown) => {
      process.stderr.write(`${Bun.inspect(error)}\n`);
      incoming.socket.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  // The program ends when its own listener does; this one must not keep it.
  server.unref();
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the listener has no port");
  return address.port;
}

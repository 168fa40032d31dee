// A client that is a page: its browser asks before the page may call, and hides every answer that does not say otherwise.

import { afterAll, expect, test } from "bun:test";
import { useAgentAccount } from "./agent-account.ts";
import { openBrowser, testInBrowser } from "../support/browser.ts";
import { createPerson } from "../sign-in/oauth-person.ts";

const { gateway, account, mcp } = await useAgentAccount();
const site = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () => new Response("<title>A client</title>", { headers: { "content-type": "text/html" } }),
});
const origin = `http://localhost:${site.port}`;
afterAll(() => site.stop(true));

const asking = (headers: Record<string, string>) =>
  fetch(mcp, {
    method: "OPTIONS",
    headers: { "access-control-request-method": "POST", ...headers },
  });

test("a page that is let in may call, and is shown what it is told; no other is", async () => {
  const wanted = "authorization,content-type,mcp-session-id";
  const asked = await asking({ origin, "access-control-request-headers": wanted });
  expect(asked.status).toBe(204);
  expect(asked.headers.get("access-control-allow-headers")).toBe(wanted);
  for (const answer of [asked, await fetch(mcp, { method: "POST", headers: { origin } })]) {
    expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
    expect(answer.headers.get("vary")).toContain("origin");
  }
  for (const foreign of ["https://evil.example", "null"]) {
    const answers = [
      await asking({ origin: foreign }),
      await fetch(mcp, { method: "POST", headers: { origin: foreign } }),
    ];
    for (const { status, headers } of answers) {
      expect([status, headers.get("access-control-allow-origin")]).toEqual([403, null]);
    }
  }
});

/** What stands in the page: it finds the sign-in from the door's refusal alone, as the protocol's clients do. */
const client = `
  const ask = (message, headers) =>
    fetch("${mcp}", {
      method: "POST",
      headers: {
        "content-type": "application/json", accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25", ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
  const introduce = (headers) =>
    ask({ id: 0, method: "initialize", params: {
      protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "page", version: "1" } } }, headers);
  const read = (url) => fetch(url, { headers: { "mcp-protocol-version": "2025-11-25" } }).then((told) => told.json());
  const redirectUri = "${origin}/callback";
  const verifier = "a-verifier-of-a-page-that-is-long-enough-for-it";

  const begin = async () => {
    const challenge = (await introduce({})).headers.get("www-authenticate");
    const resource = await read(/resource_metadata="([^"]+)"/.exec(challenge)[1]);
    const server = await read(resource.authorization_servers[0] + "/.well-known/oauth-authorization-server");
    const registered = await fetch(server.registration_endpoint, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ client_name: "A page", redirect_uris: [redirectUri] }),
    });
    const { client_id } = await registered.json();
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
    const code_challenge = btoa(String.fromCharCode(...new Uint8Array(digest)))
      .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    const query = new URLSearchParams({ response_type: "code", client_id, redirect_uri: redirectUri,
      code_challenge, code_challenge_method: "S256", resource: resource.resource });
    return { client_id, token: server.token_endpoint, url: server.authorization_endpoint + "?" + query };
  };

  const finish = async ({ client_id, token }, code) => {
    const body = new URLSearchParams({ grant_type: "authorization_code", client_id, code,
      redirect_uri: redirectUri, code_verifier: verifier });
    const { access_token } = await (await fetch(token, { method: "POST", body })).json();
    const authorization = "Bearer " + access_token;
    const session = (await introduce({ authorization })).headers.get("mcp-session-id");
    const headers = { authorization, "mcp-session-id": session };
    const listed = await (await ask({ id: 1, method: "tools/list" }, headers)).text();
    const ended = await fetch("${mcp}", { method: "DELETE", headers });
    return [listed.includes('"batch_use"'), ended.status];
  };
`;

interface Begun {
  readonly url: string;
}

testInBrowser("a page of this machine signs its person in and uses the door, in its browser", async () => {
  const { page, close } = await openBrowser();
  try {
    await page.goto(origin);
    const begun: Begun = await page.evaluate(`(async () => { ${client} return await begin(); })()`);
    const returned = await createPerson(gateway.url, account.key).allow(begun.url);
    const [told, code] = [JSON.stringify(begun), JSON.stringify(returned.searchParams.get("code"))];
    const went: unknown = await page.evaluate(
      `(async () => { ${client} return await finish(${told}, ${code}); })()`,
    );
    expect(went).toEqual([true, 200]);
  } finally {
    await close();
  }
});

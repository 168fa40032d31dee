// Signing in as clients meet it: what they are told of it, how they ask, and what their code buys.

import { afterAll, describe, expect, test } from "bun:test";
import { completeAddresses } from "../../gateway/src/config/addresses.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import { openDesk } from "./desk.ts";
import { createClient, redirectUri } from "./oauth-person.ts";

const { gateway, desk, person } = await openDesk();
afterAll(() => gateway.close());

describe("metadata", () => {
  test("the protected resource is described at the root and at its path, and names its issuer", async () => {
    for (const path of ["", "/mcp"]) {
      const response = await fetch(`${gateway.url}/.well-known/oauth-protected-resource${path}`);
      expect(await response.json()).toEqual({
        resource: `${gateway.url}/mcp`,
        authorization_servers: [gateway.url],
        scopes_supported: ["tools:read", "tools:spend"],
        bearer_methods_supported: ["header"],
        resource_name: "Tollgate",
      });
    }
  });

  test.each(["oauth-authorization-server", "openid-configuration"])(
    "%s says what clients must know",
    async (name) => {
      const response = await fetch(`${gateway.url}/.well-known/${name}`);
      expect(await response.json()).toMatchObject({
        issuer: gateway.url,
        authorization_endpoint: `${gateway.url}/authorize`,
        token_endpoint: `${gateway.url}/token`,
        registration_endpoint: `${gateway.url}/register`,
        revocation_endpoint: `${gateway.url}/revoke`,
        code_challenge_methods_supported: ["S256"],
        response_types_supported: ["code"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
      });
      const again = (await (await fetch(`${gateway.url}/.well-known/${name}`)).json()) as Record<
        string,
        string[]
      >;
      expect(again["token_endpoint_auth_methods_supported"]).toContain("none");
      for (const scope of ["tools:read", "tools:spend", "offline_access"]) {
        expect(again["scopes_supported"]).toContain(scope);
      }
    },
  );

  test.each([
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/authorize",
    "/token",
    "/register",
    "/revoke",
    "/oauth/grants",
    "/oauth/jwks",
  ])("%s does not answer under another host's name", async (path) => {
    for (const host of ["evil.example", `evil.example:${gateway.port}`, "localhost.evil.example"]) {
      const response = await fetch(gateway.url + path, { headers: { host } });
      expect(response.status).toBe(403);
      expect(await response.text()).not.toContain("evil");
    }
  });
});

test("a host of ours is one in capitals, too, and with the port that goes without saying", async () => {
  const addresses = completeAddresses("https://gateway.example", { mcpUrl: "https://agents.example" });
  const own = await openTestGateway({ parts: { addresses } });
  const ask = (path: string, host: string): Promise<Response> =>
    fetch(own.url + path, { redirect: "manual", headers: { host } });
  const metadata = "/.well-known/oauth-authorization-server";
  const client = createClient("https://gateway.example", "nobody").begin({ scope: "tools:read" });
  const authorize = client.url.replace("https://gateway.example", "");
  try {
    for (const host of ["gateway.example:443", "Gateway.Example"]) {
      for (const path of [metadata, "/account", "/oauth/grants"]) {
        expect([path, (await ask(path, host)).status]).toEqual([path, 200]);
      }
      // It was heard there, and not led to where it came from.
      expect((await ask(authorize, host)).status).toBe(400);
      expect((await ask("/", "agents.example:443")).status).toBe(401);
    }
    for (const host of ["gateway.example:80", "gateway.example:8443", "me@gateway.example"]) {
      for (const path of [metadata, "/account", "/oauth/grants"]) {
        expect([host, (await ask(path, host)).ok]).toEqual([host, false]);
      }
    }
  } finally {
    await own.close();
  }
});

test("behind https everything speaks https, cookies too, and a resource without a path may end in a slash", async () => {
  const addresses = completeAddresses("https://gateway.example", { mcpUrl: "https://agents.example" });
  const own = await openTestGateway({ parts: { addresses } });
  try {
    const ask = (path: string, init: RequestInit = {}, host = "gateway.example"): Promise<Response> =>
      fetch(own.url + path, { ...init, redirect: "manual", headers: { ...init.headers, host } });
    const metadata = (await (await ask("/.well-known/oauth-authorization-server")).json()) as Record<
      string,
      string
    >;
    expect(metadata["issuer"]).toBe("https://gateway.example");
    expect(metadata["token_endpoint"]).toBe("https://gateway.example/token");
    const resource = await ask("/.well-known/oauth-protected-resource", {}, "agents.example");
    expect(await resource.json()).toMatchObject({
      resource: "https://agents.example",
      authorization_servers: ["https://gateway.example"],
    });
    const registered = await ask("/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: [redirectUri] }),
    });
    const { client_id: id } = (await registered.json()) as { client_id: string };
    const { url } = createClient("https://gateway.example", id).begin({
      resource: "https://agents.example/",
    });
    const begun = await ask(url.replace("https://gateway.example", ""));
    expect(begun.status).toBe(303);
    const page = await ask(begun.headers.get("location") ?? "", {
      headers: {
        cookie: begun.headers
          .getSetCookie()
          .map((one) => one.split(";")[0])
          .join("; "),
      },
    });
    expect(page.status).toBe(200);
    const cookies = [...begun.headers.getSetCookie(), ...page.headers.getSetCookie()];
    expect(cookies.length).toBeGreaterThan(2);
    for (const cookie of cookies)
      expect(cookie.toLowerCase()).toMatch(/; ?secure.*; ?httponly|; ?httponly.*; ?secure/);
    expect(cookies.some((cookie) => cookie.startsWith("__Host-tollgate_browser="))).toBe(true);
  } finally {
    await own.close();
  }
});

describe("asking", () => {
  test("a sign-in without a scope asks for the usual ones, and the answer names its issuer and its state", async () => {
    const client = desk();
    const { url, verifier } = client.begin({ scope: undefined, resource: undefined });
    const returned = await person().allow(url);
    expect(returned.searchParams.get("iss")).toBe(gateway.url);
    expect(returned.searchParams.get("state")).toBe("state-1");
    const tokens = await client.redeem(returned, verifier);
    expect(tokens).toMatchObject({ token_type: "Bearer", scope: "tools:read tools:spend", expires_in: 3600 });
    expect(tokens.access_token).toMatch(/^tgo_[0-9A-Za-z]{36}$/);
    expect(tokens.refresh_token).toMatch(/^tgr_[0-9A-Za-z]{36}$/);
  });

  test.each([
    ["no challenge", { code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
    ["the plain method", { code_challenge_method: "plain" }, "invalid_request"],
    ["a challenge without its method", { code_challenge_method: undefined }, "invalid_request"],
    ["another resource", { resource: "https://other.example/mcp" }, "invalid_target"],
    ["the API as resource", { resource: "http://127.0.0.1/v1" }, "invalid_target"],
    ["an implicit answer", { response_type: "token" }, "unsupported_response_type"],
    ["a hybrid answer", { response_type: "code id_token" }, "unsupported_response_type"],
    ["no question to the person", { prompt: "none" }, "login_required"],
  ])("%s is refused", async (_, changed, error) => {
    const result = await outcome(desk().begin(changed).url);
    expect(result).toMatchObject({ error, left: true });
  });

  test.each([
    ["another path", "http://127.0.0.1:4711/other"],
    ["a longer path", "http://127.0.0.1:4711/callback/more"],
    ["a climbing path", "http://127.0.0.1:4711/x/../callback"],
    ["an added query", "http://127.0.0.1:4711/callback?a=1"],
    ["another loopback name", "http://localhost:4711/callback"],
    ["https where http is registered", "https://127.0.0.1:4711/callback"],
    ["another host", "http://evil.example/callback"],
    ["a user name before the host", "http://127.0.0.1:4711@evil.example/callback"],
    ["a user name on the loopback", "http://x@127.0.0.1:4711/callback"],
    ["a fragment", "http://127.0.0.1:4711/callback#x"],
    ["a script", "javascript:alert(1)"],
    ["another port off the loopback", "https://desk.example:8443/cb?x=1"],
    ["a missing query", "https://desk.example/cb"],
    ["another query", "https://desk.example/cb?x=2"],
    ["a sub-domain", "https://a.desk.example/cb?x=1"],
    ["an upper-case path", "https://desk.example/CB?x=1"],
  ])("a redirect with %s is not followed, and the person is told", async (_, uri) => {
    const result = await outcome(desk().begin({ redirect_uri: uri }).url);
    expect(result).toMatchObject({ error: "400", left: false });
    expect(result.description).toContain("redirect_uri");
  });

  test.each([
    ["as registered", "http://127.0.0.1:4711/callback"],
    ["with another loopback port", "http://127.0.0.1:50123/callback"],
    ["without a port", "http://127.0.0.1/callback"],
    ["under https, exactly", "https://desk.example/cb?x=1"],
  ])("a redirect %s is followed", async (_, uri) => {
    const returned = await person().allow(desk().begin({ redirect_uri: uri }).url);
    expect(returned.href).toStartWith(uri);
    expect(returned.searchParams.get("code")).toMatch(/^tgc_/);
  });

  test("an unknown client gets a page, not a redirect", async () => {
    const result = await outcome(createClient(gateway.url, "nobody").begin().url);
    expect(result).toMatchObject({ error: "400", left: false });
  });

  test.each(["/authorize", "/authorize/x", "/token"])(
    "at %s has a hundred parameters at most; the server never sees more",
    async (path) => {
      const method = path === "/token" ? "POST" : "GET";
      const told = async (count: number): Promise<string> => {
        const response = await fetch(`${gateway.url}${path}?${"a&".repeat(count - 1)}a`, { method });
        return `${response.status}: ${await response.text()}`;
      };
      const refusal = /^400: [^]*more than 100 parameters/;
      expect(await told(100)).not.toMatch(refusal);
      expect(await told(101)).toMatch(refusal);
    },
  );
});

describe("the code", () => {
  const trade = (changed: Record<string, string | undefined>) => async () => {
    const client = desk();
    const { url, verifier } = client.begin();
    const returned = await person().allow(url);
    const usual = {
      grant_type: "authorization_code",
      code: returned.searchParams.get("code") ?? "",
      redirect_uri: redirectUri,
      code_verifier: verifier,
    };
    return client.trade({ ...usual, ...changed });
  };

  test.each([
    ["without a verifier", { code_verifier: undefined }, "invalid_grant"],
    ["with another verifier", { code_verifier: "x".repeat(43) }, "invalid_grant"],
    ["with another redirect", { redirect_uri: "http://127.0.0.1:4712/callback" }, "invalid_grant"],
    ["without its redirect", { redirect_uri: undefined }, "invalid_request"],
    ["with another code", { code: "tgc_000000000000000000000000000000000000" }, "invalid_grant"],
    ["for another resource", { resource: "https://other.example/mcp" }, "invalid_target"],
    ["by another client", { client_id: "nobody" }, "invalid_client"],
  ])("%s buys nothing", async (_, changed, error) => {
    const response = await trade(changed)();
    expect([400, 401]).toContain(response.status);
    expect(await response.json()).toMatchObject({ error });
  });

  test("used twice buys nothing, and ends what it bought the first time", async () => {
    const client = desk();
    const { url, verifier } = client.begin();
    const returned = await person().allow(url);
    const tokens = await client.redeem(returned, verifier);
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    expect((await fetch(`${gateway.url}/v1/credits/balance`, { headers })).status).toBe(200);
    expect(await client.redeem(returned, verifier).catch(String)).toContain("invalid_grant");
    expect((await fetch(`${gateway.url}/v1/credits/balance`, { headers })).status).toBe(401);
    expect((await client.refresh(tokens.refresh_token)).status).toBe(400);
  });

  test("traded by many at one moment buys once at most", async () => {
    const client = desk();
    const { url, verifier } = client.begin();
    const returned = await person().allow(url);
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => client.redeem(returned, verifier)),
    );
    expect(results.filter(({ status }) => status === "fulfilled").length).toBeLessThanOrEqual(1);
  });
});

/** What came back to the client's redirect, or the page that was shown instead. */
async function outcome(url: string): Promise<{ error: string; description: string; left: boolean }> {
  const opened = await person().open(url);
  // What was asked for as an implicit answer is refused in the same place.
  const searchParams = new URLSearchParams(opened.url.search || opened.url.hash.slice(1));
  return {
    error: opened.left ? (searchParams.get("error") ?? "none") : String(opened.response.status),
    description: opened.left ? (searchParams.get("error_description") ?? "") : opened.html,
    left: opened.left,
  };
}

// The door for agents from outside: who gets in, and what the protocol promises.

import { describe, expect, test } from "bun:test";
import type { Receipt } from "../../client/src/operations.ts";
import { completeAddresses } from "../../gateway/src/config/addresses.ts";
import { credentialForm, useAgentAccount } from "./agent-account.ts";
import { askModern, openOldClient, useTool, type Rpc, type ToolResult } from "./agent-client.ts";
import { expectNothingHappened } from "../bad-inputs/nothing-happened.ts";
import { snapshotOrder } from "./agent-purchases.ts";
import { snapshotMicros } from "../support/purchases.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import { createPerson, registerClient, signInWith } from "../sign-in/oauth-person.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

const { gateway, account, mcp } = await useAgentAccount();

interface Bought {
  readonly request_id: string;
  readonly settled_micros_usd: number;
}

describe("who gets in", () => {
  test("without a credential the answer is 401, and says where to sign in and what for", async () => {
    for (const headers of [{}, { authorization: "Bearer tgk_nonsense" }, { authorization: "Basic YTpi" }]) {
      const { status, headers: answered } = await askModern(mcp, undefined, "tools/list", {}, { headers });
      expect(status).toBe(401);
      const challenge = answered.get("www-authenticate") ?? "";
      expect(challenge).toStartWith("Bearer ");
      expect(challenge).toContain('scope="tools:read tools:spend"');
      expect(challenge.includes('error="invalid_token"')).toBe("authorization" in headers);
      const metadataUrl = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? "";
      const metadata = (await (await fetch(metadataUrl)).json()) as Record<string, unknown>;
      expect(metadata["resource"]).toBe(mcp);
      expect(metadata["authorization_servers"]).toEqual([gateway.url]);
    }
  });

  test("every method of the door asks for a credential first; one that it does not have is refused to anybody", async () => {
    for (const method of ["POST", "GET", "DELETE"]) {
      const response = await fetch(mcp, { method });
      expect([method, response.status]).toEqual([method, 401]);
    }
    expect((await fetch(mcp, { method: "PUT" })).status).toBe(405);
  });

  test("a slash at the end of the door's address leads to the same door", async () => {
    const slashed = `${mcp}/`;
    const refused = await askModern(slashed, undefined, "tools/list");
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).toContain("/.well-known/oauth-protected-resource/mcp");
    expect((await askModern(slashed, account.key, "tools/list")).status).toBe(200);
    const client = await registerClient(gateway.url);
    const { url, verifier } = client.begin({ resource: slashed });
    const returned = await createPerson(gateway.url, account.key).allow(url, { spend: "yes" });
    const { access_token: token } = await client.redeem(returned, verifier);
    for (const address of [mcp, slashed]) {
      expect((await askModern(address, token, "tools/list")).status).toBe(200);
    }
    expect((await askModern(`${mcp}//`, account.key, "tools/list")).status).toBe(404);
  });

  test("a credential in the query is none", async () => {
    for (const name of ["access_token", "token", "api_key", "key"]) {
      const { status } = await askModern(`${mcp}?${name}=${account.key}`, undefined, "tools/list");
      expect([name, status]).toEqual([name, 401]);
    }
  });

  test("a revoked key is out, and its open session with it", async () => {
    const clock = createVirtualClock();
    const timed = await openTestGateway({ clock });
    const other = await timed.openAccount();
    const old = await openOldClient(`${timed.url}/mcp`, other.key);
    expect((await old.ask("tools/list")).status).toBe(200);
    await timed.store.keys.revoke(other.keyId, clock.wallMs());
    clock.advance(2_000);
    expect((await old.ask("tools/list")).status).toBe(401);
    expect((await askModern(`${timed.url}/mcp`, other.key, "tools/list")).status).toBe(401);
    await timed.close();
  });

  test("a token that may only read finds operations, and is told which scopes spending needs", async () => {
    const { access_token } = await signInWith(gateway.url, account.key, { spend: "" });
    const found = await useTool(mcp, access_token, "search", { query: "rerank" });
    expect(found.isError).toBeUndefined();
    const old = await openOldClient(mcp, access_token);
    await expectNothingHappened(gateway, async () => {
      for (const [name, given] of [
        ["use", snapshotOrder(0.1)],
        ["batch_use", { calls: [snapshotOrder(0.1)] }],
      ] as const) {
        const { status, headers } = await askModern(mcp, access_token, "tools/call", {
          name,
          arguments: given,
        });
        expect(status).toBe(403);
        const challenge = headers.get("www-authenticate") ?? "";
        expect(challenge).toContain('error="insufficient_scope"');
        expect(challenge).toContain('scope="tools:read tools:spend"');
        expect(challenge).toContain("resource_metadata=");
      }
      expect((await old.ask("tools/call", { name: "use", arguments: snapshotOrder(0.1) })).status).toBe(403);
    });
  });

  test("a token without any scope of ours is told at the door what to ask for, and where", async () => {
    const client = await registerClient(gateway.url);
    const asked = { scope: "tools:read tools:spend offline_access", prompt: "consent" };
    const { url, verifier } = client.begin(asked);
    const returned = await createPerson(gateway.url, account.key).allow(url);
    const { refresh_token } = await client.redeem(returned, verifier);
    const scope = "offline_access";
    const narrowed = await client.trade({ grant_type: "refresh_token", refresh_token, scope });
    const { access_token } = (await narrowed.json()) as { access_token: string };
    const { status, headers } = await askModern(mcp, access_token, "tools/list");
    expect(status).toBe(403);
    const challenge = headers.get("www-authenticate") ?? "";
    expect(challenge).toContain('error="insufficient_scope"');
    expect(challenge).toContain('scope="tools:read tools:spend"');
    expect(challenge).toContain("resource_metadata=");
  });

  test("a token that may spend buys, and its account pays", async () => {
    const { access_token } = await signInWith(gateway.url, account.key);
    const before = await gateway.balance(account);
    const { structuredContent } = await useTool(mcp, access_token, "use", snapshotOrder(0.1));
    expect(structuredContent).toMatchObject({ status: "completed", settled_micros_usd: snapshotMicros });
    expect(await gateway.balance(account)).toEqual({ balance: before.balance - snapshotMicros, held: 0 });
  });
});

describe("on this machine", () => {
  const metadataPath = "/.well-known/oauth-protected-resource/mcp";
  const metadataAt = (host: string): Promise<Response> =>
    fetch(gateway.url + metadataPath, { headers: { host } });

  test.each(["localhost", "[::1]"])(
    "the door is called %s where it was asked for so, and signs in",
    async (name) => {
      const host = `${name}:${gateway.port}`;
      const { headers } = await askModern(mcp, undefined, "tools/list", {}, { headers: { host } });
      expect(headers.get("www-authenticate")).toContain(`resource_metadata="http://${host}${metadataPath}"`);
      const resource = `http://${host}/mcp`;
      expect(await (await metadataAt(host)).json()).toMatchObject({
        resource,
        authorization_servers: [gateway.url],
      });

      const client = await registerClient(gateway.url);
      const { url, verifier } = client.begin({ resource });
      const returned = await createPerson(gateway.url, account.key).allow(url);
      const traded = await client.trade({
        grant_type: "authorization_code",
        code: returned.searchParams.get("code") ?? "",
        redirect_uri: client.redirectUri,
        code_verifier: verifier,
        resource,
      });
      const { access_token: token, refresh_token: renewal } = (await traded.json()) as Record<string, string>;
      expect((await askModern(mcp, token, "tools/list", {}, { headers: { host } })).status).toBe(200);
      const renewed = { grant_type: "refresh_token", refresh_token: renewal, resource };
      expect((await client.trade(renewed)).status).toBe(200);
    },
  );

  test("no other name is said back, nor another port", async () => {
    for (const host of ["evil.example", `evil.example:${gateway.port}`, "localhost:1", "localhost"]) {
      expect([host, (await metadataAt(host)).status]).toEqual([host, 403]);
      const { headers } = await askModern(mcp, undefined, "tools/list", {}, { headers: { host } });
      expect(headers.get("www-authenticate") ?? "").not.toContain(`//${host}/`);
    }
    const client = await registerClient(gateway.url);
    for (const resource of ["http://localhost:1/mcp", `https://localhost:${gateway.port}/mcp`]) {
      const returned = await createPerson(gateway.url, account.key).open(client.begin({ resource }).url);
      expect([resource, returned.url.searchParams.get("error")]).toEqual([resource, "invalid_target"]);
    }
  });

  test("a gateway that is known by another address has no names of this machine", async () => {
    const known = await openTestGateway({
      wrap: (parts) => ({
        ...parts,
        addresses: completeAddresses(parts.addresses.baseUrl.replace("127.0.0.1", "gate.example")),
      }),
    });
    const ask = (host: string): Promise<Response> => fetch(known.url + metadataPath, { headers: { host } });
    expect((await ask(`localhost:${known.port}`)).status).toBe(403);
    const host = `gate.example:${known.port}`;
    expect(await (await ask(host)).json()).toMatchObject({ resource: `http://${host}/mcp` });
    await known.close();
  });
});

describe("browsers and proxies", () => {
  test("a Host or Origin that is not ours is refused before anything is read", async () => {
    for (const headers of [
      { host: "evil.example" },
      { host: `evil.example:${gateway.port}` },
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: "not an origin" },
    ]) {
      const { status } = await askModern(mcp, account.key, "tools/list", {}, { headers });
      expect([headers, status]).toEqual([headers, 403]);
    }
  });

  test("programs without an Origin and pages of this machine pass", async () => {
    for (const headers of [{}, { origin: gateway.url }, { origin: "http://localhost:6274" }]) {
      const { status } = await askModern(mcp, account.key, "tools/list", {}, { headers });
      expect([headers, status]).toEqual([headers, 200]);
    }
  });

  test("an operator's public name is served when it is configured, and no other", async () => {
    const named = await openTestGateway({ config: "mcp: { allowed_hosts: [agents.example] }" });
    const { key } = await named.openAccount();
    const ask = async (host: string): Promise<number> =>
      (await askModern(`${named.url}/mcp`, key, "tools/list", {}, { headers: { host } })).status;
    expect([await ask("agents.example"), await ask("other.example")]).toEqual([200, 403]);
    await named.close();
  });

  test("a door with an address of its own is found there and nowhere else, and every answer has an id", async () => {
    const apart = await openTestGateway({
      wrap: (parts) => ({ ...parts, addresses: { ...parts.addresses, mcpUrl: "https://agents.example/" } }),
    });
    const { key } = await apart.openAccount();
    const ask = (host?: string): ReturnType<typeof askModern> =>
      askModern(`${apart.url}/`, key, "tools/list", {}, host === undefined ? {} : { headers: { host } });
    const there = await ask("agents.example");
    expect([there.status, there.headers.has("x-request-id")]).toEqual([200, true]);
    expect((await ask()).status).toBe(404);
    const stranger = await fetch(`${apart.url}/`, { method: "POST", headers: { host: "agents.example" } });
    expect(stranger.headers.get("www-authenticate")).toContain(
      'resource_metadata="https://agents.example/.well-known/oauth-protected-resource"',
    );
    await apart.close();
  });

  test("headers that say another method or tool than the body are refused, and nothing runs", async () => {
    await expectNothingHappened(gateway, async () => {
      for (const headers of [{ "mcp-name": "search" }, { "mcp-method": "tools/list" }]) {
        const { status, message } = await askModern(
          mcp,
          account.key,
          "tools/call",
          { name: "use", arguments: snapshotOrder(0.1) },
          { headers },
        );
        expect([status, message.error?.code]).toEqual([400, -32020]);
      }
    });
  });

  test("a message is named in at most 256 characters, its token for progress too", async () => {
    const old = await openOldClient(mcp, account.key);
    const search = { name: "search", arguments: { query: "rerank" } };
    const [fits, long] = ["x".repeat(256), "x".repeat(257)];
    const called = (id: string, progressToken: string): Promise<number> =>
      old.ask("tools/call", { ...search, _meta: { progressToken } }, id).then(({ status }) => status);
    expect(await called(fits, fits)).toBe(200);
    expect([await called(long, fits), await called(fits, long)]).toEqual([400, 400]);
    const { message } = await old.ask("tools/list", {}, long);
    expect(message.error).toMatchObject({ code: -32600, message: expect.stringContaining("256") as string });
  });

  test("a method, a tool or a revision with a long name is refused without saying the name back", async () => {
    const long = "x".repeat(257);
    const tool = { headers: { "mcp-name": "use" } };
    const revision = { meta: { "io.modelcontextprotocol/protocolVersion": long } };
    const asked = await Promise.all([
      askModern(mcp, account.key, long),
      askModern(mcp, account.key, "tools/call", { name: long, arguments: {} }, tool),
      askModern(mcp, account.key, "tools/list", {}, revision),
    ]);
    for (const { status, message } of asked) {
      expect([status, message.error?.code]).toEqual([400, -32600]);
      expect(JSON.stringify(message)).not.toContain("xx");
    }
  });

  test("an argument that no address has room for is refused, and no upstream sees it", async () => {
    await expectNothingHappened(gateway, async () => {
      const order = { ...snapshotOrder(0.1), arguments: { ticker: "A".repeat(500_000) } };
      const { structuredContent } = await useTool(mcp, account.key, "use", order);
      expect(structuredContent).toMatchObject({ status: "refused", error: { code: "invalid_arguments" } });
    });
  });

  test("beside what a tool is given a message has at most a thousand values, a tool may be given more", async () => {
    const list = (count: number): string[] => Array.from({ length: count }, () => "x");
    const listed = (count: number): Promise<Rpc> =>
      askModern(mcp, account.key, "tools/list", {}, { meta: { tags: list(count) } });
    expect((await listed(900)).status).toBe(200);
    const { status, message } = await listed(1_000);
    expect([status, message.error?.code]).toEqual([400, -32600]);
    expect(message.error?.message).toContain("1000 values");
    const { structuredContent } = await useTool(mcp, account.key, "use", {
      operation_id: "rerank.create",
      arguments: { query: "tea", documents: list(2_000) },
      max_price_usd: 1,
    });
    expect(structuredContent["status"]).toBe("completed");
  });

  test("a revision that nobody serves is named as such", async () => {
    const { status, message } = await askModern(
      mcp,
      account.key,
      "tools/list",
      {},
      {
        headers: { "mcp-protocol-version": "2030-01-01" },
        meta: { "io.modelcontextprotocol/protocolVersion": "2030-01-01" },
      },
    );
    expect([status, message.error?.code]).toEqual([400, -32022]);
    const old = await openOldClient(mcp, account.key);
    const response = await old.open(
      { jsonrpc: "2.0", id: 1, method: "tools/list" },
      { "mcp-protocol-version": "2030-01-01" },
    );
    expect(response.status).toBe(400);
  });
});

test("two accounts that use the door at once never meet", async () => {
  const accounts = await Promise.all(
    Array.from({ length: 2 }, async (_, n) => {
      const opened = await gateway.openAccount({ creditUsd: "5", tier: "enterprise" });
      return { ...opened, client: await openOldClient(mcp, opened.key), word: `word${n}` };
    }),
  );
  const rerank = (word: string, n: number) => ({
    operation_id: "rerank.create",
    // Long enough to cost something.
    arguments: { query: word, documents: [`${word} ${n}`, `${word} `.repeat(100)] },
    max_price_usd: 0.1,
  });
  const answers = await Promise.all(
    accounts.map(({ key, client, word }) =>
      Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          const modern = await useTool(mcp, key, "use", rerank(word, n));
          const old = await client.ask("tools/call", { name: "use", arguments: rerank(word, n) });
          const results = [modern, old.message.result as unknown as ToolResult];
          for (const { structuredContent } of results) {
            const text = JSON.stringify(structuredContent);
            expect(text).toContain(`"${word} ${n}"`);
            expect(text).not.toContain(word === "word0" ? "word1" : "word0");
          }
          return results.map(({ structuredContent }) => structuredContent as unknown as Bought);
        }),
      ),
    ),
  );
  // Each has paid for its own forty calls, which are those that it has receipts of.
  for (const [at, own] of accounts.entries()) {
    const bought = answers[at]?.flat() ?? [];
    const listed = await gateway.call(own, "/v1/requests?limit=100");
    const { data } = (await listed.json()) as { data: Receipt[] };
    expect(data).toHaveLength(40);
    expect(new Set(data.map((receipt) => receipt.request_id))).toEqual(
      new Set(bought.map((call) => call.request_id)),
    );
    const charged = bought.reduce((sum, call) => sum + call.settled_micros_usd, 0);
    expect(charged).toBeGreaterThan(40);
    expect(await gateway.balance(own)).toEqual({ balance: 5_000_000 - charged, held: 0 });
  }
});

test("nothing that opens a door is ever logged", async () => {
  const { sessionId, ask } = await openOldClient(mcp, account.key);
  const bought = await ask("tools/call", { name: "use", arguments: snapshotOrder(0.1) });
  const { structuredContent } = bought.message.result as unknown as ToolResult;
  const { request_id: id } = structuredContent as unknown as Bought;
  const { access_token: token } = await signInWith(gateway.url, account.key);
  expect((await askModern(mcp, token, "tools/list")).status).toBe(200);

  const logged = gateway.logged.join("\n");
  expect(logged).toContain(id);
  for (const secret of [account.key, token, sessionId]) expect(logged).not.toContain(secret);
  expect(logged).not.toMatch(credentialForm);
});

// Sessions of the protocol's older revisions: whose they are, how many there may be, and when they end.

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { heapStats } from "bun:jsc";
import type { AgentServer } from "../../gateway/src/doors/mcp/mcp-door.ts";
import { useAgentAccount } from "./agent-account.ts";
import { introduction, openOldClient, send, type OldClient, type Rpc } from "./agent-client.ts";
import { createPerson, registerClient, type Client } from "../sign-in/oauth-person.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";
import { snapshotOrder } from "./agent-purchases.ts";

const { gateway, account, mcp } = await useAgentAccount();

const busy = await openTestGateway({ config: "tiers: { enterprise: { rpm: 10000 } }" });
const busyMcp = `${busy.url}/mcp`;
beforeEach(() => busy.sandbox.clear());
afterAll(async () => {
  expect(await busy.audit()).toEqual([]);
  await busy.close();
});

interface SigningIn {
  readonly client: Client;
  readonly key: string;
  readonly spend?: string;
}

async function signInAt(gatewayUrl: string, { client, key, spend = "yes" }: SigningIn): Promise<string> {
  const { url, verifier } = client.begin();
  const returned = await createPerson(gatewayUrl, key).allow(url, { spend });
  return (await client.redeem(returned, verifier)).access_token;
}

describe("sessions of the older revisions", () => {
  test("belong to the credential that opened them", async () => {
    const other = await gateway.openAccount();
    const old = await openOldClient(mcp, account.key);
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const foreign = await old.open(list, { authorization: `Bearer ${other.key}` });
    const random = await old.open(list, { "mcp-session-id": crypto.randomUUID() });
    expect([foreign.status, random.status]).toEqual([404, 404]);
    expect(await foreign.json()).toEqual(await random.json());
    expect((await old.ask("tools/list")).status).toBe(200);
  });

  test("go on for a client that was told to ask for more, and to no other client", async () => {
    const signIn = (client: Client, spend: string) =>
      signInAt(gateway.url, { client, key: account.key, spend });
    const client = await registerClient(gateway.url);
    const old = await openOldClient(mcp, await signIn(client, ""));
    const params = { name: "use", arguments: snapshotOrder(0.1) };
    expect((await old.ask("tools/call", params, 7)).status).toBe(403);
    const order = { jsonrpc: "2.0", id: 7, method: "tools/call", params };
    const widened = await signIn(client, "yes");
    const again = await old.open(order, { authorization: `Bearer ${widened}` });
    expect(await again.text()).toContain('"status":"completed"');
    const foreign = await signIn(await registerClient(gateway.url), "yes");
    for (const credential of [foreign, account.key]) {
      expect((await old.open(order, { authorization: `Bearer ${credential}` })).status).toBe(404);
    }
  });

  test("go on when the sign-in that opened them is ended, and end with the one that they were used under last", async () => {
    const clock = createVirtualClock();
    const own = await openTestGateway({ clock });
    const { accountId, key } = await own.openAccount();
    const client = await registerClient(own.url);
    const signIn = () => signInAt(own.url, { client, key });
    const endOldest = async (): Promise<void> => {
      const living = (await own.store.grants.list(accountId)).filter(
        ({ revokedAtMs }) => revokedAtMs === undefined,
      );
      await own.store.grants.revoke(living.at(-1)?.id ?? "", clock.wallMs());
      // A process hears within a minute of a session that has ended.
      clock.advance(2 * 60_000);
    };
    const old = await openOldClient(`${own.url}/mcp`, await signIn());
    const list = async (token: string): Promise<number> => {
      const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
      return (await old.open(message, { authorization: `Bearer ${token}` })).status;
    };
    clock.advance(1_000);
    const second = await signIn();
    expect(await list(second)).toBe(200);
    await endOldest();
    expect(await list(second)).toBe(200);
    const third = await signIn();
    await endOldest();
    expect(await list(third)).toBe(404);
    await own.close();
  });

  test("are not opened by what is no whole introduction, and it is told what is missing", async () => {
    const whole = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "a", version: "1" },
    };
    const { clientInfo: _, ...nameless } = whole;
    const unversioned = { ...whole, clientInfo: { name: "a" } };
    for (const [message, code, said] of [
      [{ id: 1, params: nameless }, -32602, "params.clientInfo"],
      [{ id: 1, params: unversioned }, -32602, "params.clientInfo.version"],
      [{ id: 1 }, -32602, "params"],
      [{ params: whole }, -32600, "an id"],
    ] as const) {
      const refused = await send(mcp, {
        method: "POST",
        headers: {
          authorization: `Bearer ${account.key}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({ jsonrpc: "2.0", method: "initialize", ...message }),
      });
      expect([refused.status, refused.message.error?.code]).toEqual([400, code]);
      expect(refused.message.error?.message).toContain(said);
      expect(refused.headers.has("mcp-session-id")).toBe(false);
    }
  });

  test("are open to whoever takes events, in whatever words, and to nobody who would not", async () => {
    const ask = (accept: string, sessionId?: string): Promise<Rpc> =>
      send(mcp, {
        method: "POST",
        headers: {
          authorization: `Bearer ${account.key}`,
          "content-type": "application/json",
          accept,
          ...(sessionId === undefined ? {} : { "mcp-session-id": sessionId }),
        },
        body: sessionId === undefined ? introduction({}, {}) : JSON.stringify(listTools),
      });
    const listTools = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    for (const accept of [
      "*/*",
      "text/*",
      "text/event-stream",
      "Text/Event-Stream",
      "application/json;q=0.9, */*;q=0.5",
      "text/event-stream;q=1,application/json",
    ]) {
      const opened = await ask(accept);
      const sessionId = opened.headers.get("mcp-session-id") ?? "none";
      expect([accept, opened.status, sessionId]).toEqual([
        accept,
        200,
        expect.stringMatching(/^.{36}$/) as string,
      ]);
      const listed = await ask(accept, sessionId);
      expect([accept, listed.status]).toEqual([accept, 200]);
      expect(listed.message.result?.["tools"]).toBeArrayOfSize(5);
    }
    for (const accept of ["application/json", "text/html", "application/text/event-stream"]) {
      const refused = await ask(accept);
      expect([accept, refused.status]).toEqual([accept, 406]);
      expect(refused.headers.has("mcp-session-id")).toBe(false);
    }
  });

  test("have ids nobody can guess", async () => {
    const ids = await Promise.all(
      Array.from({ length: 8 }, async () => (await openOldClient(mcp, account.key)).sessionId),
    );
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test("end when they are told to, and are needed for everything but opening one", async () => {
    const old = await openOldClient(mcp, account.key);
    const headers = { authorization: `Bearer ${account.key}`, "mcp-session-id": old.sessionId };
    expect((await fetch(mcp, { method: "DELETE", headers })).status).toBe(200);
    expect((await old.ask("tools/list")).status).toBe(404);
    const without = await send(mcp, {
      method: "POST",
      headers: {
        authorization: `Bearer ${account.key}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    expect(without.status).toBe(400);
  });

  describe("and what a client says about itself", () => {
    const introduce = (capabilities: object, info: object): Promise<Rpc> =>
      send(mcp, {
        method: "POST",
        headers: {
          authorization: `Bearer ${account.key}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: introduction(capabilities, info),
      });

    test("more than 16 KB of it opens none", async () => {
      for (const refused of [
        await introduce({ experimental: { own: { text: "x".repeat(20_000) } } }, {}),
        await introduce({}, { name: "x".repeat(20_000) }),
      ]) {
        expect([refused.status, refused.headers.has("mcp-session-id")]).toEqual([400, false]);
        expect(refused.message.error?.code).toBe(-32602);
        expect(refused.message.error?.message).toContain("16384 characters");
      }
    });

    test("its pictures are taken, and not kept", async () => {
      const picture = (n: number): string => `data:image/png;base64,${String(n).padEnd(3_000_000, "A")}`;
      const before = await heapBytes();
      for (let opened = 0; opened < 20; opened++) {
        const { status, headers } = await introduce(
          { elicitation: {} },
          { icons: [{ src: picture(opened) }] },
        );
        expect([status, headers.has("mcp-session-id")]).toEqual([200, true]);
      }
      expect((await heapBytes()) - before).toBeLessThan(15_000_000);
    });

    const heapBytes = async (): Promise<number> => {
      // What was just answered lets go of its last pieces a moment later.
      await Bun.sleep(200);
      Bun.gc(true);
      return heapStats().heapSize;
    };
  });

  test("are bounded for each client, the oldest going first", async () => {
    const { key } = await gateway.openAccount();
    const first = await openOldClient(mcp, key);
    for (let opened = 0; opened < 50; opened++) await openOldClient(mcp, key);
    expect((await first.ask("tools/list")).status).toBe(404);
  });

  describe("in their bound", () => {
    const openSome = (key: string, count: number): Promise<OldClient[]> =>
      Promise.all(Array.from({ length: count }, () => openOldClient(busyMcp, key)));
    const call = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "use", arguments: snapshotOrder(0.1) },
    };
    const readCall = async (client: OldClient): Promise<string> => (await client.open(call)).text();
    const sessionCount = async (): Promise<number> => {
      const told = await (await fetch(`${busy.url}/metrics`)).text();
      return Number(/^tollgate_agent_sessions (\d+)$/m.exec(told)?.[1]);
    };

    test("end no call that runs: the oldest that is idle goes first", async () => {
      const { key } = await busy.openAccount({ tier: "enterprise", creditUsd: "20" });
      await busy.sandbox.fault({ vendor: "financialdatasets", latency_ms: 3_000 });
      const running = await openOldClient(busyMcp, key);
      const answer = readCall(running);
      await busy.sandbox.busyWith(1);
      const idle = await openOldClient(busyMcp, key);
      await openSome(key, 49);
      expect(await answer).toContain('"status":"completed"');
      expect((await idle.ask("tools/list")).status).toBe(404);
      expect((await running.ask("tools/list")).status).toBe(200);
    });

    test("are opened no more while all of them are busy", async () => {
      const { key } = await busy.openAccount({ tier: "enterprise", creditUsd: "20" });
      await busy.sandbox.fault({ vendor: "financialdatasets", latency_ms: 1_500, times: 50 });
      const clients = await openSome(key, 50);
      const answers = clients.map(readCall);
      await busy.sandbox.busyWith(50);
      expect((await openOldClient(busyMcp, key)).sessionId).toBe("");
      for (const answer of await Promise.all(answers)) expect(answer).toContain('"status":"completed"');
      expect((await openOldClient(busyMcp, key)).sessionId).not.toBe("");
    });

    test("stay within it however many come at once", async () => {
      const { key } = await busy.openAccount({ tier: "enterprise", creditUsd: "20" });
      const before = await sessionCount();
      for (let burst = 0; burst < 3; burst++) {
        await openSome(key, 150);
        expect((await sessionCount()) - before).toBe(50);
      }
    });

    test("are not kept busy by a request that was cancelled", async () => {
      const { key } = await busy.openAccount({ tier: "enterprise", creditUsd: "20" });
      await busy.sandbox.fault({ vendor: "financialdatasets", latency_ms: 1_500 });
      const old = await openOldClient(busyMcp, key);
      const answer = readCall(old);
      await busy.sandbox.busyWith(1);
      await old.open({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
      expect(await answer).not.toContain("result");
      await openSome(key, 50);
      expect((await old.ask("tools/list")).status).toBe(404);
    });
  });

  test("remember nothing of a request that was cancelled, which is never answered", async () => {
    const servers: AgentServer[] = [];
    const watched = await openTestGateway({
      config: "mcp: { auto_approve_usd: 0.04 }",
      parts: { extendAgentServer: (server) => void servers.push(server) },
    });
    const { key } = await watched.openAccount({ creditUsd: "5" });
    const old = await openOldClient(`${watched.url}/mcp`, key, { elicitation: {} });
    const params = { name: "use", arguments: snapshotOrder(0.1) };
    const response = await old.open({ jsonrpc: "2.0", id: "dear", method: "tools/call", params });
    await old.open({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "dear" } });
    expect(await response.text()).not.toMatch(/"result"|"error"/);

    const { transport } = servers[0]?.server ?? {};
    const answered = transport?.send({ jsonrpc: "2.0", id: "dear", result: {} });
    expect(await answered?.catch(String)).toContain("No connection established");
    await watched.close();
  });

  test("are bounded for each account too, however many keys it has", async () => {
    const owner = await gateway.openAccount();
    const keys = await Promise.all(Array.from({ length: 5 }, () => gateway.issueKey(owner)));
    const first = await openOldClient(mcp, owner.key);
    const stranger = await openOldClient(mcp, account.key);
    for (let opened = 0; opened < 200; opened++) await openOldClient(mcp, keys[opened % 5]?.key ?? "");
    expect((await first.ask("tools/list")).status).toBe(404);
    expect((await stranger.ask("tools/list")).status).toBe(200);
  });

  test("end when nobody used them for a week", async () => {
    const clock = createVirtualClock();
    const timed = await openTestGateway({ clock });
    const { key } = await timed.openAccount();
    const old = await openOldClient(`${timed.url}/mcp`, key);
    const weekMs = 7 * 24 * 60 * 60_000;
    for (const quietMs of [29 * 60_000, 31 * 60_000, weekMs - 1]) {
      clock.advance(quietMs);
      expect((await old.ask("tools/list")).status).toBe(200);
    }
    clock.advance(weekMs);
    expect((await old.ask("tools/list")).status).toBe(404);
    await timed.close();
  });

  test("that the store could not write down go on where they were opened", async () => {
    const clock = createVirtualClock();
    const timed = await openTestGateway({
      clock,
      wrap: (parts) => {
        const put = () => Promise.reject(new Error("out of order"));
        return { ...parts, store: { ...parts.store, signIns: { ...parts.store.signIns, put } } };
      },
    });
    const { key } = await timed.openAccount();
    const old = await openOldClient(`${timed.url}/mcp`, key);
    clock.advance(10 * 60_000);
    expect((await old.ask("tools/list")).status).toBe(200);
    expect((await old.ask("tools/list")).status).toBe(200);
    await timed.close();
  });

  test("in which a client only listens for an hour go on when it asks again", async () => {
    const clock = createVirtualClock();
    const timed = await openTestGateway({ clock });
    const { key } = await timed.openAccount({ creditUsd: "5" });
    const mcpUrl = `${timed.url}/mcp`;
    const old = await openOldClient(mcpUrl, key);
    const listening = await fetch(mcpUrl, {
      headers: {
        authorization: `Bearer ${key}`,
        accept: "text/event-stream",
        "mcp-session-id": old.sessionId,
      },
    });
    expect(listening.status).toBe(200);
    clock.advance(60 * 60_000);
    const { message } = await old.ask("tools/call", { name: "use", arguments: snapshotOrder(0.1) });
    expect(message.result).toMatchObject({ structuredContent: { status: "completed" } });
    // Its stream ended with what was in memory; the client opens another one.
    await listening.text();
    await timed.close();
  });

  test("listen on a new stream when their client lost the one from before and nobody noticed", async () => {
    const old = await openOldClient(mcp, account.key);
    const listen = (headers: Record<string, string> = {}): Promise<Response> =>
      fetch(mcp, {
        headers: {
          authorization: `Bearer ${account.key}`,
          accept: "text/event-stream",
          "mcp-session-id": old.sessionId,
          ...headers,
        },
      });
    const lost = await listen();
    // One that could not listen itself takes nobody's stream.
    expect((await listen({ "mcp-protocol-version": "1999-01-01" })).status).toBe(400);
    const anew = await listen();
    expect([lost.status, anew.status]).toEqual([200, 200]);
    expect(await lost.text()).toBe("");
    expect((await old.ask("tools/list")).status).toBe(200);
    await anew.body?.cancel();
  });

  test.each(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])("speak %s", async (version) => {
    const old = await openOldClient(mcp, account.key, {}, version);
    const { status, message } = await old.ask("tools/call", { name: "use", arguments: snapshotOrder(0.1) });
    expect(status).toBe(200);
    expect(message.result?.["isError"]).toBeUndefined();
  });
});

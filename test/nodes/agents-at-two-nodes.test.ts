// Agents whose requests are sent to one process and the other, without anybody minding which.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { GatewayParts } from "../../gateway/src/gateway.ts";
import { openOldClient, useTool, type OldClient } from "../agents/agent-client.ts";
import type { TestAccount } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { createPerson, registerClient, signInWith } from "../sign-in/oauth-person.ts";
import { openTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

const cheapMicros = 1_450;
const cheap = {
  operation_id: "reseller.social_c.tag_detail",
  arguments: { tag_name: "cats" },
  max_price_usd: 0.1,
};
const dearMicros = 48_000;
const dear = (ticker: string) => ({
  operation_id: "financial.metrics.snapshot",
  arguments: { ticker },
  max_price_usd: 0.1,
});

let nodes: TwoNodes;
let account: TestAccount;
let mcp: string;

beforeAll(async () => {
  nodes = await openTwoNodes({ config: "mcp: { auto_approve_usd: 0.01 }", wrap: farFromStore });
  mcp = `${nodes.url}/mcp`;
});
beforeEach(async () => {
  nodes.sendTo();
  await nodes.first.sandbox.clear();
  account = await nodes.first.openAccount({ creditUsd: "5" });
});
afterAll(async () => {
  expect(await nodes.second.audit()).toEqual([]);
  await nodes.close();
});

/** A store on another machine answers a little later, so requests overtake each other while they wait for it. */
const farFromStore = (parts: GatewayParts): GatewayParts => {
  const { signIns } = parts.store;
  const find: typeof signIns.find = async (...asked) => {
    await Bun.sleep(10);
    return signIns.find(...asked);
  };
  return { ...parts, store: { ...parts.store, signIns: { ...signIns, find } } };
};

const spent = async (): Promise<number> => 5_000_000 - (await nodes.second.balance(account)).balance;

describe("a session of the older revisions", () => {
  test("is known to every process, as its client introduced itself", async () => {
    nodes.sendTo("first");
    const old = await openOldClient(mcp, account.key, { elicitation: {} });
    nodes.sendTo("second");
    expect((await old.ask("tools/list")).message.result).toHaveProperty("tools");
    nodes.sendTo();
    for (let turn = 0; turn < 4; turn++) {
      const { message } = await old.ask("tools/call", { name: "use", arguments: cheap });
      expect(message.result).toMatchObject({ structuredContent: { status: "completed" } });
    }
    expect(await spent()).toBe(4 * cheapMicros);
  });

  test("has its person asked at a process that had to open it again, which it does once", async () => {
    nodes.sendTo("first");
    const old = await openOldClient(mcp, account.key, { elicitation: {} });
    nodes.sendTo("second");
    const [one, other] = await Promise.all([askFor(old, 5, dear("AAPL")), askFor(old, 6, dear("MSFT"))]);
    // Two sessions would both begin to count, and neither would hear what its client answers to the other.
    expect(one.questionId).not.toBe(other.questionId);
    expect(await one.agree()).toContain('"status":"completed"');
    expect(await other.agree()).toContain('"status":"completed"');
    expect(await spent()).toBe(2 * dearMicros);
  });

  test("is nobody else's at any process, and ends where it is not known yet", async () => {
    nodes.sendTo("first");
    const old = await openOldClient(mcp, account.key);
    const other = await nodes.first.openAccount();
    nodes.sendTo("second");
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    expect((await old.open(list, { authorization: `Bearer ${other.key}` })).status).toBe(404);
    nodes.sendTo("first");
    const headers = { authorization: `Bearer ${account.key}`, "mcp-session-id": old.sessionId };
    expect((await fetch(mcp, { method: "DELETE", headers })).status).toBe(200);
    nodes.sendTo("second");
    expect((await old.ask("tools/list")).status).toBe(404);
  });

  test("buys a repeated request once, whichever process the repetition comes to", async () => {
    nodes.sendTo("first");
    const old = await openOldClient(mcp, account.key);
    const batch = { name: "batch_use", arguments: { calls: [cheap, cheap] } };
    for (const [id, params, micros] of [
      [7, { name: "use", arguments: cheap }, cheapMicros],
      [8, batch, 2 * cheapMicros],
    ] as const) {
      const before = await spent();
      await nodes.first.sandbox.fault({ vendor: "tikhub", latency_ms: 300 });
      nodes.sendTo("first");
      const first = old.ask("tools/call", params, id);
      await until(async () => (await nodes.first.sandbox.book()).some(({ status }) => status === null));
      nodes.sendTo("second");
      const during = await old.ask("tools/call", params, id);
      await first;
      const after = await old.ask("tools/call", params, id);
      expect(JSON.stringify(during.message.result)).toContain("idempotency_conflict");
      expect(JSON.stringify(after.message.result)).toContain("idempotency_conflict");
      expect((await spent()) - before).toBe(micros);
    }
  });

  test("buys a repeated request for which its person was asked once, too, and asks them once", async () => {
    nodes.sendTo("first");
    const old = await openOldClient(mcp, account.key, { elicitation: {} });
    const batch = { calls: [cheap, dear("AAPL")] };
    for (const [id, name, given, micros] of [
      [7, "use", dear("AAPL"), dearMicros],
      [8, "batch_use", batch, cheapMicros + dearMicros],
    ] as const) {
      const before = await spent();
      nodes.sendTo("first");
      expect(await (await askFor(old, id, given, name)).agree()).toContain('"status":"completed"');
      nodes.sendTo("second");
      const again = await old.ask("tools/call", { name, arguments: given }, id);
      expect(JSON.stringify(again.message.result)).toContain("idempotency_conflict");
      expect(again.before).toEqual([]);
      expect((await spent()) - before).toBe(micros);
    }
  }, 10_000);
});

describe("a sign-in", () => {
  test("may come to another process at every step, and its tokens are good at all of them", async () => {
    const { client, access_token, refresh_token } = await signInWith(nodes.url, account.key);
    for (const node of ["first", "second"] as const) {
      nodes.sendTo(node);
      const used = await useTool(mcp, access_token, "use", cheap);
      expect(used.structuredContent["status"]).toBe("completed");
    }
    nodes.sendTo();
    const renewed = await client.refresh(refresh_token);
    expect(renewed.status).toBe(200);
  });

  test("a code is traded once, however many processes are shown it", async () => {
    const client = await registerClient(nodes.url);
    const { url, verifier } = client.begin();
    const returned = await createPerson(nodes.url, account.key).allow(url);
    const trades = await Promise.allSettled(
      Array.from({ length: 6 }, () => client.redeem(returned, verifier)),
    );
    expect(trades.filter(({ status }) => status === "fulfilled").length).toBeLessThanOrEqual(1);
  });

  test("a grant that was ended at one process is ended at once at the others", async () => {
    const { client, access_token } = await signInWith(nodes.url, account.key);
    nodes.sendTo("second");
    const { structuredContent } = await useTool(mcp, access_token, "use", cheap);
    expect(structuredContent["status"]).toBe("completed");
    nodes.sendTo("first");
    const revoked = await fetch(`${nodes.url}/revoke`, {
      method: "POST",
      body: new URLSearchParams({ token: access_token, client_id: client.clientId }),
    });
    expect(revoked.status).toBe(200);
    nodes.sendTo("second");
    const late = await nodes.second.call({ ...account, key: access_token }, "/v1/credits/balance");
    expect(late.status).toBe(401);
  });
});

/** Begins a call that needs a person, up to the question; their yes brings all that the call was answered with. */
async function askFor(old: OldClient, id: number, given: object, name = "use") {
  const params = { name, arguments: given };
  const response = await old.open({ jsonrpc: "2.0", id, method: "tools/call", params });
  const chunks = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = "";
  const question = (): string | undefined =>
    text.split("\n").find((line) => line.includes('"elicitation/create"'));
  const more = async (): Promise<boolean> => {
    const read = await chunks.read();
    text += new TextDecoder().decode(read.value);
    return !read.done;
  };
  while (question() === undefined && (await more()));
  const { id: questionId } = JSON.parse((question() ?? "").slice("data: ".length)) as { id: number };
  const agreed = { jsonrpc: "2.0", id: questionId, result: { action: "accept", content: { approve: true } } };
  return {
    questionId,
    agree: async (): Promise<string> => {
      await old.open(agreed);
      while (await more());
      return text;
    },
  };
}

import Ajv2020 from "ajv/dist/2020.js";
import { afterAll, describe, expect, test } from "bun:test";

import { askModern, modernHeaders, openOldClient, send, type Rpc } from "../agents/agent-client.ts";
import { snapshotMicros } from "../support/purchases.ts";
import { openBadInputGateway } from "./bad-input-gateway.ts";
import { expectNothingHappened } from "./nothing-happened.ts";

const { gateway, account, close } = await openBadInputGateway();
afterAll(close);

describe("the agent door", () => {
  const mcp = (): string => `${gateway.url}/mcp`;
  /** A `use` of the snapshot with its cap as raw JSON text, so that also what is no JSON can be sent. */
  const useWithCap = (cap: string, rest = '"arguments":{"ticker":"AAPL"}'): Promise<Rpc> =>
    send(mcp(), {
      method: "POST",
      headers: modernHeaders(account.key, "tools/call", "use"),
      body:
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"use","arguments":{' +
        `"operation_id":"financial.metrics.snapshot",${rest}${cap === "" ? "" : `,"max_price_usd":${cap}`}},` +
        '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
        '"io.modelcontextprotocol/clientCapabilities":{}}}}',
    });

  test("MCP use: a cap that is missing, absurd or too low is refused before any spend", async () => {
    const { tools } = (await askModern(mcp(), account.key, "tools/list")).message.result as {
      tools: readonly { name: string; outputSchema: object }[];
    };
    const isPromised = new Ajv2020({ strict: false, validateFormats: false }).compile(
      tools.find(({ name }) => name === "use")?.outputSchema ?? false,
    );
    await expectNothingHappened(gateway, async () => {
      for (const [cap, code] of [
        ["", "invalid_arguments"],
        ["-1", "invalid_arguments"],
        ['"1"', "invalid_arguments"],
        ["1e309", "invalid_arguments"],
        ["null", "invalid_arguments"],
        ["100001", "invalid_arguments"],
        ["0", "price_cap_exceeded"],
        ["0.047999", "price_cap_exceeded"],
      ] as const) {
        const { status, message } = await useWithCap(cap);
        expect([cap, status]).toEqual([cap, 200]);
        expect(message.result).toMatchObject({
          isError: true,
          structuredContent: { error: { code, charged: "no" } },
        });
        expect([cap, isPromised(message.result?.["structuredContent"])]).toEqual([cap, true]);
      }
      const notJson = await useWithCap("NaN");
      expect([notJson.status, notJson.message.error?.code]).toEqual([400, -32700]);
      const list = await useWithCap("1", '"arguments":[]');
      expect(list.message.result).toMatchObject({ isError: true });
    });
    const { message } = await useWithCap("0.048");
    expect(message.result).toMatchObject({ structuredContent: { settled_micros_usd: snapshotMicros } });
  });

  test("MCP: foreign sessions, origins, tokens and huge batches are refused", async () => {
    const stranger = await gateway.openAccount();
    const session = await openOldClient(mcp(), stranger.key);
    await expectNothingHappened(gateway, async () => {
      const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
      const post = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
        fetch(mcp(), {
          method: "POST",
          headers: { ...modernHeaders(account.key, "tools/list"), ...headers },
          body: JSON.stringify(body),
        });
      expect((await post(Array.from({ length: 10_000 }, () => list))).status).toBe(400);
      expect((await post(list, { "mcp-protocol-version": "1999-01-01" })).status).toBe(400);
      expect((await post(list, { origin: "https://evil.example" })).status).toBe(403);
      const foreign = { "mcp-session-id": session.sessionId, "mcp-protocol-version": "2025-11-25" };
      expect((await post(list, foreign)).status).toBe(404);
      const token = await post(list, { authorization: `Bearer tgo_${"A".repeat(36)}` });
      expect(token.status).toBe(401);
      expect(token.headers.get("www-authenticate")).toContain("resource_metadata=");
    });
  });
});

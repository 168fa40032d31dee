// A gateway that is told to stop: it sends what was asked for and paid, and nobody who asked for nothing keeps it.

import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { modernHeaders, openOldClient } from "../agents/agent-client.ts";
import { openGatewayProcess } from "../support/gateway-process.ts";
import { models, openModelVendors } from "../streams/model-vendors.ts";
import { testStore } from "../support/test-data.ts";

/** More than the kernel keeps for a connection, on both of its ends. */
const answerBytes = 24 * 1024 * 1024;
/** Far more than a stop takes, and far less than running calls are waited for. */
const quickMs = 8_000;

const closings: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).toReversed()) await close();
});

// On Postgres it is started elsewhere (nodes.services.test.ts).
describe.skipIf(testStore !== "sqlite")("a stop", () => {
  test("lets a caller who reads slowly have all of an answer", async () => {
    const program = await openProgram();
    const content = "x".repeat(answerBytes);
    program.doubles.openai.answerNext({
      status: 200,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        id: "c",
        object: "chat.completion",
        choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
        usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
      }),
    });
    const caller = program.ask();
    await caller.begun;
    await program.stopFor(1_000);
    expect(await caller.readAll()).toBeGreaterThan(answerBytes);
    expect(await program.exited).toBe(0);
    expect(program.stderr()).not.toContain("cut off");
  });

  test("ends the streams on which agents listen, in good order, and waits neither for them nor for who asks nothing", async () => {
    const program = await openProgram();
    const mcp = `${program.url}/mcp`;
    const { sessionId } = await openOldClient(mcp, program.key);
    const news = await fetch(mcp, {
      headers: {
        authorization: `Bearer ${program.key}`,
        accept: "text/event-stream",
        "mcp-session-id": sessionId,
        "mcp-protocol-version": "2025-11-25",
      },
    });
    expect(news.status).toBe(200);
    const subscribed = await fetch(mcp, {
      method: "POST",
      headers: modernHeaders(program.key, "subscriptions/listen"),
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 7,
        method: "subscriptions/listen",
        params: {
          notifications: { toolsListChanged: true },
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
          },
        },
      }),
    });
    expect(subscribed.status).toBe(200);
    const told = subscribed.text();
    const idle = connect(program.port, "127.0.0.1");
    closings.push(() => idle.destroy());
    idle.write("GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n");
    await new Promise((resolve) => idle.once("data", resolve));

    const sinceMs = performance.now();
    program.signal("SIGTERM");
    expect(await program.exited).toBe(0);
    expect(performance.now() - sinceMs).toBeLessThan(quickMs);
    expect(await news.text()).toBe("");
    expect(await told).toContain('"resultType":"complete"');
  });
});

async function openProgram() {
  const vendors = await openModelVendors();
  closings.push(vendors.close);
  const folder = mkdtempSync(join(tmpdir(), "tollgate-stops-"));
  const config = vendors.config({ more: "sandbox: off\nsignup_credit_usd: 1000" });
  const program = await openGatewayProcess({ dataFolder: folder, config });
  closings.push(async () => {
    program.signal("SIGKILL");
    await program.exited;
    rmSync(folder, { recursive: true, force: true });
  });
  const { key } = program;
  const port = Number(new URL(program.url).port);
  return {
    ...program,
    stderr: program.stderr,
    doubles: vendors.doubles,
    key,
    port,
    ask: () => openSlowCaller(port, key),
    /** Tells it to stop, and sees that it is still there after a while. */
    stopFor: async (ms: number): Promise<void> => {
      program.signal("SIGTERM");
      expect(await Promise.race([program.exited, Bun.sleep(ms)])).toBeUndefined();
    },
  };
}

/** Reads the beginning of its answer, and the rest when it is told to. */
function openSlowCaller(port: number, key: string) {
  const socket = connect(port, "127.0.0.1");
  closings.push(() => socket.destroy());
  const { promise: begun, resolve: begins } = Promise.withResolvers<void>();
  const { promise: closed, resolve: closes } = Promise.withResolvers<void>();
  let received = 0;
  socket.on("data", (piece: Buffer) => {
    received += piece.length;
    if (received === piece.length) socket.pause();
    begins();
  });
  socket.on("error", () => {});
  socket.on("close", () => closes());
  const body = JSON.stringify({ model: models.openai, messages: [{ role: "user", content: "Go on." }] });
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return {
    begun,
    /** To the end of the connection: how many bytes there were. */
    readAll: async (): Promise<number> => {
      socket.resume();
      await closed;
      return received;
    },
  };
}

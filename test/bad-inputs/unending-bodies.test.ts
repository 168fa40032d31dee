// Bodies come before a call is priced or paid for. Whoever begins many large ones and ends none, or sends small ones that unpack
// to large ones, with an empty account, too, keeps little of the memory, and nobody else out.

import { afterAll, afterEach, expect, test } from "bun:test";
import { connect } from "node:net";
import { askModern, type ToolResult } from "../agents/agent-client.ts";
import { chatBody } from "../support/purchases.ts";
import { openTestGateway, type TestAccount } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { someText } from "./error-shapes.ts";
import { rawRequest } from "./raw-request.ts";

const bodyBytes = 1024 * 1024;
const large = "a".repeat(bodyBytes);

// An account may have half of it, 2 MiB; of each body all but 256 KiB counts, so that two fit and three do not.
const gateway = await openTestGateway({ parts: { bodyRoomBytes: 4 * bodyBytes } });
afterAll(() => gateway.close());

interface Upload {
  /** All that is answered to it, once there is an answer. */
  readonly answer: Promise<string>;
  readonly end: () => void;
}

const uploads: Upload[] = [];
afterEach(() => {
  for (const { end } of uploads.splice(0)) end();
});

/** A large body whose last byte does not come. */
function beginUpload(sender: TestAccount, path: string): Upload {
  const lines = ["Content-Type: application/json", `Content-Length: ${bodyBytes}`];
  const host = `127.0.0.1:${gateway.port}`;
  const head = rawRequest({ line: `POST ${path} HTTP/1.1`, host, key: sender, lines });
  const socket = connect(gateway.port, "127.0.0.1");
  const answer = Promise.withResolvers<string>();
  socket.on("data", (bytes) => answer.resolve(bytes.toString()));
  socket.on("error", answer.reject);
  socket.write(head + " ".repeat(bodyBytes - 1));
  const upload = { answer: answer.promise, end: () => socket.destroy() };
  uploads.push(upload);
  return upload;
}

/** Three at once, of which one is refused; which one is chance. */
const firstRefused = (sender: TestAccount, path = "/v1/chat/completions"): Promise<string> =>
  Promise.race([
    ...[1, 2, 3].map(() => beginUpload(sender, path).answer),
    Bun.sleep(4_000).then(() => "nobody was refused"),
  ]);

const askLarge = async (sender: TestAccount): Promise<number> => {
  const asked = chatBody({ messages: [{ role: "user", content: large }], max_tokens: 1 });
  return (await gateway.post(sender, "/v1/chat/completions", asked)).status;
};

test("an account's unending bodies leave room for those of others, and for its own small ones", async () => {
  const greedy = await gateway.openAccount({ creditUsd: "0" });
  const other = await gateway.openAccount({ tier: "enterprise", creditUsd: "100" });
  const refused = await firstRefused(greedy);
  expect(refused).toStartWith("HTTP/1.1 429 ");
  expect(refused).toContain("\r\nretry-after: 1\r\n");
  expect(JSON.parse(refused.slice(refused.indexOf("{")))).toEqual({
    error: {
      type: "rate_limit_error",
      code: "quota_exceeded",
      message: someText,
      param: null,
      limit: {
        name: "body_bytes",
        limit: expect.any(Number) as unknown,
        remaining: 0,
        reset: expect.any(Number) as unknown,
      },
    },
  });

  expect(await askLarge(other)).toBe(200);
  expect((await gateway.post(greedy, "/v1/chat/completions", chatBody())).status).toBe(402);
  // Two are on their way, one was small, and this one asks; whom a limit refuses has not asked.
  const { headers } = await gateway.call(greedy, "/v1/credits/balance");
  const [limit, left] = ["limit", "remaining"].map((of) => Number(headers.get(`x-ratelimit-${of}-requests`)));
  expect(left).toBe(Number(limit) - 4);
});

test("bodies give back their room when they end, also by being refused or left", async () => {
  const sender = await gateway.openAccount({ tier: "enterprise", creditUsd: "100" });
  for (let round = 0; round < 5; round++) {
    expect(await firstRefused(sender)).toStartWith("HTTP/1.1 429 ");
    for (const { end } of uploads.splice(0)) end();
    await until(async () => (await askLarge(sender)) === 200);
  }
});

test("bodies of any number of accounts leave some room for the next", async () => {
  for (let count = 0; count < 8; count++) {
    const sender = await gateway.openAccount({ creditUsd: "0" });
    expect(await firstRefused(sender)).toStartWith("HTTP/1.1 429 ");
  }
  const next = await gateway.openAccount({ tier: "enterprise", creditUsd: "100" });
  const kept = "a".repeat(400 * 1024);
  const asked = chatBody({ messages: [{ role: "user", content: kept }], max_tokens: 1 });
  expect((await gateway.post(next, "/v1/chat/completions", asked)).status).toBe(200);
});

test("the door for agents keeps the same room", async () => {
  const agent = await gateway.openAccount();
  const refused = await firstRefused(agent, "/mcp");
  expect(refused).toStartWith("HTTP/1.1 429 ");
  expect(refused).toContain("\r\nretry-after: 1\r\n");
});

test("a body keeps its room until its call is answered, however long its upstream takes", async () => {
  const sender = await gateway.openAccount({ tier: "enterprise", creditUsd: "100" });
  await gateway.sandbox.fault({ vendor: "openai", latency_ms: 3_000, times: 2 });
  const asked = (await gateway.sandbox.book()).length;
  const waiting = [askLarge(sender), askLarge(sender)];
  await until(async () => (await gateway.sandbox.book()).length === asked + 2);
  expect(await askLarge(sender)).toBe(429);
  expect(await Promise.all(waiting)).toEqual([200, 200]);
  expect(await askLarge(sender)).toBe(200);
});

test("what an agent sends keeps its room until its call is answered, too", async () => {
  const agent = await gateway.openAccount({ tier: "enterprise", creditUsd: "100" });
  const ask = async (): Promise<unknown> => {
    const content = [{ type: "image_url", image_url: { url: `data:image/png;base64,${large}` } }];
    const asked = chatBody({ messages: [{ role: "user", content }], max_tokens: 1 });
    const use = { operation_id: "chat.completions.create", arguments: asked, max_price_usd: 1 };
    const { status, message } = await askModern(`${gateway.url}/mcp`, agent.key, "tools/call", {
      name: "use",
      arguments: use,
    });
    return status === 200 ? (message.result as unknown as ToolResult).structuredContent["status"] : status;
  };
  await gateway.sandbox.fault({ vendor: "openai", latency_ms: 3_000, times: 2 });
  const asked = (await gateway.sandbox.book()).length;
  const waiting = [ask(), ask()];
  await until(async () => (await gateway.sandbox.book()).length === asked + 2);
  expect(await ask()).toBe(429);
  expect(await Promise.all(waiting)).toEqual(["completed", "completed"]);
  expect(await ask()).toBe("completed");
});

test("what a body unpacks to takes the same room, and gives it back", async () => {
  const sender = await gateway.openAccount({ tier: "enterprise", creditUsd: "100" });
  const send = async (unpackedBytes: number) => {
    const words = Array.from({ length: 20_000 }, (_, index) => index).join(" ");
    const asked = chatBody({
      messages: [{ role: "user", content: words.padEnd(unpackedBytes) }],
      max_tokens: 1,
    });
    const body = Bun.gzipSync(Buffer.from(JSON.stringify(asked)));
    expect(body.length).toBeLessThan(100 * 1024);
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    return gateway.call(sender, "/v1/chat/completions", { method: "POST", headers, body });
  };
  for (let round = 0; round < 5; round++) {
    const refused = await send(3 * bodyBytes);
    expect(refused.status).toBe(429);
    expect(await refused.text()).toContain('"body_bytes"');
    expect((await send(2 * bodyBytes)).status).toBe(200);
  }
});

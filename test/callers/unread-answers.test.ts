// What becomes of answers that are made, most of them paid for, and whose callers do not read them.

import { expect, test } from "bun:test";
import { connect } from "node:net";
import { modernHeaders, modernMessage } from "../agents/agent-client.ts";
import { createPerson } from "../sign-in/oauth-person.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { snapshotPath } from "../support/purchases.ts";
import { until } from "../support/until.ts";
import { nextSecond } from "../support/wall-clock.ts";
import { dayOf } from "../account/account-visits.ts";

const answerBytes = 16 * 1024 ** 2;

test.each([
  ["a call's", callFor],
  ["an agent's", pictureFor],
  ["a file's", fileFor],
] as const)(
  "an account that reads none of its answers loses its own for want of room, and nobody else's: %s",
  async (_, requestFor) => {
    const vendor = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answerAtLength });
    let brokenOff = 0;
    const gateway = await openTestGateway({
      config: `upstreams:
        large: { protocol: financialdatasets, url: "${vendor.url.origin}", key: "k" }
        drawer: { protocol: openai, url: "${vendor.url.origin}", key: "k" }`,
      // Two answers fit.
      listening: { unreadBytesMax: 2 * answerBytes, onFull: ({ unread }) => void (brokenOff += unread) },
    });
    try {
      const open = async () => requestFor(gateway, await gateway.openAccount());
      const [slow, greedy] = [await open(), await open()];
      const askAndNotRead = async (request: string) => {
        const asked = askFor(gateway.port, request);
        await until(() => asked.received() > 0);
        return asked;
      };
      // It has waited for longest, and would be the first to go if it were nobody's.
      const slowOne = await askAndNotRead(slow);
      await Bun.sleep(2_500);
      const greedyOnes = [await askAndNotRead(greedy), await askAndNotRead(greedy)];
      await until(() => brokenOff === 1);

      for (const { socket } of [slowOne, ...greedyOnes]) socket.resume();
      await until(() => slowOne.received() > answerBytes);
      await until(() => greedyOnes.filter(({ isClosed }) => isClosed()).length === 1);
      const lost = greedyOnes.find(({ isClosed }) => isClosed());
      expect(lost?.received()).toBeLessThan(answerBytes);
    } finally {
      await gateway.close();
      await vendor.stop(true);
    }
  },
);

function answerAtLength({ url }: Request): Response {
  if (!url.endsWith("/images/generations"))
    return Response.json({ snapshot: { text: "x".repeat(answerBytes) } });
  const picture = "iVBORw0KGgo".padEnd(answerBytes, "A");
  const usage = { input_tokens: 5, output_tokens: 100, total_tokens: 105 };
  return Response.json({ created: 1, data: [{ b64_json: picture }], usage });
}

async function callFor(_: TestGateway, { key }: TestAccount): Promise<string> {
  return `GET ${snapshotPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
}

async function pictureFor({ port }: TestGateway, { key }: TestAccount): Promise<string> {
  const order = { operation_id: "images.generate", arguments: { prompt: "a boat" }, max_price_usd: 1 };
  const body = modernMessage("tools/call", { name: "use", arguments: order });
  const headers = { ...modernHeaders(key, "tools/call", "use"), host: `127.0.0.1:${port}` };
  return `POST /mcp HTTP/1.1\r\n${linesOf({ ...headers, "content-length": `${body.length}` })}\r\n${body}`;
}

/** The calls of a key with a name so long that few of them make a long file. */
async function fileFor(gateway: TestGateway, account: TestAccount): Promise<string> {
  const calls = 16;
  const named = await gateway.issueKey(account, { name: "x".repeat(answerBytes / calls), scope: "account" });
  for (let n = 0; n < calls; n++)
    await gateway.post(named, "/v1/rerank", { query: "tea", documents: ["tea"] });
  const browser = createPerson(gateway.url, named.key);
  await browser.submit(await browser.open("/account"), { action: "sign_in", key: named.key });
  // What ended in the running second is not in the file yet.
  await nextSecond();
  const today = dayOf(Date.now());
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const headers = linesOf({ host: `127.0.0.1:${gateway.port}`, cookie });
  return `GET /account/calls.csv?from=2026-01-01&to=${today} HTTP/1.1\r\n${headers}\r\n`;
}

const linesOf = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");

function askFor(port: number, request: string) {
  let receivedBytes = 0;
  const socket = connect(port, "127.0.0.1");
  // It stops reading at once, or it would have read most of the answer by the time anybody looks.
  socket.once("data", () => socket.pause());
  socket.on("data", (piece) => (receivedBytes += piece.length)).on("error", () => {});
  socket.write(request);
  return { socket, received: () => receivedBytes, isClosed: () => socket.closed };
}

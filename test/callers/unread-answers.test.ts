// What becomes of answers that are paid for and whose callers do not read them.

import { expect, test } from "bun:test";
import { connect } from "node:net";
import { openTestGateway, type TestAccount } from "../support/test-gateway.ts";
import { snapshotPath } from "../support/purchases.ts";
import { until } from "../support/until.ts";

const answerBytes = 16 * 1024 ** 2;

test("an account that reads none of its answers loses its own for want of room, and nobody else's", async () => {
  const vendor = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => Response.json({ snapshot: { text: "x".repeat(answerBytes) } }),
  });
  let brokenOff = 0;
  const gateway = await openTestGateway({
    config: `upstreams: { large: { protocol: financialdatasets, url: "${vendor.url.origin}", key: "k" } }`,
    // Two answers fit.
    listening: { unreadBytesMax: 2 * answerBytes, onFull: ({ unread }) => void (brokenOff += unread) },
  });
  try {
    const [slow, greedy] = [await gateway.openAccount(), await gateway.openAccount()];
    const askAndNotRead = async (account: TestAccount) => {
      const asked = askFor(gateway.port, account);
      await until(() => asked.received() > 0);
      asked.socket.pause();
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
});

function askFor(port: number, { key }: TestAccount) {
  let receivedBytes = 0;
  const socket = connect(port, "127.0.0.1");
  socket.on("data", (piece) => (receivedBytes += piece.length)).on("error", () => {});
  socket.write(`GET ${snapshotPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  return { socket, received: () => receivedBytes, isClosed: () => socket.closed };
}

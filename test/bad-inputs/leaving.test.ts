import { afterAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { snapshotMicros, snapshotPath } from "../support/purchases.ts";

import { contentLength, goodRerank, openBadInputGateway } from "./bad-input-gateway.ts";
import { expectNothingHappened } from "./nothing-happened.ts";
import { rawRequest } from "./raw-request.ts";

const { gateway, rerankBytes, close } = await openBadInputGateway();
afterAll(close);

describe("what callers can do while they wait", () => {
  const leave = (bytes: string, go: (socket: Socket) => void): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect({ port: gateway.port, host: "127.0.0.1" });
      socket.on("error", () => undefined);
      socket.on("close", () => resolve());
      socket.on("connect", () => {
        socket.write(bytes);
        setTimeout(() => go(socket), 60);
      });
    });
  const calm = async () => {
    const deadline = performance.now() + 1_000;
    while (gateway.gateway.callsInFlight() > 0 && performance.now() < deadline) await Bun.sleep(10);
    expect(gateway.gateway.callsInFlight()).toBe(0);
  };

  test("who leaves before the request is complete leaves no trace and is no error of ours", async () => {
    const errorsBefore = gateway.logged.filter((line) => line.includes('"level":"error"')).length;
    const partial = [
      "POST /v1/rer",
      rerankBytes([contentLength], { body: "" }),
      rerankBytes([contentLength], { body: goodRerank.slice(0, 5) }),
      rerankBytes(["Transfer-Encoding: chunked"], { body: `5\r\n${goodRerank.slice(0, 5)}\r\n` }),
    ];
    await expectNothingHappened(gateway, async () => {
      for (const bytes of partial) {
        await leave(bytes, (socket) => socket.destroy());
        await leave(bytes, (socket) => socket.resetAndDestroy());
      }
      await calm();
    });
    expect(gateway.logged.filter((line) => line.includes('"level":"error"'))).toHaveLength(errorsBefore);
  });

  test("who leaves while the upstream works has bought what it ordered, once", async () => {
    const quitter = await gateway.openAccount({ tier: "enterprise", creditUsd: "1" });
    const bytes = rawRequest({ line: `GET ${snapshotPath} HTTP/1.1`, key: quitter });
    await gateway.sandbox.clear();
    const ways = [
      (socket: Socket) => socket.destroy(),
      (socket: Socket) => socket.resetAndDestroy(),
      (socket: Socket) => socket.end(),
    ];
    for (const way of ways) {
      await gateway.sandbox.fault({ latency_ms: 200 });
      await leave(bytes, way);
      await calm();
    }
    expect(await gateway.balance(quitter)).toEqual({ balance: 1_000_000 - 3 * snapshotMicros, held: 0 });
    expect(await gateway.sandbox.book()).toHaveLength(3);
    expect(await gateway.audit()).toEqual([]);
  });

  // The same of streams: callers-who-leave.test.ts; under SIGKILL: kills.test.ts and failpoints.test.ts.
});

import { expect, test } from "bun:test";
import { createServer, type AddressInfo } from "node:net";
import { createClient } from "./client.ts";
import { neverLeft } from "./transport.ts";

test("a paid GET leaves once, also where the gateway closes connections that were kept", async () => {
  const seen: string[] = [];
  // Answers the first request of a connection and says that it is kept, then closes it on the second.
  const server = createServer((socket) => {
    let requests = 0;
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      seen.push(/^GET (\S+)/.exec(bytes.toString())?.[1] ?? "");
      requests += 1;
      if (requests > 1) return void socket.destroy();
      const body = '{"snapshot":{},"object":"x"}';
      const head = ["HTTP/1.1 200 OK", "content-type: application/json", `content-length: ${body.length}`];
      socket.write(
        [...head, "x-tollgate-cost-micros-usd: 1", "connection: keep-alive", "", body].join("\r\n"),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A TCP server that listens has a port.
  const { port } = server.address() as AddressInfo;
  const client = createClient({ apiKey: "tgk_test", baseUrl: `http://127.0.0.1:${port}` });
  try {
    for (const ticker of ["a", "b", "c"]) {
      await client.balance();
      await client.call("financial.metrics.snapshot", { ticker });
    }
    const paid = seen.filter((path) => path.includes("snapshot"));
    expect(paid.map((path) => path.slice(-1))).toEqual(["a", "b", "c"]);
  } finally {
    server.close();
  }
});

test("a gateway that cannot be reached, or not be trusted, has not heard of the call", () => {
  const failing = (code: string, more: object = {}) => Object.assign(new Error(code), { code, ...more });
  const asNodeSays = (cause: Error) => new TypeError("fetch failed", { cause });
  for (const code of ["EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT", "CERT_HAS_EXPIRED"]) {
    expect([code, neverLeft(failing(code)), neverLeft(asNodeSays(failing(code)))]).toEqual([
      code,
      true,
      true,
    ]);
  }
  const timedOut = failing("ETIMEDOUT", { syscall: "connect" });
  expect(neverLeft(asNodeSays(timedOut))).toBe(true);
  const bothFamilies = Object.assign(new AggregateError([timedOut, failing("EHOSTUNREACH")]), {
    code: "ETIMEDOUT",
  });
  expect(neverLeft(asNodeSays(bothFamilies))).toBe(true);
  // The same words of a connection that had come about, and one that Bun also says of a connection that breaks later.
  for (const code of ["EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT", "ECONNREFUSED"]) {
    expect([code, neverLeft(asNodeSays(failing(code, { syscall: "read" })))]).toEqual([code, false]);
  }
  expect(neverLeft(failing("ETIMEDOUT"))).toBe(false);
  expect(neverLeft(failing("EPROTO"))).toBe(false);
});

test("only a connection that never came about proves that nothing left", () => {
  const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
  expect(neverLeft(refused)).toBe(true);
  expect(neverLeft(new TypeError("fetch failed", { cause: refused }))).toBe(true);
  expect(neverLeft(Object.assign(new Error("reset"), { code: "ECONNRESET" }))).toBe(false);
  expect(neverLeft(new TypeError("Failed to fetch"))).toBe(false);
  expect(neverLeft(undefined)).toBe(false);
});

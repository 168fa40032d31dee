import { afterAll, expect, test } from "bun:test";
import { createServer } from "node:net";
import { createHttpClient } from "./http-client.ts";

const plain = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("plain") });
afterAll(() => plain.stop(true));

const get = (url: string) =>
  createHttpClient().send({ url, method: "GET", headers: {}, body: undefined, firstByteTimeoutMs: 1_000 });

test("where no connection comes about, nothing was sent", async () => {
  for (const url of ["http://127.0.0.1:9/", "http://nowhere.invalid/"]) {
    expect(await get(url)).toEqual({ kind: "no_answer", reason: "unreachable", sent: false });
  }
});

test("where TLS breaks, it is in doubt what was sent, and nobody waits for it", async () => {
  const outcome = await get(`https://127.0.0.1:${plain.port}/`);
  expect(outcome).toMatchObject({ kind: "no_answer", sent: true });
});

test("a GET leaves once, also over a connection that the vendor closes after each answer", async () => {
  let requests = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", () => {
      requests++;
      // Answers the first as if it would keep the connection, and drops every other.
      if (requests % 2 === 1) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      else socket.destroy();
    });
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      if (typeof address === "object" && address) resolve(address.port);
      else reject(new Error("no port"));
    });
  });
  const kinds: string[] = [];
  for (let calls = 0; calls < 6; calls++) kinds.push((await get(`http://127.0.0.1:${port}/`)).kind);
  expect(kinds).toEqual(["answered", "no_answer", "answered", "no_answer", "answered", "no_answer"]);
  expect(requests).toBe(6);
  server.close();
});

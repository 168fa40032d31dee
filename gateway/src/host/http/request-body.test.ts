import { describe, expect, test } from "bun:test";
import { until } from "../../../../test/support/until.ts";
import { bodiesIn, get, openFake, peerOf, post, reply, useListeners } from "./test-connections.ts";

const { listen } = useListeners();

describe("bodies", () => {
  test("that nobody reads wait at the other side, until somebody does or their request is answered", async () => {
    const megabyte = Buffer.alloc(1024 ** 2, 120);
    const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${3 * megabyte.length}\r\n\r\n`;
    for (const reads of [true, false]) {
      const waiting = Promise.withResolvers<void>();
      const { connection, written, paused } = openFake(async (request) => {
        await waiting.promise;
        return reply(reads ? `${(await request.bytes()).length} read` : "none read");
      });
      connection.received(Buffer.from(head));
      connection.received(megabyte);
      expect(paused).toEqual([true]);
      waiting.resolve();
      await Bun.sleep(0);
      expect(paused).toEqual([true, false]);
      connection.received(megabyte);
      connection.received(megabyte);
      await Bun.sleep(0);
      expect(paused).toEqual([true, false]);
      expect(written()).toEndWith(reads ? `${3 * megabyte.length} read` : "none read");
      connection.received(Buffer.from(get("/next")));
      await Bun.sleep(0);
      expect(bodiesIn(written())).toHaveLength(2);
    }
  });

  test("that come in chunks are read as they come", async () => {
    const pieces: string[] = [];
    const server = listen(async (request) => {
      for await (const piece of request.body ?? []) pieces.push(Buffer.from(piece).toString());
      return reply("read");
    });
    const peer = peerOf(server.port);
    peer.socket.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
    await until(() => pieces.length > 0);
    expect(pieces).toEqual(["a"]);
    peer.socket.write("2\r\nbc\r\n0\r\n\r\n");
    await peer.hears("read");
    expect(pieces).toEqual(["a", "bc"]);
    peer.socket.destroy();
  });

  test("that break off are told so to whoever reads them", async () => {
    const read = Promise.withResolvers<unknown>();
    const asked = Promise.withResolvers<void>();
    const server = listen(async (request) => {
      asked.resolve();
      read.resolve(await request.bytes().catch((error: unknown) => error));
      return reply("never heard");
    });
    const peer = peerOf(server.port);
    peer.socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    await asked.promise;
    peer.socket.destroy();
    expect(await read.promise).toMatchObject({ name: "AbortError" });
  });

  test("that came whole stay so when their caller leaves", async () => {
    const left = Promise.withResolvers<void>();
    const read = Promise.withResolvers<string>();
    const { connection } = openFake(async (request) => {
      await left.promise;
      read.resolve(Buffer.from(await request.bytes()).toString());
      return reply("never heard");
    });
    connection.received(Buffer.from("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"));
    connection.received(Buffer.from("0123456789"));
    connection.lost();
    left.resolve();
    expect(await read.promise).toBe("0123456789");
  });

  test("reach pages in the web's own form, whole and in pieces", async () => {
    const server = listen(async (request) => {
      const web = request.toRequest();
      return new Response(`${web.url} ${await web.text()}`, {
        headers: [
          ["set-cookie", "a=1"],
          ["set-cookie", "b=2"],
        ],
      });
    });
    const peer = peerOf(server.port);
    peer.socket.write(post("whole"));
    expect(await peer.hears("whole")).toContain("set-cookie: a=1\r\nset-cookie: b=2\r\n");
    peer.socket.write("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\npie");
    await Bun.sleep(20);
    peer.socket.write("ces");
    expect(await peer.hears("http://x/p pieces")).toContain("http://x/p pieces");
    peer.socket.destroy();
  });
});

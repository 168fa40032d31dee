import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { HttpRequest } from "../../platform/http-request.ts";
import type { Reply } from "../../platform/reply.ts";
import { bodiesIn, get, openFake, peerOf, post, reply, useListeners } from "./test-connections.ts";

const { listen } = useListeners();

/** Says what was asked, with what body. */
async function echo(request: HttpRequest): Promise<Reply> {
  const body = request.arrivedBody ?? (await request.bytes());
  return reply(`${request.method} ${request.target} [${Buffer.from(body).toString()}]`);
}

describe("requests", () => {
  const server = listen(echo);

  test("that come together are answered in their order, each with its own body", async () => {
    const peer = peerOf(server.port);
    peer.socket.write(get("/1") + post("two") + get("/3"));
    expect(bodiesIn(await peer.hears("/3"))).toEqual(["GET /1 []", "POST / [two]", "GET /3 []"]);
    peer.socket.destroy();
  });

  test("may have an empty line behind them, as some clients send it, and trailers behind chunks", async () => {
    const peer = peerOf(server.port);
    const chunked =
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n";
    peer.socket.write(`${post("one")}\r\n${chunked}${get("/last")}`);
    expect(bodiesIn(await peer.hears("/last"))).toEqual(["POST / [one]", "POST /c [abc]", "GET /last []"]);
    peer.socket.destroy();
  });

  test("that wait to be told so send their body when it is wanted, and are not asked for one that is not", async () => {
    const wanting = peerOf(server.port);
    wanting.socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    expect(await wanting.hears("\r\n\r\n")).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    wanting.socket.write("abc");
    expect(await wanting.hears("[abc]")).toContain("HTTP/1.1 200 OK");
    wanting.socket.destroy();

    const refusing = peerOf(listen(async () => reply("no", { status: 401 })).port);
    refusing.socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    await refusing.ended;
    expect(refusing.heard()).toStartWith("HTTP/1.1 401 Unauthorized\r\n");
    expect(refusing.heard()).toContain("connection: close");
    refusing.socket.destroy();
  });

  test("of HTTP/1.0 end the connection, unless they ask for more", async () => {
    const one = peerOf(server.port);
    one.socket.write("GET /old HTTP/1.0\r\n\r\n");
    await one.ended;
    expect(one.heard()).toContain("GET /old []");
    const more = peerOf(server.port);
    more.socket.write("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n");
    await more.ended;
    expect(bodiesIn(more.heard())).toEqual(["GET /1 []", "GET /2 []"]);
    expect(more.heard()).toContain("connection: keep-alive");
  });

  test("mean the same however their bytes are cut into pieces", async () => {
    const parts = fc.constantFrom(
      get("/a?b=1"),
      post(""),
      post("x".repeat(40)),
      `${post("y")}\r\n`,
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4;q=1\r\nwiki\r\n1\r\na\r\n0\r\n\r\n",
      post("z".repeat(5000)),
    );
    const property = fc.asyncProperty(
      fc.array(parts, { minLength: 1, maxLength: 6 }),
      fc.array(fc.nat(200), { minLength: 1, maxLength: 30 }),
      async (requests, sizes) => {
        expect(await answersTo(requests.join(""), sizes)).toEqual(await answersTo(requests.join(""), [1e9]));
      },
    );
    await fc.assert(property, { numRuns: 200 });
  });
});

/** What is written to a peer that sends these bytes in pieces of these sizes, again and again. */
async function answersTo(text: string, sizes: readonly number[]): Promise<readonly string[]> {
  const { connection, host, written } = openFake(echo);
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = Math.max(1, sizes[turn % sizes.length] ?? 1);
    connection.received(Buffer.from(bytes.subarray(at, at + size)));
    at += size;
    if (turn % 3 === 0) await Bun.sleep(0);
  }
  // Between two requests that came together others have a turn, in which none is open.
  for (let turn = 0, idleTurns = 0; turn < 50 && idleTurns < 12; turn++) {
    await Bun.sleep(0);
    idleTurns = host.openRequests > 0 ? 0 : idleTurns + 1;
  }
  expect(host.openRequests).toBe(0);
  return bodiesIn(written());
}

import { describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { until } from "../../../../test/support/until.ts";
import type { PacedBody } from "../../platform/paced-body.ts";
import type { Reply } from "../../platform/reply.ts";
import { expectInProportion } from "../../platform/test-in-proportion.ts";
import { SocketWriter } from "./socket-writer.ts";
import { bodiesIn, get, openFake, peerOf, reply, useListeners } from "./test-connections.ts";

const { listen } = useListeners();

const within5s = (promise: Promise<string>): Promise<string> =>
  Promise.race([promise, Bun.sleep(5_000).then(() => "nothing heard")]);

describe("answers", () => {
  test("to HEAD tell the length and have no body; those without one tell none", async () => {
    const server = listen(async ({ target }) =>
      target === "/none"
        ? reply("x", { status: 204 })
        : target === "/page"
          ? new Response("page")
          : reply("body"),
    );
    const peer = peerOf(server.port);
    peer.socket.write("HEAD / HTTP/1.1\r\nHost: x\r\n\r\nHEAD /page HTTP/1.1\r\nHost: x\r\n\r\n");
    peer.socket.write(get("/none", "Connection: close"));
    await peer.ended;
    const heads = peer.heard().split("\r\n\r\n");
    expect(heads).toHaveLength(4);
    expect(heads[0]).toContain("content-length: 4");
    expect(heads[1]).toContain("content-length: 4");
    expect(heads[2]).not.toContain("content-length");
    expect(heads[3]).toBe("");
  });

  test("reach a client that is still sending when its connection is to end", async () => {
    const server = listen(async () => reply("enough", { status: 413, closes: true }));
    const peer = peerOf(server.port);
    peer.socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${20 * 1024 ** 2}\r\n\r\n`);
    const sent = Promise.withResolvers<unknown>();
    peer.socket.write(Buffer.alloc(20 * 1024 ** 2), sent.resolve);
    expect(await sent.promise).toBeFalsy();
    await peer.ended;
    expect(peer.heard()).toContain("enough");
    peer.socket.destroy();
  });

  test("that are larger than the line takes at once come whole", async () => {
    const large = "äö".repeat(3_000_000);
    const server = listen(async () => reply(large));
    const peer = peerOf(server.port);
    peer.socket.pause();
    peer.socket.write(get("/", "Connection: close"));
    await Bun.sleep(100);
    peer.socket.resume();
    await peer.ended;
    expect(Buffer.from(bodiesIn(peer.heard())[0] ?? "", "latin1").toString() === large).toBe(true);
  });

  test("that come in pieces wait for a reader who is behind, and end where their pieces end", async () => {
    let sent = 0;
    const body: PacedBody = {
      write: async (reader) => {
        for (; sent < 100; sent++) await reader.send(new Uint8Array(100_000).fill(120));
        await reader.send("ende");
      },
      cancel: () => {},
    };
    const peer = peerOf(listen(async () => reply(body)).port);
    peer.socket.pause();
    peer.socket.write(get("/"));
    await Bun.sleep(200);
    expect(sent).toBeLessThan(100);
    peer.socket.resume();
    const heard = await peer.hears("0\r\n\r\n");
    expect(heard).toContain("transfer-encoding: chunked");
    expect(heard.match(/186a0\r\n/g)).toHaveLength(100);
    expect(heard).toEndWith("\r\n4\r\nende\r\n0\r\n\r\n");
    peer.socket.destroy();
  });

  test("that come in pieces begin with the first of them; those of events for who waits, at once", async () => {
    const first = Promise.withResolvers<string>();
    const body: PacedBody = {
      write: async (reader) => reader.send(await first.promise),
      cancel: () => {},
    };
    const events = () =>
      new Response(new ReadableStream({ type: "bytes" }), {
        headers: { "content-type": "text/event-stream" },
      });
    const server = listen(async ({ target }) => (target === "/events" ? events() : reply(body)));
    const [calling, listening] = [peerOf(server.port), peerOf(server.port)];
    calling.socket.write(get("/"));
    listening.socket.write(get("/events"));
    expect(await listening.hears("\r\n\r\n")).toStartWith("HTTP/1.1 200 OK");
    expect(calling.heard()).toBe("");
    first.resolve("one");
    expect(await calling.hears("0\r\n\r\n")).toEndWith("\r\n\r\n3\r\none\r\n0\r\n\r\n");
    for (const { socket } of [calling, listening]) socket.destroy();
  });

  test("that come in pieces go to HTTP/1.0 without chunks, up to the connection's end", async () => {
    const body: PacedBody = {
      write: async (reader) => reader.send("one two"),
      cancel: () => {},
    };
    const peer = peerOf(listen(async () => reply(body)).port);
    peer.socket.write("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    await peer.ended;
    expect(peer.heard()).toEndWith(
      "connection: close\r\n" + peer.heard().slice(peer.heard().indexOf("date:")),
    );
    expect(peer.heard()).toEndWith("\r\n\r\none two");
  });

  test("whose writer fails break off, and are not taken for whole", async () => {
    const body: PacedBody = {
      write: async (reader) => {
        await reader.send("one");
        throw new Error("no more");
      },
      cancel: () => {},
    };
    const peer = peerOf(listen(async () => reply(body)).port);
    const closed = new Promise((resolve) => peer.socket.once("close", resolve));
    peer.socket.write(get("/"));
    await closed;
    expect(peer.heard()).not.toContain("0\r\n\r\n");
  });

  test("that fail unexpectedly are told with an id, and once by that id to whoever keeps this program", async () => {
    const bug = new Error("planted");
    const failing = [
      () => Promise.reject(bug),
      () => {
        throw bug;
      },
      async () => new Response(new ReadableStream({ pull: () => Promise.reject(bug) })),
    ];
    for (const answer of failing) {
      const { connection, written, bugs, ends } = openFake(answer);
      connection.received(Buffer.from(get("/") + get("/")));
      await until(() => bugs.length === 2);
      const [body] = bodiesIn(written()).map((text) => JSON.parse(text) as unknown);
      expect(body).toEqual({ error: "internal error", code: "internal", request_id: "id 1" });
      expect(written()).toContain("HTTP/1.1 500 Internal Server Error\r\nx-request-id: id 1\r\n");
      expect(bugs).toEqual([
        { error: bug, requestId: "id 1" },
        { error: bug, requestId: "id 2" },
      ]);
      expect(ends).toEqual([]);
    }
  });

  test("that fail on their way are told of, unless their peer has left", async () => {
    const bug = new Error("planted");
    const failing = (): PacedBody => ({
      write: async (reader) => {
        await reader.send("one");
        await Bun.sleep(1);
        throw bug;
      },
      cancel: () => {},
    });
    const told = openFake(async () => reply(failing()));
    told.connection.received(Buffer.from(get("/")));
    await until(() => told.bugs.length > 0);
    expect([told.bugs, told.ends]).toEqual([[{ error: bug, requestId: undefined }], ["terminate"]]);
    const left = openFake(async () => reply(failing()));
    left.connection.received(Buffer.from(get("/")));
    await Bun.sleep(0);
    expect(left.written()).toContain("one");
    left.connection.lost();
    await Bun.sleep(5);
    expect(left.bugs).toEqual([]);
  });

  test("are not written to who has left, and whoever writes them, or works for them, is told", async () => {
    const cancelled = Promise.withResolvers<string>();
    const aborted = Promise.withResolvers<string>();
    const server = listen((request) => {
      if (request.target === "/page") {
        request.toRequest().signal.addEventListener("abort", () => aborted.resolve("aborted"));
        return new Promise(() => {});
      }
      const body: PacedBody = {
        write: () => new Promise(() => {}),
        cancel: () => cancelled.resolve("cancelled"),
      };
      return Promise.resolve(reply(body));
    });
    const leave = async (socket: Socket): Promise<void> => {
      await Bun.sleep(50);
      expect(server.openRequests()).toBe(1);
      socket.destroy();
    };
    const streamed = peerOf(server.port);
    streamed.socket.write(get("/stream"));
    await leave(streamed.socket);
    expect(await within5s(cancelled.promise)).toBe("cancelled");
    const page = peerOf(server.port);
    page.socket.write(get("/page"));
    await leave(page.socket);
    expect(await within5s(aborted.promise)).toBe("aborted");
    expect(server.openRequests()).toBe(0);
  });

  test("that have left are not broken off, however slowly they are read", async () => {
    const { connection, ends } = openFake(async () => reply("bye", { closes: true }));
    connection.received(Buffer.from(get("/")));
    await Bun.sleep(0);
    for (let second = 0; second < 10; second++) connection.tick();
    expect(ends).toEqual(["shutdown", "end"]);
  });

  test("for a piece of which there is no room are broken off, and whoever sends it hears that nobody takes it", async () => {
    const heard: string[] = [];
    const body: PacedBody = {
      write: async (reader) => {
        line.takesBytesAtOnce = 1;
        try {
          const behind = reader.send("too much");
          heard.push("to be waited for");
          await behind;
        } catch (error) {
          heard.push(String(error));
        }
      },
      cancel: () => void heard.push("cancelled"),
    };
    const { connection, line, host } = openFake(async () => reply(body));
    host.onBehind = (behind) => behind.terminate();
    connection.received(Buffer.from(get("/")));
    await Bun.sleep(0);
    expect(heard).toEqual(["cancelled", "Error: The other side has left."]);
  });

  describe("of which much is still to be taken", () => {
    const large = "x".repeat(10_000_000);

    /** What becomes of an answer whose reader takes so much every ten seconds, for ten minutes or until it is over. */
    async function read(
      body: Reply["body"],
      bytesEach10s: number,
    ): Promise<{ ends: string[]; open: number }> {
      const { connection, host, ends, line } = openFake(async () => reply(body));
      line.takesBytesAtOnce = bytesEach10s;
      connection.received(Buffer.from(get("/")));
      await Bun.sleep(0);
      for (let second = 1; second <= 600 && host.openRequests > 0; second++) {
        connection.tick();
        if (second % 10 === 0) connection.drained();
      }
      return { ends, open: host.openRequests };
    }

    test("are broken off where a reader takes next to nothing of them, and not where a slow phone reads", async () => {
      const phoneBytes = 1_250_000;
      expect(await read(large, phoneBytes)).toEqual({ ends: [], open: 0 });
      expect(await read(large, 100_000)).toEqual({ ends: ["terminate"], open: 0 });
    });

    test("are broken off there in pieces, too, and whoever writes them is told", async () => {
      let cancelled = 0;
      const body: PacedBody = {
        write: async (reader) => reader.send(large),
        cancel: () => void cancelled++,
      };
      expect(await read(body, 100_000)).toEqual({ ends: ["terminate"], open: 0 });
      expect(cancelled).toBe(1);
    });

    test("are read as slowly as one likes when less than four megabytes are left", async () => {
      expect(await read("x".repeat(4_000_000), 1_000)).toEqual({ ends: [], open: 1 });
    });

    test("let go of the memory in which they were, as they are taken", async () => {
      const { connection, line } = openFake(async () => reply(Buffer.alloc(10_000_000)));
      line.takesBytesAtOnce = 1_000_000;
      connection.received(Buffer.from(get("/")));
      await Bun.sleep(0);
      for (let leftBytes = 9_000_000; leftBytes > 0; leftBytes -= 1_000_000) {
        expect(connection.keptBytes).toBeWithin(leftBytes, 4 * leftBytes + 2_000_000);
        connection.drained();
      }
      expect(connection.keptBytes).toBe(0);
    });
  });

  test("take no longer for a piece the more pieces wait to be taken", () => {
    expectInProportion((count) => {
      const piece = Buffer.alloc(4 * 1024);
      return () => {
        const { socket, line } = openFake(async () => reply(""));
        const writer = new SocketWriter(socket, { terminate: () => {} });
        line.takesBytesAtOnce = 0;
        writer.beginPieces("", true);
        for (let sent = 0; sent < count; sent++) writer.writePiece(piece);
      };
    }, 400);
  });

  test("come whole and in their order, however little of them is taken at a time", async () => {
    const pieces = Array.from({ length: 300 }, (_, index) => `${index} `.repeat(1 + (index % 50)));
    const body: PacedBody = {
      write: async (reader) => {
        // This one does not wait.
        for (const [index, piece] of pieces.entries()) {
          line.takesBytesAtOnce = index % 7;
          reader.send(piece)?.catch(() => {});
          connection.drained();
        }
      },
      cancel: () => {},
    };
    const { connection, written, line, host } = openFake(async () => reply(body));
    connection.received(Buffer.from(get("/")));
    await Bun.sleep(0);
    for (line.takesBytesAtOnce = 1; host.openRequests > 0; line.takesBytesAtOnce += 7) {
      connection.drained();
      await Bun.sleep(0);
    }
    const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join("");
    expect(written().slice(written().indexOf("\r\n\r\n") + 4)).toBe(`${chunks}0\r\n\r\n`);
  });

  test("are not lost to a client that goes on sending, for as long as it does", async () => {
    const { connection, ends } = openFake(async () => reply("enough", { closes: true }));
    connection.received(Buffer.from("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"));
    await Bun.sleep(0);
    for (let second = 0; second < 60; second++) {
      connection.received(Buffer.alloc(1000));
      connection.tick();
    }
    expect(ends).toEqual(["shutdown"]);
    // But not for ever.
    for (let second = 0; second < 300; second++) {
      connection.received(Buffer.alloc(1));
      connection.tick();
    }
    expect(ends).toEqual(["shutdown", "end"]);
  });

  test("to a peer that is gone, though nothing said so, leave no request open", async () => {
    const body: PacedBody = {
      write: async (reader) => {
        for (;;) await (reader.send("piece") ?? Bun.sleep(0));
      },
      cancel: () => {},
    };
    for (const answer of [reply("whole"), reply(body)]) {
      const { connection, host, ends, line } = openFake(async () => answer);
      line.isDead = true;
      connection.received(Buffer.from(get("/")));
      await Bun.sleep(5);
      expect([host.openRequests, ends]).toEqual([0, ["terminate"]]);
    }
  });

  test("are given when nobody is let in any more, and end their connections", async () => {
    const working = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const server = listen(async () => {
      asked.resolve();
      await working.promise;
      return reply("late");
    });
    const idle = peerOf(server.port);
    const busy = peerOf(server.port);
    busy.socket.write(get("/"));
    await asked.promise;
    const stopped = server.stop();
    await idle.ended;
    idle.socket.end();
    working.resolve();
    await busy.ended;
    expect(busy.heard()).toContain("connection: close");
    expect(busy.heard()).toEndWith("late");
    busy.socket.end();
    await stopped;
  });
});

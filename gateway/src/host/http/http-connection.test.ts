import { afterAll, describe, expect, test } from "bun:test";
import { until } from "../../../../test/support/until.ts";
import { connect, type Socket } from "node:net";
import fc from "fast-check";
import type { HttpRequest } from "../../platform/http-request.ts";
import type { PacedBody } from "../../platform/paced-body.ts";
import type { Reply } from "../../platform/reply.ts";
import { createListen } from "../listen.ts";
import { HttpConnection, type ConnectionHost } from "./http-connection.ts";
import type { PeerSocket } from "./peer-socket.ts";

const reply = (body: Reply["body"], more: Partial<Reply> = {}): Reply => ({
  status: 200,
  headerLines: "content-type: text/plain\r\n",
  body,
  closes: false,
  ...more,
});

/** Says what was asked, with what body. */
const echo = async (request: HttpRequest): Promise<Reply> => {
  const body = request.arrivedBody ?? (await request.bytes());
  return reply(`${request.method} ${request.target} [${Buffer.from(body).toString()}]`);
};

const opened: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of opened) await close();
});

function listen(answer: ConnectionHost["answer"]) {
  const server = createListen()({ host: "127.0.0.1", port: 0, answer });
  opened.push(() => server.stop(true));
  return server;
}

/** A peer that sends bytes, and keeps all that it hears. */
function peerOf(port: number) {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let heard = "";
  socket.setEncoding("latin1").on("data", (text: string) => (heard += text));
  socket.on("error", () => {});
  const hears = async (what: string): Promise<string> => {
    const deadlineMs = performance.now() + 5_000;
    while (!heard.includes(what) && performance.now() < deadlineMs) await Bun.sleep(5);
    return heard;
  };
  return { socket, heard: () => heard, hears, ended: new Promise((resolve) => socket.once("end", resolve)) };
}

const get = (target: string, ...lines: string[]): string =>
  [`GET ${target} HTTP/1.1`, "Host: x", ...lines, "", ""].join("\r\n");
const post = (body: string, ...lines: string[]): string =>
  `${["POST / HTTP/1.1", "Host: x", `Content-Length: ${body.length}`, ...lines].join("\r\n")}\r\n\r\n${body}`;

/** The bodies of answers that told their length. */
function bodiesIn(heard: string): string[] {
  const bodies: string[] = [];
  for (let rest = heard; rest !== "";) {
    const end = rest.indexOf("\r\n\r\n") + 4;
    const length = Number(/content-length: (\d+)/.exec(rest.slice(0, end))?.[1]);
    bodies.push(rest.slice(end, end + length));
    rest = rest.slice(end + length);
  }
  return bodies;
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
  for (let turn = 0; turn < 50 && host.openRequests > 0; turn++) await Bun.sleep(0);
  expect(host.openRequests).toBe(0);
  return bodiesIn(written());
}

/** A connection without a socket. */
function openFake(answer: ConnectionHost["answer"]) {
  let written = "";
  const paused: boolean[] = [];
  const ends: string[] = [];
  const bugs: { readonly error: unknown; readonly requestId: string | undefined }[] = [];
  let ids = 0;
  const line = { isDead: false };
  const socket: PeerSocket = {
    remoteAddress: "127.0.0.1",
    write: (bytes, offset = 0, length = bytes.length) => {
      if (line.isDead) return -1;
      if (typeof bytes === "string") written += Buffer.from(bytes).toString("latin1");
      else written += Buffer.from(bytes).toString("latin1", offset, offset + length);
      return typeof bytes === "string" ? Buffer.byteLength(bytes) : length;
    },
    pause: () => void paused.push(true),
    resume: () => void paused.push(false),
    shutdown: () => void ends.push("shutdown"),
    end: () => void ends.push("end"),
    terminate: () => void ends.push("terminate"),
  };
  const host: ConnectionHost = {
    answer,
    idleSeconds: 60,
    stalledSeconds: 60,
    dateLine: "",
    isStopping: false,
    openRequests: 0,
    onGone: () => {},
    newId: () => `id ${++ids}`,
    onBug: (error, requestId) => void bugs.push({ error, requestId }),
  };
  const connection = new HttpConnection(host, socket);
  return { connection, host, written: () => written, paused, ends, line, bugs };
}

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

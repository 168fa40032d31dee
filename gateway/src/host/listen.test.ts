import { afterAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import { until } from "../../../test/support/until.ts";
import type { HttpRequest } from "../platform/http-request.ts";
import type { PacedBody } from "../platform/paced-body.ts";
import type { Answered, Reply } from "../platform/reply.ts";
import { createListen } from "./listen.ts";

/** The listener counts in seconds. */
const idleSeconds = 2;
const keptSeconds = 2 * idleSeconds;
const overMs = 2 * idleSeconds * 1_000 + 500;
const large = new Uint8Array(64 * 1024 ** 2);

const server = createListen({ idleSeconds, keptSeconds, stalledSeconds: 3 * idleSeconds })({
  host: "127.0.0.1",
  port: 0,
  answer: (request) => answerTo(request.target),
});
afterAll(() => server.stop(true));

test.concurrent("a connection on which nothing is asked is closed", async () => {
  const socket = connect(server.port, "127.0.0.1").resume();
  const closed = new Promise<"closed">((resolve) => socket.once("close", () => resolve("closed")));
  expect(await Promise.race([closed, Bun.sleep(overMs)])).toBe("closed");
  socket.destroy();
});

test.concurrent("one that has had a request is kept for longer, as balancers keep it, and then closed", async () => {
  const { socket, closed } = ask("/");
  const beganMs = performance.now();
  expect(await Promise.race([closed, Bun.sleep(2 * overMs)])).toBe("closed");
  expect(performance.now() - beganMs).toBeGreaterThan(keptSeconds * 1_000 - 100);
  socket.destroy();
});

test.concurrent("a next request that has begun is waited for no longer than a first one", async () => {
  const { socket, closed, received } = ask("/");
  await until(() => received() > 0);
  await Bun.sleep(500);
  socket.write("GET / HTTP/1.1\r\n");
  const beganMs = performance.now();
  expect(await closed).toBe("closed");
  expect(performance.now() - beganMs).toBeLessThan(keptSeconds * 1_000);
  socket.destroy();
});

test.concurrent("a peer that does not read its answer does not keep it for ever", async () => {
  const { socket, closed, received } = ask("/large");
  socket.pause();
  await Bun.sleep(overMs);
  socket.resume();
  expect(await closed).toBe("closed");
  expect(received()).toBeLessThan(large.length);
});

test.concurrent("nor does one that goes on sending while it does not read", async () => {
  const { socket, closed, received } = ask("/large", server.port, "Content-Length: 1000\r\n");
  socket.pause();
  for (let waitedMs = 0; waitedMs < overMs; waitedMs += 500) {
    socket.write("x");
    await Bun.sleep(500);
  }
  socket.resume();
  expect(await closed).toBe("closed");
  expect(received()).toBeLessThan(large.length);
});

test.concurrent("a call that waits for its answer is not idle", async () => {
  expect(await (await fetch(`http://127.0.0.1:${server.port}/slow`)).text()).toBe("here");
});

test.concurrent("a stream may be silent for longer than a connection may be idle", async () => {
  expect(await (await fetch(`http://127.0.0.1:${server.port}/stream`)).text()).toBe("data: 1\n\ndata: 2\n\n");
});

test.concurrent("where there is no room for more connections, those that have waited longest are ended, and no call", async () => {
  const told: unknown[] = [];
  const own = createListen({ connectionsMax: 8, onFull: (ended) => void told.push(ended) })({
    host: "127.0.0.1",
    port: 0,
    answer: (request) => answerTo(request.target),
  });
  try {
    const slow = fetch(`http://127.0.0.1:${own.port}/slow`);
    await until(() => own.openRequests() === 1);
    const silent = Array.from({ length: 20 }, () => connect(own.port, "127.0.0.1"));
    const closed = silent.map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    await Promise.all(closed.slice(0, 12));
    expect(await (await fetch(`http://127.0.0.1:${own.port}/here`)).text()).toBe("here");
    expect(silent.slice(14).filter((socket) => socket.readyState !== "open")).toEqual([]);
    expect(await (await slow).text()).toBe("here");
    expect(told).toHaveLength(1);
    for (const socket of silent) socket.destroy();
  } finally {
    await own.stop(true);
  }
});

describe("where there is no room for more connections", () => {
  const connectionsMax = 8;
  const told: unknown[] = [];
  const openFull = (answer: (request: HttpRequest) => Promise<Answered>) =>
    createListen({ connectionsMax, onFull: (ended) => void told.push(ended) })({
      host: "127.0.0.1",
      port: 0,
      answer,
    });
  const newcomer = async (port: number): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}/here`, { keepalive: false })).text();
  const fill = (port: number, count: number, path: string) =>
    Array.from({ length: count }, () => ask(path, port, "Content-Length: 1000\r\n"));

  test("those that only send the rest of an answered request make it", async () => {
    const own = openFull(async () => new Response("here"));
    try {
      const peers = fill(own.port, connectionsMax, "/here");
      await until(() => peers.every(({ received }) => received() > 0));
      for (const { socket } of peers) socket.write("x");
      expect(await newcomer(own.port)).toBe("here");
    } finally {
      await own.stop(true);
    }
  });

  test("then those whose calls wait for bodies that do not come, and no call that is at work", async () => {
    const working = Promise.withResolvers<void>();
    const own = openFull(async (request) => {
      if (request.target === "/body") await request.bytes();
      if (request.target === "/working") await working.promise;
      return new Response("here");
    });
    try {
      // This one has not sent its body either, but its call does not ask for it.
      const [worker] = fill(own.port, 1, "/working");
      fill(own.port, connectionsMax - 1, "/body");
      await until(() => own.openRequests() === connectionsMax);
      for (let count = 0; count < connectionsMax; count++) expect(await newcomer(own.port)).toBe("here");
      working.resolve();
      await until(() => (worker?.received() ?? 0) > 0);
    } finally {
      await own.stop(true);
    }
  });

  test("then those that do not read what anybody may have, and nobody with an answer of their own", async () => {
    const own = openFull(async ({ target }) => {
      if (target === "/here") return new Response("here");
      const page = new Response(large.subarray(0, large.length / 4));
      return target === "/own" ? { page, owner: "acc_ada" } : page;
    });
    const askAndNotRead = (path: string): ReturnType<typeof ask> => {
      const asked = ask(path, own.port);
      asked.socket.pause();
      return asked;
    };
    try {
      const owner = askAndNotRead("/own");
      await until(() => own.openRequests() === 1);
      const strangers = Array.from({ length: connectionsMax - 1 }, () => askAndNotRead("/page"));
      await until(() => own.openRequests() === connectionsMax);
      for (let count = 0; count < connectionsMax; count++) expect(await newcomer(own.port)).toBe("here");
      owner.socket.resume();
      await until(() => owner.received() > large.length / 4);
      for (const { socket } of strangers) socket.destroy();
    } finally {
      await own.stop(true);
    }
  });

  test("newcomers are ended where all calls are at work, and the operator hears that it was they", async () => {
    const own = openFull(() => new Promise(() => {}));
    try {
      fill(own.port, connectionsMax, "/working");
      await until(() => own.openRequests() === connectionsMax);
      told.splice(0);
      expect(await ask("/here", own.port).closed).toBe("closed");
      expect(own.openRequests()).toBe(connectionsMax);
      await until(() => told.length > 0);
      expect(told).toEqual([{ waiting: 0, newcomers: 1, unread: 0 }]);
    } finally {
      await own.stop(true);
    }
  });
});

test("answers that nobody reads share a room: those kept longest are broken off, and who reads is served", async () => {
  const answerBytes = 16 * 1024 ** 2;
  const told: unknown[] = [];
  let answered = 0;
  // Two of them fit.
  const own = createListen({
    unreadBytesMax: 2.5 * answerBytes,
    onFull: (ended) => void told.push(ended),
  })({
    host: "127.0.0.1",
    port: 0,
    answer: async () => {
      answered++;
      return { status: 200, headerLines: "", body: new Uint8Array(answerBytes), closes: false };
    },
  });
  const askAndNotRead = async (open: number) => {
    const before = answered;
    const asked = ask("/", own.port);
    asked.socket.pause();
    await until(() => answered === before + 1 && own.openRequests() === open);
    return asked;
  };
  try {
    const [first, second] = [await askAndNotRead(1), await askAndNotRead(2)];
    // This one takes the place of the first, and whoever reads that of the second, if of any.
    const third = await askAndNotRead(2);
    const read = await (await fetch(`http://127.0.0.1:${own.port}/`)).bytes();
    expect(read.length).toBe(answerBytes);
    for (const { socket } of [first, second, third]) socket.resume();
    expect(await first.closed).toBe("closed");
    expect(first.received()).toBeLessThan(answerBytes);
    await until(() => third.received() > answerBytes);
    await until(() => told.length > 0);
    expect(told[0]).toMatchObject({ waiting: 0, newcomers: 0 });
  } finally {
    await own.stop(true);
  }
});

for (const path of ["/large", "/paced"]) {
  test(`a request is open until all of its answer is taken, or its peer is gone: ${path}`, async () => {
    const own = createListen()({ host: "127.0.0.1", port: 0, answer: () => answerTo(path) });
    try {
      expect(own.openRequests()).toBe(0);
      const { socket, closed } = ask(path, own.port);
      socket.pause();
      await until(() => own.openRequests() === 1);
      await Bun.sleep(300);
      expect(own.openRequests()).toBe(1);
      const stopped = own.stop();
      socket.resume();
      expect(await closed).toBe("closed");
      await stopped;
      expect(own.openRequests()).toBe(0);
    } finally {
      await own.stop(true);
    }
  });
}

test("a connection that asks for much at once lets others have their turn in between", async () => {
  const asked: string[] = [];
  let other: Promise<unknown> | undefined;
  const own = createListen()({
    host: "127.0.0.1",
    port: 0,
    answer: async ({ target }) => {
      asked.push(target);
      other ??= fetch(`http://127.0.0.1:${own.port}/other`);
      return { status: 200, headerLines: "", body: "here", closes: false };
    },
  });
  try {
    const count = 1_000;
    const greedy = connect(own.port, "127.0.0.1");
    let received = "";
    greedy.on("data", (piece) => (received += piece.toString()));
    greedy.write("GET /greedy HTTP/1.1\r\nHost: x\r\n\r\n".repeat(count));
    await until(() => received.split("HTTP/1.1 200").length === count + 1);
    await other;
    expect(asked).toHaveLength(count + 1);
    expect(asked.indexOf("/other")).toBeLessThan(count / 2);
    greedy.destroy();
  } finally {
    await own.stop(true);
  }
});

test("a port that is taken is named, and what to do about it", () => {
  const listenThere = (): unknown =>
    createListen()({ host: "127.0.0.1", port: server.port, answer: async () => new Response() });
  expect(listenThere).toThrow(`Port ${server.port} is taken; set PORT to serve at another one.`);
});

test("an address that is not this machine's is named, with what HOST may be", () => {
  const listenThere = (): unknown =>
    createListen()({ host: "203.0.113.5", port: 18_787, answer: async () => new Response() });
  expect(listenThere).toThrow(
    "It cannot listen at 203.0.113.5, port 18787 (EADDRNOTAVAIL). Is HOST an address or a name of this machine?",
  );
});

// Root may take any port, so somebody else tries, who must be able to read this folder.
const asNobody = ["setpriv", "--reuid=65534", "--clear-groups"];
const listenFile = join(import.meta.dir, "listen.ts");
const isNobodyAble =
  process.getuid?.() === 0 &&
  Bun.which("setpriv") !== null &&
  Bun.spawnSync([...asNobody, "test", "-r", listenFile]).exitCode === 0;

test.skipIf(!isNobodyAble)("a port that is not for this user is named, and what to do about it", () => {
  const program = `import { createListen } from ${JSON.stringify(listenFile)};
      createListen()({ host: "127.0.0.1", port: 1, answer: async () => new Response() });`;
  const { stderr } = Bun.spawnSync([...asNobody, process.execPath, "-e", program]);
  expect(stderr.toString()).toContain(
    "Port 1 is not for this user (EACCES); set PORT to one from 1024 on, or grant the right to bind lower ones.",
  );
});

async function answerTo(path: string): Promise<Reply | Response> {
  if (path === "/large") return new Response(large);
  if (path === "/paced") return { status: 200, headerLines: "", body: pacedBody, closes: false };
  if (path === "/stream") {
    return new Response(twoEvents(), { headers: { "content-type": "text/event-stream" } });
  }
  if (path === "/slow") await Bun.sleep(overMs);
  return new Response("here");
}

/** Whoever writes it does not wait for the last piece to be taken. */
const pacedBody: PacedBody = {
  write: async (reader) => {
    while (!reader.send(new Uint8Array(100_000)));
  },
  cancel: () => {},
};

function ask(path: string, port = server.port, lines = "") {
  let bytes = 0;
  const socket = connect(port, "127.0.0.1");
  socket.on("data", (piece) => (bytes += piece.length)).on("error", () => {});
  const closed = new Promise<"closed">((resolve) => socket.once("close", () => resolve("closed")));
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${lines}\r\n`);
  return { socket, closed, received: () => bytes };
}

async function* twoEvents(): AsyncGenerator<string> {
  yield "data: 1\n\n";
  await Bun.sleep(overMs);
  yield "data: 2\n\n";
}

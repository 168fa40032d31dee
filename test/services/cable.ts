// The way of one process to its Postgres, which a test can cut, and on which it can lose or delay what is committed.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface Cable {
  /** The database at the other end. */
  readonly url: string;
  /** Breaks every connection at the near end, and lets nobody through until it is mended. */
  readonly cut: () => void;
  readonly mend: () => void;
  /** As a firewall does with connections that it no longer knows: they stay open and silent, while new ones pass. */
  readonly forget: () => void;
  /** What becomes of the commit of the next transaction that names this; those after it pass, unless the cable is cut. */
  readonly spoilCommit: (naming: string, fate: CommitFate, then?: "cut") => void;
  /** Hands over the commits that were kept; whoever sent them may be long gone. */
  readonly deliver: () => void;
  readonly close: () => Promise<void>;
}

/** Never arrives; arrives, and its answer does not; arrives when it is delivered. */
type CommitFate = "lost" | "unanswered" | "kept";

export async function openCable(databaseUrl: string): Promise<Cable> {
  const target = new URL(databaseUrl);
  let isCut = false;
  let spoiling: { readonly naming: string; readonly fate: CommitFate } | undefined;
  let isCutThen = false;
  let kept: (() => void)[] = [];
  const sockets = new Set<Socket>();
  const callers = new Set<Socket>();
  const forgotten = new WeakSet<Socket>();

  const cut = (): void => {
    isCut = true;
    for (const socket of callers) socket.destroy();
  };

  const server = createServer((caller) => {
    if (isCut) return void caller.destroy();
    const database = connect(Number(target.port), target.hostname);
    const read = createMessageReader();
    let isNamed = false;
    /** What has befallen the commit under way here. */
    let fate: CommitFate | undefined;
    const late: Buffer[] = [];

    const breakOff = (): void => {
      if (isCutThen) cut();
      caller.destroy();
    };

    const pass = ({ bytes, isCommit }: Message): void => {
      if (spoiling) isNamed ||= bytes.includes(spoiling.naming);
      if (spoiling && isCommit && isNamed) {
        ({ fate } = spoiling);
        spoiling = undefined;
        if (fate === "kept") kept.push(() => void database.end(Buffer.concat(late)));
      }
      if (fate === "lost") breakOff();
      else if (fate === "kept") late.push(bytes);
      else database.write(bytes);
    };

    callers.add(caller);
    for (const socket of [caller, database]) {
      sockets.add(socket);
      socket.on("error", () => {});
    }
    caller.on("data", (bytes: Buffer) => {
      if (forgotten.has(caller)) return;
      for (const message of read(bytes)) pass(message);
    });
    database.on("data", (bytes: Buffer) => {
      if (forgotten.has(caller)) return;
      if (fate !== "unanswered") caller.write(bytes);
      else if (bytes.includes(transactionOver)) breakOff();
    });
    caller.on("close", () => {
      callers.delete(caller);
      sockets.delete(caller);
      // What was kept stays under way, as in the buffers of a server that has stopped.
      if (fate !== "kept") database.destroy();
    });
    database.on("close", () => {
      sockets.delete(database);
      caller.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A TCP server that listens has a port.
  const { port } = server.address() as AddressInfo;
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    cut,
    mend: () => void (isCut = false),
    forget: () => {
      for (const caller of callers) forgotten.add(caller);
    },
    spoilCommit: (naming, fate, then) => {
      spoiling = { naming, fate };
      isCutThen = then === "cut";
    },
    deliver: () => {
      for (const hand of kept) hand();
      kept = [];
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Message {
  readonly bytes: Buffer;
  readonly isCommit: boolean;
}

/** The server is ready, and in no transaction. */
const transactionOver = Buffer.from("Z\0\0\0\u0005I", "latin1");
const headBytes = 5;

/** Takes a client's bytes as they come and gives its messages. A commit is a text, or a statement prepared from one. */
function createMessageReader(): (bytes: Buffer) => readonly Message[] {
  let rest = Buffer.alloc(0);
  // The first message has no letter before its length.
  let hasBegun = false;
  const commits = new Set<string>();

  const isCommit = (letter: string, content: Buffer): boolean => {
    const [first = "", second = ""] = content.toString("latin1").split("\0", 2);
    if (letter === "P" && second === "COMMIT") commits.add(first);
    return (letter === "Q" && first === "COMMIT") || (letter === "B" && commits.has(second));
  };

  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    const messages: Message[] = [];
    for (;;) {
      const letterBytes = hasBegun ? 1 : 0;
      if (rest.length < headBytes) return messages;
      const length = letterBytes + rest.readUInt32BE(letterBytes);
      if (rest.length < length) return messages;
      const message = rest.subarray(0, length);
      const letter = hasBegun ? message.toString("latin1", 0, 1) : "";
      messages.push({ bytes: message, isCommit: isCommit(letter, message.subarray(headBytes)) });
      rest = rest.subarray(length);
      hasBegun = true;
    }
  };
}

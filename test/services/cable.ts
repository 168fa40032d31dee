// The way of one process to its Postgres, which a test can cut, and on which it can lose or delay what is committed.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface Cable {
  /** The database at the other end. */
  readonly url: string;
  /** Breaks every connection at the near end, and lets nobody through until it is mended. */
  readonly cut: () => void;
  readonly mend: () => void;
  /** What becomes of the next commit that is sent; those after it pass. */
  readonly spoilCommit: (how: CommitFate) => void;
  /** Hands over the commits that were kept; whoever sent them may be long gone. */
  readonly deliver: () => void;
  readonly close: () => Promise<void>;
}

/** Never arrives; arrives, and its answer does not; arrives when it is delivered. */
type CommitFate = "lost" | "unanswered" | "kept";

/** As the driver sends it: a message of its own. */
const commitText = "COMMIT\0";

export async function openCable(databaseUrl: string): Promise<Cable> {
  const target = new URL(databaseUrl);
  let isCut = false;
  let fate: CommitFate | undefined;
  let kept: (() => void)[] = [];
  const sockets = new Set<Socket>();
  const near = new Set<Socket>();

  const server = createServer((caller) => {
    if (isCut) return void caller.destroy();
    const database = connect(Number(target.port), target.hostname);
    let isSpoilt = false;
    near.add(caller);
    for (const socket of [caller, database]) {
      sockets.add(socket);
      socket.on("error", () => {});
    }
    caller.on("data", (bytes) => {
      if (fate === undefined || !bytes.includes(commitText)) return void database.write(bytes);
      const becomes = fate;
      fate = undefined;
      isSpoilt = true;
      if (becomes === "lost") return void caller.destroy();
      if (becomes === "unanswered") return void database.write(bytes);
      kept.push(() => void database.end(bytes));
    });
    database.on("data", (bytes) => (isSpoilt ? caller.destroy() : caller.write(bytes)));
    caller.on("close", () => {
      near.delete(caller);
      sockets.delete(caller);
      // What was kept stays under way, as in the buffers of a server that has stopped.
      if (!isSpoilt || kept.length === 0) database.destroy();
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
    cut: () => {
      isCut = true;
      for (const socket of near) socket.destroy();
    },
    mend: () => void (isCut = false),
    spoilCommit: (how) => void (fate = how),
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

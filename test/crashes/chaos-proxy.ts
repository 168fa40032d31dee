// A bad network between client and gateway: connections that break before the request, after it, or in the middle of
// the answer. Its choices come from the random source it is given.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface ChaosProxy {
  readonly url: string;
  /** Where connections go from now on; those that are open stay where they are. */
  readonly aim: (gatewayUrl: string) => void;
  /** From now on every connection is a good one. */
  readonly behave: () => void;
  readonly broken: Readonly<Record<"before" | "after" | "middle", number>>;
  readonly close: () => Promise<void>;
}

export interface ChaosShares {
  /** How many of a hundred connections break before the request was passed on. */
  readonly before: number;
  /** After the request was passed on, and before any of its answer was. */
  readonly after: number;
  /** Somewhere in what is answered. */
  readonly middle: number;
}

/** An answer of a few kilobytes is cut somewhere in its head or body, a connection that is kept in a later answer. */
const cutWithinBytes = 3_000;

export async function openChaosProxy(shares: ChaosShares, random: () => number): Promise<ChaosProxy> {
  let target: URL | undefined;
  let behaves = false;
  const broken = { before: 0, after: 0, middle: 0 };
  const open = new Set<Socket>();

  const fateOf = (): "pass" | "before" | "after" | "middle" => {
    const drawn = random() * 100;
    if (behaves || drawn >= shares.before + shares.after + shares.middle) return "pass";
    if (drawn < shares.before) return "before";
    return drawn < shares.before + shares.after ? "after" : "middle";
  };

  const server = createServer((caller) => {
    const fate = fateOf();
    const breakOff = (kind: keyof typeof broken): void => {
      broken[kind] += 1;
      caller.destroy();
    };
    open.add(caller);
    caller.on("close", () => open.delete(caller));
    caller.on("error", () => {});
    if (fate === "before" || !target) return breakOff("before");

    const gateway = connect(Number(target.port), target.hostname);
    gateway.on("error", () => caller.destroy());
    caller.on("data", (bytes) => gateway.write(bytes));
    // Whoever lost its caller is told so, as the network would.
    caller.on("close", () => gateway.destroy());
    gateway.on("close", () => caller.end());
    let left = fate === "middle" ? Math.ceil(random() * cutWithinBytes) : Number.POSITIVE_INFINITY;
    gateway.on("data", (bytes: Buffer) => {
      if (caller.destroyed) return;
      if (fate === "after") return breakOff("after");
      left -= bytes.length;
      if (left > 0) return void caller.write(bytes);
      caller.write(bytes.subarray(0, bytes.length + left), () => breakOff("middle"));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A TCP server that listens has a port.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    aim: (gatewayUrl) => (target = new URL(gatewayUrl)),
    behave: () => {
      behaves = true;
      for (const socket of open) socket.destroy();
    },
    broken,
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

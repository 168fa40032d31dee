// Stands between a client and its Postgres: makes the way longer, and counts what goes along it.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface DistantPostgres {
  readonly url: string;
  readonly traffic: () => Traffic;
  readonly close: () => void;
}

export interface Traffic {
  readonly statements: number;
  /** How often the client sent something after it had waited for an answer. */
  readonly roundTrips: number;
}

/** What the client sends arrives so much later. */
export async function openDistantPostgres(url: string, addedMs: number): Promise<DistantPostgres> {
  const target = new URL(url);
  let statements = 0;
  let roundTrips = 0;
  const sockets = new Set<Socket>();

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const countStatements = createStatementCounter();
    let isAnswered = true;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => socket.destroy());
    }
    const pass = (bytes: Buffer): void => void (upstream.writable && upstream.write(bytes));
    client.on("data", (bytes: Buffer) => {
      statements += countStatements(bytes);
      if (isAnswered) roundTrips++;
      isAnswered = false;
      if (addedMs === 0) pass(bytes);
      else setTimeout(pass, addedMs, bytes);
    });
    upstream.on("data", (bytes: Buffer) => {
      isAnswered = true;
      client.write(bytes);
    });
    client.on("close", () => void (sockets.delete(client), upstream.destroy()));
    upstream.on("close", () => void (sockets.delete(upstream), client.destroy()));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  // A server that listens at a port has an address with one.
  const { port } = server.address() as AddressInfo;
  const address = new URL(url);
  address.port = String(port);
  return {
    url: address.href,
    traffic: () => ({ statements, roundTrips }),
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const [execute, simpleQuery] = [0x45, 0x51];
const headerBytes = 5;

/** Finds the statements in what a client sends: each message has a letter and its length, but the first has no letter. */
export function createStatementCounter(): (bytes: Buffer) => number {
  let isFirst = true;
  let left: Buffer = Buffer.alloc(0);
  return (bytes) => {
    let found = 0;
    left = left.length === 0 ? bytes : Buffer.concat([left, bytes]);
    while (left.length >= headerBytes) {
      const length = isFirst ? left.readInt32BE(0) : 1 + left.readInt32BE(1);
      if (left.length < length) break;
      if (!isFirst && (left[0] === execute || left[0] === simpleQuery)) found++;
      isFirst = false;
      left = left.subarray(length);
    }
    return found;
  };
}

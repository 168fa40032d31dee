// What the store says where a pooler gives one connection of the server to whoever comes next.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { expect, test } from "bun:test";
import { openTestDatabase } from "../../../../../test/services/postgres.ts";
import type { DataPlace } from "../../data-place.ts";
import { postgresPlace } from "../postgres-place.ts";

const ways: readonly [string, (place: DataPlace) => Promise<unknown>][] = [
  ["looks at", (place) => place.look()],
  [
    "opens",
    async (place) => {
      const store = await place.openForPeople({ onBroughtForward: () => {} });
      await store.close();
    },
  ],
];

test.each(ways)(
  "who %s the books through a pooler that leaves the statements of one connection to the next is told what to do",
  async (_way, ask) => {
    const database = await openTestDatabase();
    const pooler = await openPooler(database.url);
    try {
      const told = await ask(postgresPlace(pooler.url, () => performance.now())).then(
        () => "nothing",
        String,
      );
      expect(told).toContain(
        'cannot be used: prepared statement "P0" already exists. So says a pooler such as PgBouncer',
      );
      expect(told).toContain("name the server itself in TOLLGATE_STORE");
      expect(told).toContain("pool_mode = session");
      expect(told).toContain("max_prepared_statements");
    } finally {
      await pooler.close();
      await database.drop();
    }
  },
);

/** Has one connection to the server, for one caller after the other, and puts nothing in order between them. */
async function openPooler(
  databaseUrl: string,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const target = new URL(databaseUrl);
  const database = connect(Number(target.port), target.hostname);
  const welcome: Buffer[] = [];
  let isWelcomed = false;
  const callers: Socket[] = [];

  const serve = (caller: Socket): void => {
    caller.once("data", (startup: Buffer) => {
      if (isWelcomed) caller.write(Buffer.concat(welcome));
      else database.write(startup);
      caller.on("data", (asked: Buffer) => database.write(without("X", asked)));
    });
  };
  const leave = (caller: Socket): void => {
    const wasServed = callers[0] === caller;
    callers.splice(callers.indexOf(caller), 1);
    const [next] = callers;
    if (wasServed && next) serve(next);
  };
  database.on("error", () => {});
  database.on("data", (said: Buffer) => {
    if (!isWelcomed) {
      // What it says of itself, and that it is ready; how the first caller proved who he is was his.
      welcome.push(...messagesIn(said).filter((message) => isOfWelcome(message)));
      isWelcomed = welcome.some((message) => typeOf(message) === "Z");
    }
    callers[0]?.write(said);
  });

  const server = createServer((caller) => {
    callers.push(caller);
    caller.on("error", () => {});
    caller.on("close", () => leave(caller));
    if (callers.length === 1) serve(caller);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    close: async () => {
      for (const socket of [...callers, database]) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const typeOf = (message: Buffer): string => message.toString("latin1", 0, 1);

const isOfWelcome = (message: Buffer): boolean =>
  ["S", "K", "Z"].includes(typeOf(message)) || (typeOf(message) === "R" && message.readInt32BE(5) === 0);

const without = (type: string, chunk: Buffer): Buffer =>
  Buffer.concat(messagesIn(chunk).filter((message) => typeOf(message) !== type));

/** Each begins with a letter and its length, in which the letter does not count. */
function messagesIn(chunk: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at < chunk.length;) {
    const end = at + 1 + chunk.readInt32BE(at + 1);
    messages.push(chunk.subarray(at, end));
    at = end;
  }
  return messages;
}

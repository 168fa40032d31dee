// What the store says where a pooler stands between it and its server.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { expect, test } from "bun:test";
import { openTestDatabase } from "../../../../../test/services/postgres.ts";
import { inDatabase } from "../test-faults.ts";
import { postgresPlace } from "../postgres-place.ts";

test("a pooler that passes over the bounds of a connection is told, until the role has them", async () => {
  const database = await openTestDatabase();
  const pooler = await openPooler(database.url);
  const role = `behind_a_pooler_${process.pid}`;
  const asRole = (address: string): string => {
    const url = new URL(address);
    url.username = role;
    url.password = "words";
    return url.href;
  };
  const open = (address: string): Promise<string> =>
    postgresPlace(asRole(address), () => performance.now())
      .openForPeople({ onBroughtForward: () => {} })
      .then(async (store) => {
        await store.close();
        return "opened";
      }, String);
  const setting = (words: string) => inDatabase(database.url, (sql) => sql.unsafe(words));
  try {
    await setting(`CREATE ROLE ${role} LOGIN PASSWORD 'words'`);
    await setting(`GRANT ALL ON SCHEMA public TO ${role}`);
    expect(await open(database.url)).toBe("opened");

    const told = await open(pooler.url);
    expect(told).toContain(
      "passes over idle_in_transaction_session_timeout, lock_timeout, statement_timeout",
    );
    expect(await lookedAt(asRole(pooler.url))).toBe(told);

    const advised = told.match(/ALTER ROLE [^;]+;/g) ?? [];
    expect(advised).toHaveLength(3);
    await setting(advised[0] ?? "");
    expect(await open(pooler.url)).toContain(
      "passes over idle_in_transaction_session_timeout, lock_timeout,",
    );
    for (const words of advised) await setting(words);
    expect(await open(pooler.url)).toBe("opened");
  } finally {
    await pooler.close();
    await setting(`DROP OWNED BY ${role}`);
    await setting(`DROP ROLE ${role}`);
    await database.drop();
  }
});

const lookedAt = (url: string): Promise<string> =>
  postgresPlace(url, () => performance.now())
    .look()
    .then(() => "found", String);

/** Gives each connection one of the server's, and tells that who comes and to which database, and nothing else. */
async function openPooler(
  databaseUrl: string,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const server = createServer((caller) => {
    const database = connect(Number(target.port), target.hostname);
    for (const socket of [caller, database]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => void (caller.destroy(), database.destroy()));
    }
    caller.once("data", (beginning: Buffer) => {
      database.write(withoutSettings(beginning));
      caller.pipe(database);
    });
    database.pipe(caller);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Its length and the version of the protocol come first; then names and values, each with a zero behind it. */
function withoutSettings(startup: Buffer): Buffer {
  const words = startup.toString("latin1", 8).split("\0");
  const kept = words.flatMap((name, n) =>
    n % 2 === 0 && (name === "user" || name === "database") ? [name, words[n + 1] ?? ""] : [],
  );
  const members = Buffer.from(`${kept.join("\0")}\0\0`, "latin1");
  const head = Buffer.from(startup.subarray(0, 8));
  head.writeInt32BE(8 + members.length);
  return Buffer.concat([head, members]);
}

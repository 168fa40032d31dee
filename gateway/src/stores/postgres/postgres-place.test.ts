import { afterAll, expect, test } from "bun:test";
import { postgresPlace } from "./postgres-place.ts";

const stranger = Bun.listen({
  hostname: "127.0.0.1",
  port: 0,
  socket: { open: (socket) => void socket.end(), data: () => {} },
});
afterAll(() => stranger.stop(true));

test.concurrent.each([
  ["where nobody listens", "127.0.0.1:4"],
  ["whose host nobody knows", "no-such-host.invalid:5432"],
  ["where somebody listens who is no Postgres", `127.0.0.1:${stranger.port}`],
])(
  "a server %s is told as one that cannot be reached, without the password",
  async (_where, host) => {
    const place = postgresPlace(`postgres://toll:hunter22hunter22@${host}/books`, () => performance.now());
    const told = [place.look(), place.hasData()].map((asked) => asked.then(String, String));
    for (const sentence of await Promise.all(told)) {
      expect(sentence).toStartWith(
        `Error: postgres://${host}/books cannot be used: no connection to it could be made`,
      );
      expect(sentence).not.toContain("hunter22");
    }
  },
  20_000,
);

/** A server of which no more is known than what it says to whoever connects, and how it ends. */
function openSaying(words: Buffer): { readonly port: number; readonly close: () => void } {
  const said = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => void (socket.write(words), socket.end()) },
  });
  return { port: said.port, close: () => said.stop(true) };
}

/** As Postgres refuses whoever connects. */
function refusal(state: string, words: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${state}\0M${words}\0\0`);
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + 4);
  return Buffer.concat([Buffer.from("E"), length, fields]);
}

test.concurrent.each([
  ["no TLS where the address wants it", "?sslmode=require", Buffer.from("N"), "Server does not support SSL"],
  ["no connection left", "", refusal("53300", "sorry, too many clients already"), "too many clients"],
  ["another password", "", refusal("28P01", 'password failed for "toll"'), 'password failed for "toll"'],
  [
    "a pooler before it",
    "",
    refusal("08P01", "unsupported startup parameter: lock_timeout"),
    "server itself",
  ],
  ["statements of others", "", refusal("42P05", 'prepared statement "P0" already exists'), "server itself"],
  ["no such database", "", refusal("3D000", 'database "books" does not exist'), "does not exist"],
])(
  "a server that has %s is told by that",
  async (_what, options, words, told) => {
    const saying = openSaying(words);
    try {
      const url = `postgres://toll:hunter22hunter22@127.0.0.1:${saying.port}/books`;
      const sentence = await postgresPlace(url + options, () => performance.now())
        .hasData()
        .then(String, String);
      expect(sentence).toStartWith(`Error: postgres://127.0.0.1:${saying.port}/books cannot be used: `);
      expect(sentence).toContain(told);
      expect(sentence).not.toContain("busy");
      expect(sentence).not.toContain("hunter22");
    } finally {
      saying.close();
    }
  },
  20_000,
);

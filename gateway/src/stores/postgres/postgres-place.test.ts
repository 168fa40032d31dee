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
        `Error: postgres://${host}/books cannot be used: no connection to it came about`,
      );
      expect(sentence).not.toContain("hunter22");
    }
  },
  20_000,
);

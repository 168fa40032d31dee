import { createServer } from "node:net";

// Below the ports that systems give to whoever connects. There, a client that knocks at a stopped server may be given
// the server's own port: it meets itself, and the server cannot come back.
const portFirst = 20_000;
const portCount = 12_000;

/** A port nobody listens on at the moment, for programs that cannot choose one themselves. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = portFirst + Math.floor(Math.random() * portCount);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

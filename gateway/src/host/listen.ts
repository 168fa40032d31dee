import type { Peer } from "../platform/peer.ts";

/** Takes requests from the network. */
export type Listen = (options: {
  readonly host: string;
  readonly port: number;
  readonly fetch: (request: Request, peer: Peer) => Promise<Response>;
}) => Listening;

interface Listening {
  readonly port: number;
  /** Requests whose answers have not left to their last byte. A connection on which nothing is asked has none. */
  readonly openRequests: () => number;
  /** Resolves when no connection is left; ends them all when told to hurry. */
  readonly stop: (hurry?: boolean) => Promise<void>;
}

interface Patience {
  /** For the next request, or for a peer that does not read its answer. A call that waits for its upstream is not idle. */
  readonly idleSeconds: number;
  /** For the next event of a stream: some dialects have no word for "still here". */
  readonly silenceSeconds: number;
}

/** More than four minutes cannot be told apart from for ever by this listener. */
const usualPatience: Patience = { idleSeconds: 60, silenceSeconds: 255 };

/** Bodies are bounded by whoever reads them, with a refusal that says so; those nobody reads take no memory. */
const requestBytesMax = 2 ** 40;

export const createListen =
  (patience: Patience = usualPatience): Listen =>
  ({ host, port, fetch }) => {
    const server = serveOrSay({
      hostname: host,
      port,
      idleTimeout: patience.idleSeconds,
      maxRequestBodySize: requestBytesMax,
      fetch: (request, bun) => {
        bun.timeout(request, 0);
        return fetch(request, new BunPeer(request, bun, patience));
      },
      error: () => Response.json({ error: "internal error", code: "internal" }, { status: 500 }),
    });
    return {
      port: server.port ?? port,
      openRequests: () => server.pendingRequests,
      stop: (hurry) => server.stop(hurry),
    };
  };

/** A class, because there is one for every request. */
class BunPeer implements Peer {
  readonly #request: Request;
  readonly #server: Bun.Server<undefined>;
  readonly #patience: Patience;

  constructor(request: Request, server: Bun.Server<undefined>, patience: Patience) {
    this.#request = request;
    this.#server = server;
    this.#patience = patience;
  }

  address(): string | undefined {
    return this.#server.requestIP(this.#request)?.address;
  }

  answered(how: "whole" | "streamed"): void {
    const { silenceSeconds, idleSeconds } = this.#patience;
    this.#server.timeout(this.#request, how === "streamed" ? silenceSeconds : idleSeconds);
  }
}

/** Whoever starts a second one, or has another program there, should not have to guess what to do. */
function serveOrSay(options: Bun.Serve.Options<undefined> & { port: number }): Bun.Server<undefined> {
  try {
    return Bun.serve(options);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
    throw new Error(`Port ${options.port} is taken; set PORT to serve at another one.`, { cause: error });
  }
}

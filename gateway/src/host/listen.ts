/** Takes requests from the network. */
export type Listen = (options: {
  readonly host: string;
  readonly port: number;
  readonly fetch: (request: Request, address: () => string | undefined) => Promise<Response>;
}) => Listening;

interface Listening {
  readonly port: number;
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
  ({ idleSeconds, silenceSeconds }: Patience = usualPatience): Listen =>
  ({ host, port, fetch }) => {
    const server = serveOrSay({
      hostname: host,
      port,
      idleTimeout: idleSeconds,
      maxRequestBodySize: requestBytesMax,
      fetch: async (request, bun) => {
        bun.timeout(request, 0);
        const response = await fetch(request, () => bun.requestIP(request)?.address);
        // From here on it is the peer's turn: to read, or to ask again.
        bun.timeout(request, isStream(response) ? silenceSeconds : idleSeconds);
        return response;
      },
      error: () => Response.json({ error: "internal error", code: "internal" }, { status: 500 }),
    });
    return { port: server.port ?? port, stop: (hurry) => server.stop(hurry) };
  };

/** Whoever starts a second one, or has another program there, should not have to guess what to do. */
function serveOrSay(options: Bun.Serve.Options<undefined> & { port: number }): Bun.Server<undefined> {
  try {
    return Bun.serve(options);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
    throw new Error(`Port ${options.port} is taken; set PORT to serve at another one.`, { cause: error });
  }
}

const isStream = ({ headers }: Response): boolean =>
  headers.get("content-type")?.startsWith("text/event-stream") === true;

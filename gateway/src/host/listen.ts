import type { SocketHandler } from "bun";
import { codeOf } from "../platform/error-code.ts";
import type { HttpRequest } from "../platform/http-request.ts";
import type { Peer } from "../platform/peer.ts";
import type { Answered } from "../platform/reply.ts";
import { connectionsMaxUsual } from "./connections-max.ts";
import { unreadRoomBytesUsual } from "./memory-rooms.ts";
import { Connections, type ConnectionSettings } from "./http/connections.ts";
import type { HttpConnection } from "./http/http-connection.ts";

/** Takes requests from the network. */
export type Listen = (options: {
  readonly host: string;
  readonly port: number;
  readonly answer: (request: HttpRequest, peer: Peer) => Promise<Answered>;
}) => Listening;

export interface Listening {
  readonly port: number;
  /** Requests whose answers have not left to their last byte. A connection on which nothing is asked has none. */
  readonly openRequests: () => number;
  /** Breaks off what has not left of them, and lets go of the callers. */
  readonly cut: () => void;
  /** Resolves when no connection is left; ends them all when told to hurry. */
  readonly stop: (hurry?: boolean) => Promise<void>;
}

/**
 * HTTP/1.1 over TCP. Bun's own server would do, but its requests and answers are the web's, with everything the web gave
 * them, and cost more than all that a call does between them.
 */
export const createListen =
  (changes: Partial<ConnectionSettings> = {}): Listen =>
  ({ host: hostname, port, answer }) => {
    const connections = new Connections({ ...usual(), ...changes }, answer);
    const listener = listenOrSay({ hostname, port, socket: eventsFor(connections) });
    return {
      port: listener.port,
      openRequests: () => connections.openRequests,
      cut: () => connections.cut(),
      stop: (hurry = false) => {
        listener.stop();
        return connections.stop(hurry);
      },
    };
  };

/**
 * A balancer that sends a call into the moment in which we close a connection answers 502, and repeats no POST. So it has to
 * be the one that closes: Amazon's keeps connections for 60 seconds, Traefik for 90, Caddy for 120, Google's for 600.
 */
const keptSeconds = 650;

const usual = (): ConnectionSettings => ({
  idleSeconds: 60,
  keptSeconds,
  stalledSeconds: 255,
  connectionsMax: connectionsMaxUsual(),
  unreadBytesMax: unreadRoomBytesUsual(),
  onFull: () => {},
  newId: () => Bun.randomUUIDv7(),
  onBug: () => {},
});

const eventsFor = (connections: Connections): SocketHandler<HttpConnection> => ({
  open: (socket) => connections.open(socket),
  data: (socket, bytes) => socket.data.received(bytes),
  drain: (socket) => socket.data.drained(),
  // Whoever says that nothing more comes has left: a client that wants its answer keeps its side open. Bun closes ours.
  end: (socket) => socket.data.lost(),
  close: (socket) => socket.data.lost(),
  error: (socket) => socket.data.terminate(),
});

/** Bun's words name neither the port nor the reason; whoever starts a second one should not have to guess what to do. */
function listenOrSay(
  options: Bun.TCPSocketListenOptions<HttpConnection>,
): Bun.TCPSocketListener<HttpConnection> {
  try {
    return Bun.listen(options);
  } catch (error) {
    throw new Error(sentenceAbout(codeOf(error), options), { cause: error });
  }
}

function sentenceAbout(code: string, { hostname, port }: Bun.TCPSocketListenOptions<HttpConnection>): string {
  if (code === "EADDRINUSE") return `Port ${port} is taken; set PORT to serve at another one.`;
  if (code === "EACCES") {
    return (
      `Port ${port} is not for this user (EACCES); set PORT to one from 1024 on, or grant the right to bind ` +
      "lower ones."
    );
  }
  return `It cannot listen at ${hostname}, port ${port} (${code || "unknown"}). Is HOST an address or a name of this machine?`;
}

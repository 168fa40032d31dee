import type { Socket, SocketHandler } from "bun";
import type { HttpRequest } from "../platform/http-request.ts";
import type { Peer } from "../platform/peer.ts";
import type { Reply } from "../platform/reply.ts";
import { connectionsMaxUsual } from "./connections-max.ts";
import { HttpConnection, type ConnectionHost } from "./http/http-connection.ts";

/** Takes requests from the network. */
export type Listen = (options: {
  readonly host: string;
  readonly port: number;
  readonly answer: (request: HttpRequest, peer: Peer) => Promise<Reply | Response>;
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

interface Patience {
  /** For the next request, or for a peer that does not read its answer. A call that waits for its upstream is not idle. */
  readonly idleSeconds: number;
  /** For a peer that does not read its stream: it may be thinking about what it has read. */
  readonly stalledSeconds: number;
}

interface Room {
  /** Every connection is a file of the process: without a free one nobody new is let in, or told that they are not. */
  readonly connectionsMax: number;
  /** Hears now and then how many connections were ended for want of room. */
  readonly onFull: (ended: EndedForRoom) => void;
}

/** Those that waited and gave way to others, and those that came while none did. */
interface EndedForRoom {
  readonly waiting: number;
  readonly newcomers: number;
}

/** What is nobody's fault but ours. */
type Surprises = Pick<ConnectionHost, "newId" | "onBug">;

type ListenSettings = Patience & Room & Surprises;

const tellFullEverySeconds = 60;

/**
 * HTTP/1.1 over TCP. Bun's own server would do, but its requests and answers are the web's, with everything the web gave
 * them, and cost more than all that a call does between them.
 */
export const createListen =
  (changes: Partial<ListenSettings> = {}): Listen =>
  ({ host: hostname, port, answer }) => {
    const host = new Host({ ...usual(), ...changes }, answer);
    const listener = listenOrSay({ hostname, port, socket: eventsFor(host) });
    return {
      port: listener.port,
      openRequests: () => host.openRequests,
      cut: () => host.cut(),
      stop: (hurry = false) => {
        listener.stop();
        return host.stop(hurry);
      },
    };
  };

const usual = (): ListenSettings => ({
  idleSeconds: 60,
  stalledSeconds: 255,
  connectionsMax: connectionsMaxUsual(),
  onFull: () => {},
  newId: () => Bun.randomUUIDv7(),
  onBug: () => {},
});

/** All connections of a listener, and the second hand by which their patience is counted. */
class Host implements ConnectionHost {
  readonly answer: ConnectionHost["answer"];
  readonly idleSeconds: number;
  readonly stalledSeconds: number;
  readonly newId: ConnectionHost["newId"];
  readonly onBug: ConnectionHost["onBug"];
  dateLine = dateLineNow();
  isStopping = false;
  openRequests = 0;
  readonly #connections = new Set<HttpConnection>();
  readonly #ticking: NodeJS.Timeout;
  readonly #left = Promise.withResolvers<void>();
  readonly #room: Room;
  #endedForRoom: EndedForRoom = noneEnded;
  #secondsSinceTold = tellFullEverySeconds;

  constructor(settings: ListenSettings, answer: ConnectionHost["answer"]) {
    this.answer = answer;
    this.idleSeconds = settings.idleSeconds;
    this.stalledSeconds = settings.stalledSeconds;
    this.newId = settings.newId;
    this.onBug = settings.onBug;
    this.#room = settings;
    this.#ticking = setInterval(() => this.#tick(), 1_000).unref();
  }

  open(socket: Socket<HttpConnection>): void {
    socket.data = new HttpConnection(this, socket);
    this.#connections.add(socket.data);
    if (this.#connections.size > this.#room.connectionsMax) this.#makeRoom(socket.data);
  }

  readonly onGone = (connection: HttpConnection): void => {
    this.#connections.delete(connection);
    this.#endIfEmpty();
  };

  cut(): void {
    for (const connection of this.#connections) connection.cut();
  }

  stop(hurry: boolean): Promise<void> {
    this.isStopping = true;
    for (const connection of this.#connections) {
      if (hurry) connection.terminate();
      else connection.stop();
    }
    this.#endIfEmpty();
    return this.#left.promise;
  }

  #tick(): void {
    this.dateLine = dateLineNow();
    for (const connection of this.#connections) connection.tick();
    this.#secondsSinceTold++;
    if (this.#endedForRoom === noneEnded || this.#secondsSinceTold < tellFullEverySeconds) return;
    this.#room.onFull(this.#endedForRoom);
    this.#endedForRoom = noneEnded;
    this.#secondsSinceTold = 0;
  }

  /**
   * Those that have waited longest make room, several at once because all are looked at: first those on which nothing is
   * asked, then those whose calls wait for their bodies; where there are none, the newcomer.
   */
  #makeRoom(newcomer: HttpConnection): void {
    const { waiting, newcomers } = this.#endedForRoom;
    let ended = this.#longest(newcomer, ({ idleSeconds }) => idleSeconds);
    if (ended.length === 0) ended = this.#longest(newcomer, ({ bodyAwaitedSeconds }) => bodyAwaitedSeconds);
    for (const connection of ended) connection.letGo();
    if (ended.length === 0) newcomer.letGo();
    this.#endedForRoom =
      ended.length === 0
        ? { waiting, newcomers: newcomers + 1 }
        : { waiting: waiting + ended.length, newcomers };
  }

  #longest(
    newcomer: HttpConnection,
    waitedSeconds: (connection: HttpConnection) => number | undefined,
  ): HttpConnection[] {
    return [...this.#connections]
      .filter((connection) => connection !== newcomer && waitedSeconds(connection) !== undefined)
      .toSorted((one, other) => (waitedSeconds(other) ?? 0) - (waitedSeconds(one) ?? 0))
      .slice(0, Math.ceil(this.#room.connectionsMax / 16));
  }

  #endIfEmpty(): void {
    if (!this.isStopping || this.#connections.size > 0) return;
    clearInterval(this.#ticking);
    this.#left.resolve();
  }
}

const noneEnded: EndedForRoom = { waiting: 0, newcomers: 0 };

const dateLineNow = (): string => `date: ${new Date().toUTCString()}\r\n`;

const eventsFor = (host: Host): SocketHandler<HttpConnection> => ({
  open: (socket) => host.open(socket),
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
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new Error(sentenceAbout(code, options), { cause: error });
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
  return `It cannot listen at ${hostname}, port ${port} (${code}). Is HOST an address or a name of this machine?`;
}

import type { Socket } from "bun";
import type { ConnectionHost } from "./connection-host.ts";
import { HttpConnection } from "./http-connection.ts";
import { UnreadRoom } from "./unread-room.ts";

interface Patience {
  /** For a request, or for a peer that does not read its answer. A call that waits for its upstream is not idle. */
  readonly idleSeconds: number;
  /** For the next request on a connection that has had one. */
  readonly keptSeconds: number;
  /** For a peer that does not read its stream: it may be thinking about what it has read. */
  readonly stalledSeconds: number;
}

interface Room {
  /** Every connection is a file of the process: without a free one nobody new is let in, or told that they are not. */
  readonly connectionsMax: number;
  /** What is kept of all answers until their callers take them. */
  readonly unreadBytesMax: number;
  /** Hears now and then how many connections were ended for want of room. */
  readonly onFull: (ended: EndedForRoom) => void;
}

/** Those that waited and gave way to others, those that came while none did, and those whose answers were not read. */
interface EndedForRoom {
  readonly waiting: number;
  readonly newcomers: number;
  readonly unread: number;
}

/** Errors that are our own. */
type Surprises = Pick<ConnectionHost, "newId" | "onBug">;

export type ConnectionSettings = Patience & Room & Surprises;

const tellFullEverySeconds = 60;

/** All connections of a listener, and the second hand by which their patience is counted. */
export class Connections implements ConnectionHost {
  readonly answer: ConnectionHost["answer"];
  readonly idleSeconds: number;
  readonly keptSeconds: number;
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
  readonly #unread: UnreadRoom;
  #endedForRoom: EndedForRoom = noneEnded;
  #secondsSinceTold = tellFullEverySeconds;

  constructor(settings: ConnectionSettings, answer: ConnectionHost["answer"]) {
    this.answer = answer;
    this.idleSeconds = settings.idleSeconds;
    this.keptSeconds = settings.keptSeconds;
    this.stalledSeconds = settings.stalledSeconds;
    this.newId = settings.newId;
    this.onBug = settings.onBug;
    this.#room = settings;
    this.#unread = new UnreadRoom(settings.unreadBytesMax);
    this.#ticking = setInterval(() => this.#tick(), 1_000).unref();
  }

  open(socket: Socket<HttpConnection>): void {
    socket.data = new HttpConnection(this, socket);
    this.#connections.add(socket.data);
    if (this.#connections.size > this.#room.connectionsMax) this.#makeRoom(socket.data);
  }

  readonly onBehind = (connection: HttpConnection): void => {
    const ended = this.#unread.keep(connection);
    if (ended > 0) this.#endedForRoom = { ...this.#endedForRoom, unread: this.#endedForRoom.unread + ended };
  };

  readonly onGone = (connection: HttpConnection): void => {
    this.#connections.delete(connection);
    this.#unread.leave(connection);
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
   * Ends the connections that have waited longest, several at once because finding them means looking at all: first those
   * without a request, then those whose calls wait for their bodies, then those that do not read an answer that is nobody's,
   * which anybody may have again for nothing; if there are none of these, the newcomer.
   */
  #makeRoom(newcomer: HttpConnection): void {
    const { waiting, newcomers, unread } = this.#endedForRoom;
    let ended = this.#longest(newcomer, ({ idleSeconds }) => idleSeconds);
    if (ended.length === 0) ended = this.#longest(newcomer, ({ bodyAwaitedSeconds }) => bodyAwaitedSeconds);
    if (ended.length === 0) ended = this.#longest(newcomer, ({ pageUnreadSeconds }) => pageUnreadSeconds);
    for (const connection of ended) connection.letGo();
    if (ended.length === 0) newcomer.letGo();
    this.#endedForRoom =
      ended.length === 0
        ? { waiting, newcomers: newcomers + 1, unread }
        : { waiting: waiting + ended.length, newcomers, unread };
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

const noneEnded: EndedForRoom = { waiting: 0, newcomers: 0, unread: 0 };

const dateLineNow = (): string => `date: ${new Date().toUTCString()}\r\n`;

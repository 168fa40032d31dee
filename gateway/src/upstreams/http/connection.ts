import type { Socket, SocketHandler } from "bun";
import type { Origin } from "./origin.ts";

/** Whoever has a connection at the moment. */
export interface ConnectionUser {
  /** It stands, and the other side is who it should be. Nothing has been written before. */
  readonly onReady: (connection: Connection) => void;
  readonly onBytes: (bytes: Buffer) => void;
  /**
   * Nothing more comes: it never stood, the other side ended it in good order, or it broke. Not told to a user who
   * closes it.
   */
  readonly onClosed: (how: "ended" | "broken") => void;
}

/**
 * Whether this ends a body that nothing else frames. TLS is not asked whether its end was the other side's wish, so only a
 * frame of its own ends a body there.
 */
export const endsBody = (how: "ended" | "broken", { secure }: Origin): boolean => how === "ended" && !secure;

/** Where a connection is counted. */
interface Owner {
  readonly onGone: (connection: Connection) => void;
}

/** One connection over TCP or TLS. A class, because thousands may be open, and closures would weigh more. */
export class Connection {
  readonly origin: Origin;
  /** Undefined while nobody uses it. */
  user: ConnectionUser | undefined;
  /** How much of what its user wrote has left, or may have. */
  writtenBytes = 0;
  /** When it is too old to be used again; 0 while it is in use. */
  idleUntilMs = 0;

  #state: "connecting" | "ready" | "gone" = "connecting";
  #isOpening = true;
  #isPaused = false;
  #socket: Socket<Connection> | undefined;
  #unsent: Uint8Array | undefined;
  readonly #owner: Owner;

  constructor(origin: Origin, user: ConnectionUser, owner: Owner) {
    this.origin = origin;
    this.user = user;
    this.#owner = owner;
    const { hostname, port, secure } = origin;
    const options = { hostname, port, data: this };
    const opening = secure
      ? Bun.connect({ ...options, tls: trusted(hostname), socket: tlsEvents })
      : Bun.connect({ ...options, socket: tcpEvents });
    opening.catch(() => this.opened(undefined));
  }

  get isReady(): boolean {
    return this.#state === "ready";
  }

  get hasUnsent(): boolean {
    return this.#unsent !== undefined;
  }

  /** False when it is certain that nothing left, because the connection is gone. */
  write(bytes: string | Uint8Array): boolean {
    const written = this.#socket?.write(bytes) ?? -1;
    if (written < 0) return false;
    this.writtenBytes += written;
    const size = typeof bytes === "string" ? Buffer.byteLength(bytes) : bytes.length;
    if (written < size) {
      this.#unsent = (typeof bytes === "string" ? Buffer.from(bytes) : bytes).subarray(written);
    }
    return true;
  }

  pause(): void {
    this.#isPaused = true;
    this.#socket?.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket?.resume();
  }

  /** Nobody uses it for a while. What comes meanwhile is still read: a close, or what nobody asked for, ends it. */
  rest(idleUntilMs: number): void {
    this.user = undefined;
    this.idleUntilMs = idleUntilMs;
    this.resume();
  }

  /** It is used again. */
  wake(user: ConnectionUser): void {
    this.user = user;
    this.writtenBytes = 0;
    this.idleUntilMs = 0;
  }

  /** Ends it at once, and its user hears nothing more. In the middle of an exchange the other side is told to stop. */
  close(): void {
    const isInUse = this.user !== undefined;
    this.user = undefined;
    if (isInUse) this.#socket?.terminate();
    this.#lose("broken");
  }

  opened(socket: Socket<Connection> | undefined): void {
    if (!this.#isOpening) return;
    this.#isOpening = false;
    this.#socket = socket;
    // The pool keeps the process alive while somebody waits for an answer; to say so of each costs more.
    socket?.unref();
    if (this.#state === "gone") {
      // Bun does not let go of a connection that is coming about, so one that was given up ends here.
      socket?.terminate();
      this.#owner.onGone(this);
    } else if (!socket) this.#lose("broken");
    else if (!this.origin.secure) this.#ready();
  }

  shookHands(isTrusted: boolean): void {
    if (this.#state !== "connecting") return;
    if (isTrusted) this.#ready();
    else this.#lose("broken");
  }

  received(bytes: Buffer): void {
    if (this.user) this.user.onBytes(bytes);
    else this.close();
  }

  drained(): void {
    const bytes = this.#unsent;
    if (!bytes) return;
    this.#unsent = undefined;
    this.write(bytes);
  }

  lost(how: "ended" | "broken"): void {
    this.#lose(how);
  }

  #ready(): void {
    this.#state = "ready";
    this.user?.onReady(this);
  }

  #lose(how: "ended" | "broken"): void {
    if (this.#state === "gone") return;
    const { user } = this;
    const hasStood = this.#state === "ready";
    this.#state = "gone";
    this.user = undefined;
    this.#unsent = undefined;
    this.#socket?.close();
    if (!this.#isOpening) this.#owner.onGone(this);
    user?.onClosed(hasStood ? how : "broken");
  }
}

/** Certificates are checked against the name that was asked for; Bun adds those of NODE_EXTRA_CA_CERTS. */
const trusted = (hostname: string) => ({
  serverName: hostname,
  rejectUnauthorized: true,
  ALPNProtocols: onlyHttp11,
});

/** As TLS writes it: each protocol's name behind its length. */
const onlyHttp11 = Buffer.from("\x08http/1.1", "latin1");

const tcpEvents: SocketHandler<Connection> = {
  open: (socket) => socket.data.opened(socket),
  data: (socket, bytes) => socket.data.received(bytes),
  drain: (socket) => socket.data.drained(),
  end: (socket) => socket.data.lost("ended"),
  close: (socket) => socket.data.lost("broken"),
  error: (socket) => socket.data.lost("broken"),
  // The promise says the same.
  connectError: () => {},
};

const tlsEvents: SocketHandler<Connection> = {
  ...tcpEvents,
  // Nothing is written before the certificate was found good.
  handshake: (socket, isDone, error) => socket.data.shookHands(isDone && error === null && socket.authorized),
};

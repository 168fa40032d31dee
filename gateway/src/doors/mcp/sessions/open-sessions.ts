import type { McpServer, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { RunningRequests } from "./running-requests.ts";
import { sessionLifeMs } from "./session-records.ts";

interface Owner {
  /** Who opened it; for anybody else it does not exist. */
  readonly principal: string;
  readonly accountId: string;
}

export interface Session extends Owner {
  readonly server: McpServer;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly running: RunningRequests;
  /** The grant that its record ends with; undefined for a key's, and where only the store knows. */
  grantId: string | undefined;
  usedAtMs: number;
  /** When the store last heard that it is used. Infinity for one that the store does not know: it is never told again. */
  extendedAtMs: number;
}

/** The sessions in the memory of this process. Those that nobody uses any more leave it by themselves. */
export interface OpenSessions {
  readonly count: () => number;
  readonly find: (id: string) => Session | undefined;
  readonly add: (id: string, session: Session) => void;
  readonly remove: (id: string) => void;
  /** Gives up what is in memory, its streams included; the record of a session lives on, since it may be used elsewhere. */
  readonly drop: (id: string) => void;
  /** Ends the streams on which clients only listen; what they asked for goes on. */
  readonly endListening: () => void;
  /**
   * Makes room for one more, which is to be added before anything is waited for: of whoever has too many, the one that
   * has been idle longest ends, which is kept when the promise is. Undefined when there is no room: all of theirs are
   * busy, or there are too many in all.
   */
  readonly makeRoom: (id: string, owner: Owner) => Promise<unknown> | undefined;
}

interface Parts {
  readonly monotonicMs: () => number;
  /** Called for a session that had to end so that another one has room. */
  readonly onEnded: (id: string) => Promise<void>;
}

const sweepEveryMs = 60_000;
/** One that nobody used for so long is opened again from its record when it is. */
const inMemoryMs = 30 * 60_000;
const sessionsMax = 5_000;
/** Those that left memory are counted, so that nobody fills the store with their records; beyond so many, the oldest are not. */
const leftMax = 20_000;
const bounds = [
  // One client needs one; a client that opens them without end only displaces its own.
  { whose: "principal", most: 50 },
  // Whoever has many keys, or signs in many times, displaces their own too, and nobody else's.
  { whose: "accountId", most: 200 },
] as const;

export function createOpenSessions({ monotonicMs, onEnded }: Parts): OpenSessions {
  const sessions = new Map<string, Session>();
  /** Owners of sessions that left memory and live on in the store, in the order in which they left. */
  const left = new Map<string, Owner & { readonly usedAtMs: number }>();

  const drop = (id: string): void => {
    const session = sessions.get(id);
    sessions.delete(id);
    session?.server.close().catch(() => {});
  };
  const isIdle = ({ running }: Session): boolean => running.count() === 0;
  const mayEnd = (id: string): boolean => {
    const session = sessions.get(id);
    return session === undefined || isIdle(session);
  };
  const isUnused = (session: Session): boolean =>
    isIdle(session) && monotonicMs() - session.usedAtMs > inMemoryMs;
  const leave = (id: string, { principal, accountId, usedAtMs }: Session): void => {
    drop(id);
    left.set(id, { principal, accountId, usedAtMs });
    for (const [oldest, { usedAtMs: atMs }] of left) {
      if (left.size <= leftMax && monotonicMs() - atMs <= sessionLifeMs) break;
      left.delete(oldest);
    }
  };
  const sweeper = setInterval(() => {
    for (const [id, session] of sessions) if (isUnused(session)) leave(id, session);
  }, sweepEveryMs);
  sweeper.unref();

  return {
    count: () => sessions.size,
    find: (id) => {
      const session = sessions.get(id);
      if (!session || !isUnused(session)) return session;
      leave(id, session);
      return undefined;
    },
    add: (id, session) => void sessions.set(id, session),
    remove: (id) => void sessions.delete(id),
    drop,
    endListening: () => {
      for (const { transport } of sessions.values()) transport.closeStandaloneSSEStream();
    },
    makeRoom: (newcomer, owner) => {
      // One that comes back does not count twice, and does not give way to itself.
      left.delete(newcomer);
      const ended: string[] = [];
      for (const { whose, most } of bounds) {
        const own = [...left, ...sessions].filter(
          ([id, session]) => session[whose] === owner[whose] && !ended.includes(id),
        );
        if (own.length < most) continue;
        const [oldest] = own.filter(([id]) => mayEnd(id)).toSorted(([, a], [, b]) => a.usedAtMs - b.usedAtMs);
        if (!oldest) return undefined;
        ended.push(oldest[0]);
      }
      const dropped = ended.filter((id) => sessions.has(id));
      if (sessions.size - dropped.length >= sessionsMax) return undefined;
      for (const id of ended) left.delete(id);
      for (const id of dropped) drop(id);
      return Promise.all(ended.map(onEnded));
    },
  };
}

import type { McpServer, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { sessionLifeMs } from "./session-records.ts";

export interface Session {
  /** Who opened it; for anybody else it does not exist. */
  readonly principal: string;
  readonly accountId: string;
  readonly server: McpServer;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  usedAtMs: number;
  /** When the store last heard that it is used. */
  extendedAtMs: number;
}

/** The sessions in the memory of this process. Those that nobody uses any more leave it by themselves. */
export interface OpenSessions {
  readonly count: () => number;
  readonly find: (id: string) => Session | undefined;
  readonly add: (id: string, session: Session) => void;
  readonly remove: (id: string) => void;
  /** Ends the streams on which clients only listen; what they asked for goes on. */
  readonly endListening: () => void;
  /** Whether one more has room, once the oldest ones of whoever has too many have ended. */
  readonly makeRoom: (owner: Pick<Session, "principal" | "accountId">) => Promise<boolean>;
}

interface Parts {
  readonly monotonicMs: () => number;
  /** Called for a session that had to end so that another one has room. */
  readonly onEnded: (id: string) => Promise<void>;
}

const sweepEveryMs = 60_000;
const sessionsMax = 5_000;
/** One client needs one; a client that opens them without end only displaces its own. */
const sessionsEachMax = 50;
/** Whoever has many keys, or signs in many times, displaces their own too, and nobody else's. */
const sessionsOfAccountMax = 200;

export function createOpenSessions({ monotonicMs, onEnded }: Parts): OpenSessions {
  const sessions = new Map<string, Session>();

  /** Gives up what is in memory; the record of a session lives on, since it may be used elsewhere. */
  const drop = (id: string): void => {
    const session = sessions.get(id);
    sessions.delete(id);
    session?.server.close().catch(() => {});
  };
  const isIdle = ({ usedAtMs }: Session): boolean => monotonicMs() - usedAtMs > sessionLifeMs;
  const sweeper = setInterval(() => {
    for (const [id, session] of sessions) if (isIdle(session)) drop(id);
  }, sweepEveryMs);
  sweeper.unref();

  const endOldest = async (isOwn: (session: Session) => boolean, most: number): Promise<void> => {
    const own = [...sessions].filter(([, session]) => isOwn(session));
    const [oldest] = own.toSorted(([, a], [, b]) => a.usedAtMs - b.usedAtMs);
    if (!oldest || own.length < most) return;
    drop(oldest[0]);
    await onEnded(oldest[0]);
  };

  return {
    count: () => sessions.size,
    find: (id) => {
      const session = sessions.get(id);
      if (!session || !isIdle(session)) return session;
      drop(id);
      return undefined;
    },
    add: (id, session) => void sessions.set(id, session),
    remove: (id) => void sessions.delete(id),
    endListening: () => {
      for (const { transport } of sessions.values()) transport.closeStandaloneSSEStream();
    },
    makeRoom: async ({ principal, accountId }) => {
      await endOldest((session) => session.principal === principal, sessionsEachMax);
      await endOldest((session) => session.accountId === accountId, sessionsOfAccountMax);
      return sessions.size < sessionsMax;
    },
  };
}

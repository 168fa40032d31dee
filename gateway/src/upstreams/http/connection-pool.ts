import { Connection, type ConnectionUser } from "./connection.ts";
import type { Origin } from "./origin.ts";

/** Connections to the upstreams, kept for a while after use. Nothing is ever sent a second time by itself. */
export interface ConnectionPool {
  /** One that stands and is idle, now the user's; `onReady` is not called for it. */
  readonly take: (origin: Origin, user: ConnectionUser) => Connection | undefined;
  /** Begins a new one, the user's once it stands; undefined when there are as many as there may be. */
  readonly open: (origin: Origin, user: ConnectionUser) => Connection | undefined;
  /** The user is done with it and nothing is under way on it. */
  readonly giveBack: (connection: Connection, keepAliveSeconds: number | undefined) => void;
}

export interface PoolLimits {
  /** Every connection is a file of the process, and a process has so many. */
  readonly connectionsMax: number;
  /** What a burst leaves behind need not all be kept. */
  readonly idleMaxPerOrigin: number;
  /** Less than the five seconds after which common servers close: what is sent into a close is lost, or in doubt. */
  readonly idleMs: number;
}

/** A server that says how long it keeps a connection begins to count earlier than we do. */
const keepAliveMarginMs = 1_000;
const sweepEveryMs = 1_000;

export function createConnectionPool(limits: PoolLimits, monotonicMs: () => number): ConnectionPool {
  /** The idle connections of each origin, those used last at the end. */
  const idle = new Map<Origin, Connection[]>();
  let open = 0;
  let inUse = 0;
  let timer: NodeJS.Timeout | undefined;

  const owner = {
    onGone: (connection: Connection): void => {
      open--;
      if (connection.idleUntilMs === 0) endUse();
      const resting = idle.get(connection.origin);
      const at = resting?.lastIndexOf(connection) ?? -1;
      if (at !== -1) resting?.splice(at, 1);
    },
  };

  /** The process lives on while somebody waits for an answer, and not for what is idle. */
  const beginUse = (): void => {
    timer ??= setInterval(sweep, sweepEveryMs);
    if (inUse === 0) timer.ref();
    inUse++;
  };
  const endUse = (): void => {
    inUse--;
    if (inUse === 0) timer?.unref();
  };

  const sweep = (): void => {
    const nowMs = monotonicMs();
    let left = 0;
    for (const resting of idle.values()) {
      for (const connection of resting.filter(({ idleUntilMs }) => idleUntilMs <= nowMs)) connection.close();
      left += resting.length;
    }
    if (left > 0 || inUse > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  /** Whether an idle connection was closed for another that is needed now. */
  const makeRoom = (): boolean => {
    for (const resting of idle.values()) {
      const [oldest] = resting;
      if (!oldest) continue;
      oldest.close();
      return true;
    }
    return false;
  };

  return {
    take: (origin, user) => {
      const resting = idle.get(origin);
      if (resting === undefined || resting.length === 0) return undefined;
      const nowMs = monotonicMs();
      for (let connection = resting.pop(); connection; connection = resting.pop()) {
        if (connection.idleUntilMs > nowMs) {
          connection.wake(user);
          beginUse();
          return connection;
        }
        connection.close();
      }
      return undefined;
    },
    open: (origin, user) => {
      if (open >= limits.connectionsMax && !makeRoom()) return undefined;
      open++;
      beginUse();
      return new Connection(origin, user, owner);
    },
    giveBack: (connection, keepAliveSeconds) => {
      const keptMs =
        keepAliveSeconds === undefined
          ? limits.idleMs
          : Math.min(limits.idleMs, keepAliveSeconds * 1_000 - keepAliveMarginMs);
      let resting = idle.get(connection.origin);
      if (!resting) idle.set(connection.origin, (resting = []));
      if (keptMs <= 0 || resting.length >= limits.idleMaxPerOrigin) {
        connection.close();
        return;
      }
      resting.push(connection);
      connection.rest(monotonicMs() + keptMs);
      endUse();
    },
  };
}

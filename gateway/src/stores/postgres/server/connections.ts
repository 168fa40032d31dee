import { SQL, type ReservedSQL } from "bun";
import { isReadOnly, isWithoutPlace, NoConnection } from "./failures.ts";
import { soundText } from "./json-rows.ts";
import type { Query, Value } from "./query.ts";

/** The connections of one process, each for its purpose. */
export interface Connections {
  /** One connection, given back when `use` is done, and thrown away when a statement on it never ends. */
  readonly with: <Result>(
    use: (query: Query, connection: ReservedSQL) => Promise<Result>,
    choice?: ConnectionChoice,
  ) => Promise<Result>;
  readonly close: () => Promise<void>;
}

export interface ConnectionChoice {
  /** Deciding and beating have a connection of their own; anything else shares the pool. */
  readonly purpose?: "anything" | "deciding" | "beating";
  /** How long one statement may take. */
  readonly timeoutMs?: number;
  /** Until when, on the monotonic clock, all of it must be done, the wait for a connection included. */
  readonly deadlineMs?: number;
}

export interface ConnectionOptions {
  readonly url: string;
  /** Connections of this process; the server has a hundred for all of them, if nobody changed it. */
  readonly connectionsMax?: number | undefined;
  /** How long a transaction that does not pause may be without a statement. */
  readonly idleInTransactionMs?: number | undefined;
  readonly monotonicMs: () => number;
}

const connectionsUsualMax = 12;
/** A statement that takes longer is not waited for: the server, or the way to it, has stopped. */
export const statementMs = 10_000;
/** Transactions are short: whoever waits longer is behind a process that has stopped, and must not hold up others. */
const lockMs = 1_000;
const idleInTransactionUsualMs = 5_000;
/** What the server is asked to keep to, so that a process or a way that stopped keeps nobody else waiting. */
export const boundsUsualMs = {
  statement_timeout: statementMs,
  lock_timeout: lockMs,
  // A process that stopped in the midst of a transaction must not keep everybody else from its rows.
  idle_in_transaction_session_timeout: idleInTransactionUsualMs,
} as const;
const connectSeconds = 3;
/** Whoever closes has asked everything it had to; what is not answered by then is on a connection that is dead. */
const closeSeconds = 1;
/** The driver opens all connections of a pool for the first that is asked for; other processes may have none left. */
const idleSeconds = 5;
/**
 * Whoever decides knows each row by its name. A planner that knows little of a table may take a walk over all of it for
 * cheaper; and planning costs more than looking up, so it is not done each time.
 */
const onlyByName = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
} as const;

export function openConnections(options: ConnectionOptions): Connections {
  const { connectionsMax = connectionsUsualMax, monotonicMs } = options;
  const pools = {
    anything: connect(options, { max: Math.max(1, connectionsMax - 2), idleTimeout: idleSeconds }),
    // Each connection has to be told a statement before it can be asked, and plans it for itself.
    deciding: connect(options, { max: 1, idleTimeout: 0 }, onlyByName),
    // Signs of life that wait behind calls on dead connections would make this process seem dead as well.
    beating: connect(options, { max: 1, idleTimeout: 0 }),
  };

  /** Where the server has no place for one more, money and signs of life go through one that this process has already. */
  const reserve = (purpose: keyof typeof pools, options?: { signal: AbortSignal }): Promise<ReservedSQL> =>
    pools[purpose].reserve(options).catch((error: unknown) => {
      if (purpose === "anything" || !isWithoutPlace(error)) throw error;
      return pools.anything.reserve(options);
    });

  const reserveWithin = async (waitMs: number, purpose: keyof typeof pools): Promise<ReservedSQL> => {
    if (waitMs <= 0) throw new NoConnection();
    const waiting = new AbortController();
    const timer = setTimeout(() => waiting.abort(new NoConnection()), waitMs);
    try {
      return await reserve(purpose, { signal: waiting.signal });
    } finally {
      clearTimeout(timer);
    }
  };

  return {
    with: async (use, { purpose = "anything", timeoutMs = statementMs, deadlineMs } = {}) => {
      const isBounded = deadlineMs !== undefined;
      // A process that stood still may find that its time is over.
      const leftMs = (): number => (isBounded ? Math.max(0, deadlineMs - monotonicMs()) : timeoutMs);
      const connection = await (isBounded ? reserveWithin(leftMs(), purpose) : reserve(purpose));
      const timer = setTimeout(() => void connection.close({ timeout: 0 }).catch(() => {}), leftMs());
      try {
        // What has to be done by a moment has no more time for taking several statements.
        return await use(queryOn(connection, isBounded ? undefined : timer), connection);
      } catch (error) {
        if (isReadOnly(error)) await connection.close({ timeout: 0 }).catch(() => {});
        throw error;
      } finally {
        clearTimeout(timer);
        await connection.release();
      }
    },
    close: async () => {
      await Promise.all(Object.values(pools).map((pool) => pool.close({ timeout: closeSeconds })));
    },
  };
}

function connect(
  { url, idleInTransactionMs = idleInTransactionUsualMs }: ConnectionOptions,
  pool: { readonly max: number; readonly idleTimeout: number },
  settings: Readonly<Record<string, string>> = {},
): SQL {
  return new SQL({
    url,
    ...pool,
    bigint: true,
    connectionTimeout: connectSeconds,
    connection: {
      application_name: "tollgate",
      ...boundsUsualMs,
      idle_in_transaction_session_timeout: idleInTransactionMs,
      // Nearly all our statements find a few rows by an index; compiling one takes longer than most of them.
      jit: "off",
      ...settings,
    },
  });
}

/** Statements on one connection. One that never ends takes its connection with it, and so whatever it had begun. */
function queryOn(connection: ReservedSQL, timer: NodeJS.Timeout | undefined): Query {
  return async <Row>(text: string, values: readonly Value[] = []) => {
    timer?.refresh();
    return await connection
      .unsafe<Row[]>(
        text,
        values.map((value) => given(connection, value)),
      )
      .execute();
  };
}

function given(connection: ReservedSQL, value: Value): unknown {
  if (typeof value === "string") return soundText(value);
  if (Array.isArray(value)) return connection.array(value.map(soundText), "TEXT");
  return value;
}

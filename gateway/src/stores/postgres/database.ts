import { SQL, type ReservedSQL } from "bun";
import { soundText } from "./json-rows.ts";
import { InDoubt, isConnectionLost, isPassing, toldAs } from "./failures.ts";

/** What a statement can be given. Lists are lists of text; whole tables travel as JSON (`json_to_recordset`). */
export type Value = string | number | bigint | boolean | Uint8Array | null | readonly string[];

/** Runs one statement. Whole numbers of eight bytes come back as bigint. */
export type Query = <Row>(text: string, values?: readonly Value[]) => Promise<readonly Row[]>;

/** The database, as everything in this folder uses it. */
export interface Database {
  /** Reads, with one statement. Asked again when the server went away meanwhile. */
  readonly read: Query;
  /** Reads one moment with several statements, however long that takes. */
  readonly readMoment: <Found>(look: (query: Query) => Promise<Found>) => Promise<Found>;
  /**
   * Writes, all or nothing. Each statement sees whatever was committed before it began, so whoever decides by what they
   * read locks it first. `work` is done again when it stood in somebody's way, so it must be repeatable; what it returns
   * is on disk. `evenInDoubt` is for work that changes nothing the second time: it is also done again when a commit broke
   * off.
   */
  readonly write: <Result>(
    work: (query: Query) => Promise<Result>,
    patienceMs?: number,
    options?: { readonly evenInDoubt?: boolean },
  ) => Promise<Result>;
  readonly close: () => Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  /** Connections of this process; the server has a hundred for all of them, if nobody changed it. */
  readonly connectionsMax?: number | undefined;
  readonly monotonicMs: () => number;
}

const connectionsUsualMax = 12;
const patienceOfCallersMs = 2_000;
/** A statement that takes longer is not waited for: the server, or the way to it, has stopped. */
const statementMs = 10_000;
/** Transactions are short. Who waits longer for one is behind somebody who has stopped, and is not to stop others. */
const lockMs = 1_000;
const idleInTransactionMs = 5_000;
/** An audit looks at every row. */
const longStatementMs = 60 * 60_000;
const connectSeconds = 3;
const pauseMs = { least: 5, most: 200 } as const;

export function openDatabase(options: DatabaseOptions): Database {
  const { url, connectionsMax = connectionsUsualMax, monotonicMs } = options;
  const pool = new SQL({
    url,
    max: connectionsMax,
    bigint: true,
    idleTimeout: 0,
    connectionTimeout: connectSeconds,
    connection: {
      application_name: "tollgate",
      statement_timeout: statementMs,
      lock_timeout: lockMs,
      // A process that stopped in the midst of a transaction must not keep everybody else from its rows.
      idle_in_transaction_session_timeout: idleInTransactionMs,
      // Nearly all our statements find a few rows by an index; compiling one takes longer than most of them.
      jit: "off",
    },
  });

  /** One connection, given back when `use` is done, and thrown away when a statement on it never ends. */
  const withConnection = async <Result>(
    use: (query: Query) => Promise<Result>,
    timeoutMs = statementMs,
  ): Promise<Result> => {
    const connection = await pool.reserve();
    try {
      return await use(queryOn(pool, connection, timeoutMs));
    } finally {
      await connection.release();
    }
  };

  const transact = <Result>(work: (query: Query) => Promise<Result>): Promise<Result> =>
    withConnection(async (query) => {
      await query("BEGIN");
      let result: Result;
      try {
        result = await work(query);
      } catch (error) {
        await query("ROLLBACK").catch(() => {});
        throw error;
      }
      await query("COMMIT").catch((error: unknown) => {
        throw isConnectionLost(error) ? new InDoubt(error) : error;
      });
      return result;
    });

  const insist = async <Result>(
    attempt: () => Promise<Result>,
    patienceMs: number,
    mayPass = isPassing,
  ): Promise<Result> => {
    const deadlineMs = monotonicMs() + patienceMs;
    for (let waitMs: number = pauseMs.least; ; waitMs = Math.min(waitMs * 2, pauseMs.most)) {
      try {
        return await attempt();
      } catch (error) {
        if (!mayPass(error) || monotonicMs() + waitMs > deadlineMs) throw toldAs(error);
        await Bun.sleep(waitMs);
      }
    }
  };

  return {
    read: (text, values) => insist(() => withConnection((query) => query(text, values)), patienceOfCallersMs),
    readMoment: (look) =>
      insist(
        () =>
          withConnection(async (query) => {
            await query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
            try {
              await query(`SET LOCAL statement_timeout = ${longStatementMs}`);
              return await look(query);
            } finally {
              await query("COMMIT").catch(() => {});
            }
          }, longStatementMs),
        patienceOfCallersMs,
      ),
    write: (work, patienceMs = patienceOfCallersMs, { evenInDoubt = false } = {}) =>
      insist(() => transact(work), patienceMs, evenInDoubt ? isPassingOrInDoubt : isPassing),
    close: () => pool.close(),
  };
}

const isPassingOrInDoubt = (error: unknown): boolean => error instanceof InDoubt || isPassing(error);

/** Statements on one connection. One that never ends takes its connection with it, and so whatever it had begun. */
function queryOn(pool: SQL, connection: ReservedSQL, timeoutMs: number): Query {
  return async <Row>(text: string, values: readonly Value[] = []) => {
    const timer = setTimeout(() => void connection.close({ timeout: 0 }).catch(() => {}), timeoutMs);
    try {
      return await connection.unsafe<Row[]>(
        text,
        values.map((value) => given(pool, value)),
      );
    } finally {
      clearTimeout(timer);
    }
  };
}

function given(pool: SQL, value: Value): unknown {
  if (typeof value === "string") return soundText(value);
  if (Array.isArray(value)) return pool.array(value.map(soundText), "TEXT");
  return value;
}

import { SQL, type ReservedSQL } from "bun";
import { InDoubt } from "../../ledger/store-errors.ts";
import { soundText } from "./json-rows.ts";
import { isConnectionLost, isPassing, isReadOnly, ReadOnlyServer, toldAs } from "./failures.ts";

/** What a statement can be given. Lists are lists of text; whole tables travel as JSON (`json_to_recordset`). */
export type Value = string | number | bigint | boolean | Uint8Array | null | readonly string[];

/** Runs one statement. Whole numbers of eight bytes come back as bigint. */
export type Query = <Row>(text: string, values?: readonly Value[]) => Promise<readonly Row[]>;

/** The database, as everything in this folder uses it. */
export interface Database {
  /** Reads, with one statement. Asked again when the server went away meanwhile. */
  readonly read: Query;
  /** Reads one moment with several statements. */
  readonly readMoment: <Found>(
    look: (query: Query) => Promise<Found>,
    options?: Pick<WriteOptions, "isLong">,
  ) => Promise<Found>;
  /**
   * Writes, all or nothing. Each statement sees whatever was committed before it began, so whoever decides by what they
   * read locks it first. `work` is done again when it stood in somebody's way, so it must be repeatable; what it returns
   * is on disk.
   */
  readonly write: <Result>(
    work: (query: Query) => Promise<Result>,
    patienceMs?: number,
    options?: WriteOptions,
  ) => Promise<Result>;
  /**
   * Decides and writes, all or nothing, in two round trips: `look` reads and locks, and writes nothing; what it has decided
   * to write goes together with the commit. Tried once.
   */
  readonly decide: <Result>(look: (query: Query) => Promise<Decision<Result>>) => Promise<Result>;
  /**
   * Writes a sign of life, like `write`, on a connection that nobody else uses. One that does not answer soon is left for a
   * new one at once, and the same is written again.
   */
  readonly beat: <Result>(work: (query: Query) => Promise<Result>) => Promise<Result>;
  /** Throws unless there is a server, and it can be written. */
  readonly ping: () => Promise<void>;
  readonly close: () => Promise<void>;
}

interface WriteOptions {
  /** For work that changes nothing the second time: it is also done again when a commit broke off. */
  readonly evenInDoubt?: boolean;
  /** For statements that look at every row of a table. */
  readonly isLong?: boolean;
  /** For work that has much else to do between its statements, and nobody to keep waiting. */
  readonly pauses?: boolean;
}

interface ConnectionChoice {
  readonly from?: SQL;
  /** How long one statement may take. */
  readonly timeoutMs?: number;
}

export interface Decision<Result> {
  readonly result: Result;
  readonly writes: readonly Write[];
}

/**
 * A statement right behind which the commit is sent, so it must fail by itself when anything is wrong with what it wrote.
 * Texts and numbers only: these the driver never refuses to send, as it would a value that it does not know.
 */
export interface Write {
  readonly statement: string;
  readonly values: readonly (string | number)[];
}

export interface DatabaseOptions {
  readonly url: string;
  /** Connections of this process; the server has a hundred for all of them, if nobody changed it. */
  readonly connectionsMax?: number | undefined;
  /** How long a transaction that does not pause may be without a statement. */
  readonly idleInTransactionMs?: number | undefined;
  readonly monotonicMs: () => number;
}

const connectionsUsualMax = 12;
const patienceOfCallersMs = 2_000;
/** A statement that takes longer is not waited for: the server, or the way to it, has stopped. */
const statementMs = 10_000;
/**
 * What says that a process lives is small, and must be there before others take it for dead. A firewall may have forgotten
 * every connection of a quiet process without a word to it; new ones pass.
 */
const beatStatementMs = 1_000;
/** Transactions are short. Who waits longer for one is behind somebody who has stopped, and is not to stop others. */
const lockMs = 1_000;
const idleInTransactionUsualMs = 5_000;
/** A file sorts millions of rows before it gives the first of them. */
const longPauseMs = 60 * 60_000;
/** An audit looks at every row. */
const longStatementMs = 60 * 60_000;
const connectSeconds = 3;
const pauseMs = { least: 5, most: 200 } as const;
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
/**
 * Whoever is told that something is written relies on it after a crash of the server too, whatever its default is. Only what
 * waits for nothing is made stricter: an operator who has replicas may want more than this.
 */
const waitForDisk =
  "SELECT set_config('synchronous_commit', $1, true) WHERE current_setting('synchronous_commit') = 'off'";
/** A plan that was made when a table was empty must not last until somebody takes its measure. */
const plansLastMs = 10_000;

export function openDatabase(options: DatabaseOptions): Database {
  const { url, connectionsMax = connectionsUsualMax, monotonicMs } = options;
  const { idleInTransactionMs = idleInTransactionUsualMs } = options;
  const connect = (max: number, settings: Readonly<Record<string, string>> = {}): SQL =>
    new SQL({
      url,
      max,
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
        ...settings,
      },
    });
  const pool = connect(Math.max(1, connectionsMax - 2));
  // One of its own: each connection has to be told a statement before it can be asked, and plans it for itself.
  const deciding = connect(1, onlyByName);
  // One of its own, too: whoever waits behind calls whose connections are dead seems dead as well.
  const beating = connect(1);

  /** One connection, given back when `use` is done, and thrown away when a statement on it never ends. */
  const withConnection = async <Result>(
    use: (query: Query, connection: ReservedSQL) => Promise<Result>,
    { from = pool, timeoutMs = statementMs }: ConnectionChoice = {},
  ): Promise<Result> => {
    const connection = await from.reserve();
    const timer = setTimeout(() => void connection.close({ timeout: 0 }).catch(() => {}), timeoutMs);
    try {
      return await use(queryOn(connection, timer), connection);
    } catch (error) {
      if (isReadOnly(error)) await connection.close({ timeout: 0 }).catch(() => {});
      throw error;
    } finally {
      clearTimeout(timer);
      await connection.release();
    }
  };

  const transact = <Result>(
    work: (query: Query) => Promise<Result>,
    { isLong = false, pauses = false }: WriteOptions,
    on: ConnectionChoice = { timeoutMs: isLong ? longStatementMs : statementMs },
  ): Promise<Result> =>
    withConnection(async (query, connection) => {
      await begin(query, connection);
      let result: Result;
      try {
        if (isLong) await query(`SET LOCAL statement_timeout = ${longStatementMs}`);
        if (pauses) await query(`SET LOCAL idle_in_transaction_session_timeout = ${longPauseMs}`);
        result = await work(query);
      } catch (error) {
        await query("ROLLBACK").catch(() => {});
        throw error;
      }
      await query("COMMIT").catch((error: unknown) => {
        throw isConnectionLost(error) ? new InDoubt({ cause: error }) : error;
      });
      return result;
    }, on);

  let plannedAtMs = monotonicMs();
  const planAnew = (connection: ReservedSQL): void => {
    if (monotonicMs() - plannedAtMs < plansLastMs) return;
    plannedAtMs = monotonicMs();
    connection`DISCARD PLANS`.execute().catch(() => {});
  };

  const decide = <Result>(look: (query: Query) => Promise<Decision<Result>>): Promise<Result> =>
    withConnection(
      async (query, connection) => {
        planAnew(connection);
        const begun = begin(query, connection);
        begun.catch(() => {});
        let decision: Decision<Result>;
        try {
          decision = await look(query);
          // Without a transaction nothing may be written. What was read and locked without one changed nothing.
          await begun;
        } catch (error) {
          await query("ROLLBACK").catch(() => {});
          throw error;
        }
        if (decision.writes.length === 0) await query("ROLLBACK");
        else await writeAndCommit(query, connection, decision.writes);
        return decision.result;
      },
      { from: deciding },
    );

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
    readMoment: (look, { isLong = false } = {}) =>
      insist(
        () =>
          withConnection(
            async (query) => {
              await query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
              try {
                if (isLong) await query(`SET LOCAL statement_timeout = ${longStatementMs}`);
                return await look(query);
              } finally {
                await query("COMMIT").catch(() => {});
              }
            },
            { timeoutMs: isLong ? longStatementMs : statementMs },
          ),
        patienceOfCallersMs,
      ),
    write: (work, patienceMs = patienceOfCallersMs, options = {}) =>
      insist(
        () => transact(work, options),
        patienceMs,
        options.evenInDoubt === true ? isPassingOrInDoubt : isPassing,
      ),
    decide: (look) => insist(() => decide(look), 0),
    beat: (work) =>
      insist(
        () => transact(work, {}, { from: beating, timeoutMs: beatStatementMs }),
        patienceOfCallersMs,
        isPassingOrInDoubt,
      ),
    ping: () =>
      insist(
        () =>
          withConnection(async (query) => {
            const [shown] = await query<{ transaction_read_only: string }>("SHOW transaction_read_only");
            if (shown?.transaction_read_only !== "off") throw new ReadOnlyServer();
          }),
        patienceOfCallersMs,
      ),
    close: async () => {
      await Promise.all([pool.close(), deciding.close(), beating.close()]);
    },
  };
}

/** As a template and with a value, because the driver sends nothing behind a plain text before that is answered. */
const begin = (query: Query, connection: ReservedSQL): Promise<unknown> =>
  Promise.all([connection`BEGIN`.execute(), query(waitForDisk, ["on"])]);

/**
 * Everything is sent at once, in order, and done by the server one after the other. When a statement has failed there, those
 * behind it are refused and the commit is a rollback, which is what it then says of itself.
 */
async function writeAndCommit(
  query: Query,
  connection: ReservedSQL,
  writes: readonly Write[],
): Promise<void> {
  const writing = writes.map(({ statement, values }) => query(statement, values));
  // An answer without rows, of which the driver tells what was done.
  const committing = connection<{ readonly command: string }>`COMMIT`.execute();
  const [committed, ...written] = await Promise.allSettled([committing, ...writing]);
  const failure = written.find((each) => each.status === "rejected");
  if (committed.status === "rejected") {
    const error: unknown = committed.reason;
    throw isConnectionLost(error) ? new InDoubt({ cause: error }) : error;
  }
  // What the server says that it has done; the driver's types leave it open.
  const { command } = committed.value as { readonly command: string };
  if (command === "COMMIT" && failure === undefined) return;
  // Whatever the driver has done to have something else committed than was sent: nobody knows what was written.
  if (command === "COMMIT") throw new InDoubt({ cause: failure?.reason });
  throw failure?.reason ?? new Error("The server rolled back what it should have committed.");
}

const isPassingOrInDoubt = (error: unknown): boolean => error instanceof InDoubt || isPassing(error);

/** Statements on one connection. One that never ends takes its connection with it, and so whatever it had begun. */
function queryOn(connection: ReservedSQL, timer: NodeJS.Timeout): Query {
  return async <Row>(text: string, values: readonly Value[] = []) => {
    timer.refresh();
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

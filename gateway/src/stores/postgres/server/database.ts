import type { ReservedSQL } from "bun";
import { InDoubt } from "../../../ledger/store-errors.ts";
import { patienceOfCallersMs } from "../../patience.ts";
import {
  openConnections,
  statementMs,
  type ConnectionChoice,
  type ConnectionOptions,
} from "./connections.ts";
import { isConnectionLost, isPassing, ReadOnlyServer } from "./failures.ts";
import { createInsist } from "./insist.ts";
import { createLastWrites } from "./last-writes.ts";
import type { Query } from "./query.ts";
import { begin, beginSoon, writeAndCommit, type Write } from "./transaction.ts";

/** The database, as everything in this folder uses it. */
export interface Database {
  /**
   * Reads, with one statement. Asked again when the server went away meanwhile, and given up when the patience of callers
   * ends, whatever it is that does not answer.
   */
  readonly read: Query;
  /** The same for lists, reports and starts: a server that answers slowly has the time of any statement. */
  readonly readPatiently: Query;
  /** Reads one moment with several statements. */
  readonly readMoment: <Found>(
    look: (query: Query) => Promise<Found>,
    options?: Pick<WriteOptions, "isLong">,
  ) => Promise<Found>;
  /**
   * Writes, all or nothing. Each statement sees whatever was committed before it began, so whoever decides by what they
   * read locks it first. `work` is done again when it stood in somebody's way, so it must be repeatable; what it returns
   * is on disk. Given up when the patience of callers ends, like a read; a commit that has not been answered by then is in
   * doubt.
   */
  readonly write: <Result>(
    work: (query: Query) => Promise<Result>,
    options?: Pick<WriteOptions, "evenInDoubt">,
  ) => Promise<Result>;
  /**
   * The same for commands, starts, the work between calls, and what is worth a longer wait: each statement has the time of
   * any, and it is begun again for as long as there is patience.
   */
  readonly writePatiently: <Result>(
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
  /** Throws unless there is a server, it can be written, and it took what was written last. */
  readonly ping: () => Promise<void>;
  readonly close: () => Promise<void>;
}

interface WriteOptions {
  /** For work that changes nothing the second time: it is also done again when a commit broke off. */
  readonly evenInDoubt?: boolean;
  /** For statements that look at every row of a table. */
  readonly isLong?: boolean;
  /** For work that pauses between its statements, and has locked nothing that others wait for. */
  readonly pauses?: boolean;
}

export interface Decision<Result> {
  readonly result: Result;
  readonly writes: readonly Write[];
}

/**
 * What says that a process lives is small, and must be there before others take it for dead. A firewall may have forgotten
 * every connection of a quiet process without a word to it; new ones pass.
 */
const beatStatementMs = 1_000;
/** What a decision writes waits for no lock as long as that: it has locked what others write, too. */
const silentCommitMs = 2_000;
/** A file sorts millions of rows before it gives the first of them. */
const longPauseMs = 60 * 60_000;
/** An audit looks at every row. */
const longStatementMs = 60 * 60_000;
/** A plan that was made when a table was empty must not last until somebody takes its measure. */
const plansLastMs = 10_000;

export function openDatabase(options: ConnectionOptions): Database {
  const { monotonicMs } = options;
  const connections = openConnections(options);

  const transact = <Result>(
    work: (query: Query) => Promise<Result>,
    { isLong = false, pauses = false }: WriteOptions,
    on: ConnectionChoice = { timeoutMs: isLong ? longStatementMs : statementMs },
  ): Promise<Result> =>
    connections.with(async (query, connection) => {
      let result: Result;
      try {
        await begin(query, connection);
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

  let committing: { readonly connection: ReservedSQL; readonly sinceMs: number } | undefined;
  /**
   * While a sign of life that began later is on disk already, a commit that says nothing is on a connection that has died
   * quietly. Should it only be slow, nothing is lost: it is in doubt then, and the same is given again by its id.
   */
  const leaveSilentCommit = (beatBeganMs: number): void => {
    if (!committing || beatBeganMs - committing.sinceMs < silentCommitMs) return;
    committing.connection.close({ timeout: 0 }).catch(() => {});
  };

  const decide = <Result>(look: (query: Query) => Promise<Decision<Result>>): Promise<Result> =>
    connections.with(
      async (query, connection) => {
        planAnew(connection);
        const begun = beginSoon(query, connection);
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
        else {
          committing = { connection, sinceMs: monotonicMs() };
          await writeAndCommit(query, connection, decision.writes).finally(() => (committing = undefined));
          lastWrites.succeeded("decision");
        }
        return decision.result;
      },
      { purpose: "deciding" },
    );

  const insist = createInsist(monotonicMs);
  const lastWrites = createLastWrites(monotonicMs);
  const rememberFailed =
    (what: "decision" | "beat") =>
    (error: unknown): never => {
      lastWrites.failed(what, error);
      throw error;
    };

  return {
    read: (text, values) =>
      insist(
        (deadlineMs) => connections.with((query) => query(text, values), { deadlineMs }),
        patienceOfCallersMs,
      ),
    readPatiently: (text, values) =>
      insist(() => connections.with((query) => query(text, values)), patienceOfCallersMs),
    readMoment: (look, { isLong = false } = {}) =>
      insist(
        (deadlineMs) =>
          connections.with(
            async (query) => {
              await query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
              try {
                if (isLong) await query(`SET LOCAL statement_timeout = ${longStatementMs}`);
                return await look(query);
              } finally {
                await query("COMMIT").catch(() => {});
              }
            },
            isLong ? { timeoutMs: longStatementMs } : { deadlineMs },
          ),
        patienceOfCallersMs,
      ),
    write: (work, options = {}) =>
      insist((deadlineMs) => transact(work, {}, { deadlineMs }), patienceOfCallersMs, mayPassOf(options)),
    writePatiently: (work, patienceMs = patienceOfCallersMs, options = {}) =>
      insist(() => transact(work, options), patienceMs, mayPassOf(options)),
    decide: (look) => insist(() => decide(look), 0).catch(rememberFailed("decision")),
    beat: async (work) => {
      const beaten = await insist(
        async () => {
          const beganMs = monotonicMs();
          const result = await transact(work, {}, { purpose: "beating", timeoutMs: beatStatementMs });
          leaveSilentCommit(beganMs);
          return result;
        },
        patienceOfCallersMs,
        isPassingOrInDoubt,
      ).catch(rememberFailed("beat"));
      lastWrites.succeeded("beat");
      return beaten;
    },
    ping: async () => {
      lastWrites.check();
      await insist(
        (deadlineMs) =>
          connections.with(
            async (query) => {
              const [shown] = await query<{ transaction_read_only: string }>("SHOW transaction_read_only");
              if (shown?.transaction_read_only !== "off") throw new ReadOnlyServer();
            },
            { deadlineMs },
          ),
        patienceOfCallersMs,
      );
    },
    close: connections.close,
  };
}

const mayPassOf = ({ evenInDoubt = false }: WriteOptions): ((error: unknown) => boolean) =>
  evenInDoubt ? isPassingOrInDoubt : isPassing;

const isPassingOrInDoubt = (error: unknown): boolean => error instanceof InDoubt || isPassing(error);

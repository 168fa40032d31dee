import type { HoldRequest, HoldResult, Ledger, Recovery, Resolved } from "../../ledger/ledger.ts";
import { idempotencyKeptMs } from "../../ledger/idempotency-key.ts";
import { StoreBusy } from "../../ledger/store-errors.ts";
import { createWhyNotHeld } from "../../ledger/why-not-held.ts";
import type { Quantities } from "../../prices/quantities.ts";
import { TransitMap } from "../../platform/transit-map.ts";
import { pricesAsText } from "../call-ends.ts";
import { unexplainedHolds } from "../audit-rules.ts";
import type { Database } from "./database.ts";
import { jsonOf } from "./json-rows.ts";
import { InDoubt, isPassing, toldAs } from "./failures.ts";
import { CameLater, runBatch, RunEnded, type Granted, type Wish } from "./ledger-batch.ts";
import { readFacts } from "./ledger-facts.ts";
import type { Runs } from "./runs.ts";

interface Parts {
  readonly db: Database;
  readonly runs: Runs;
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
  readonly onCommit: (writes: number) => void;
  /** Nobody waits for what time brings: notes, signs of life, and the ends of calls that others left. */
  readonly onLostNote: (error: unknown) => void;
}

export interface PostgresLedger extends Ledger {
  /** Writes what is queued, and begins nothing more. */
  readonly close: () => Promise<void>;
}

interface Queued {
  readonly wish: Wish;
  readonly waiting: PromiseWithResolvers<HoldResult | Resolved>;
  readonly deadlineMs: number;
  /** A commit with it broke off; it is asked again, and told as doubtful should nobody ever answer. */
  isInDoubt: boolean;
}

/** Bounds how long one transaction keeps the rows of its accounts. */
const batchMax = 256;
const patienceOfCallersMs = 2_000;
/** The work is done and paid for upstream; booking its end is worth a longer wait than beginning it. */
const endingPatienceMs = 20_000;
/** Nobody waits for notes; most calls end sooner, and their end says when they were sent. */
const notesAfterMs = 100;
const retryMs = 20;
const lateEveryMs = 250;
const orphansAtOnce = 200;
const claimsForgottenAtOnce = 1_000;
const forgetEveryMs = 10 * 60_000;

/**
 * Money as it moves, for any number of processes. What is wished for in one turn, and while a transaction is under way, is
 * decided and written by the next one: `ledger-batch.ts` says how.
 */
export function createPostgresLedger(parts: Parts): PostgresLedger {
  const { db, runs, monotonicMs, onCommit, onLostNote } = parts;
  let queue: Queued[] = [];
  let underWay: readonly Queued[] = [];
  let writing: Promise<void> | undefined;
  /** The accounts of calls that this process holds and has not ended. */
  const openCalls = new TransitMap<string>();
  const sent = new TransitMap<number>();
  const progress = new Map<string, Quantities>();
  /** Which sent marks are old enough to be written; the end of a call says it otherwise. */
  let marking = false;
  let notesTimer: NodeJS.Timeout | undefined;
  let beatTimer: NodeJS.Timeout | undefined;
  let forgotAtMs = Number.NEGATIVE_INFINITY;
  let isClosed = false;

  const ask = <Result>(wish: Wish, patienceMs: number): Promise<Result> => {
    const waiting = Promise.withResolvers<HoldResult | Resolved>();
    queue.push({ wish, waiting, deadlineMs: monotonicMs() + patienceMs, isInDoubt: false });
    writeSoon();
    // A hold is answered as a hold, and an end as an end.
    return waiting.promise as Promise<Result>;
  };

  const writeSoon = (): void => {
    writing ??= writeAll();
  };

  const writeAll = async (): Promise<void> => {
    // Whatever this turn brings goes together.
    await new Promise<void>((resolve) => void setImmediate(resolve));
    const impatience = setInterval(giveUpLate, lateEveryMs);
    try {
      while (queue.length > 0 || notesWait()) {
        underWay = queue.splice(0, batchMax);
        const failure = await failureOf(writeTogether(underWay));
        if (failure) await recover(failure.error, underWay);
        // Notes go with the next wish, or when their time comes again.
        if (failure && underWay.length === 0) return;
      }
    } finally {
      clearInterval(impatience);
      underWay = [];
      // In the same breath as the last look at the queue: whoever comes later begins anew.
      writing = undefined;
    }
  };

  /** A server that answers nothing must not keep callers longer than they wait. What is under way may still be written. */
  const giveUpLate = (): void => {
    const nowMs = monotonicMs();
    const isLate = ({ deadlineMs }: Queued): boolean => deadlineMs <= nowMs;
    for (const { waiting } of underWay.filter(isLate)) waiting.reject(new InDoubt(undefined));
    for (const queued of queue.filter(isLate)) refuseLate(queued, undefined);
    queue = queue.filter((queued) => !isLate(queued));
  };

  const refuseLate = ({ waiting, isInDoubt }: Queued, cause: unknown): void =>
    waiting.reject(isInDoubt ? new InDoubt(cause) : new StoreBusy({ cause }));

  const notesWait = (): boolean => marking || progress.size > 0;

  const writeTogether = async (batch: readonly Queued[]): Promise<void> => {
    const notes = { sent: new Map(marking ? sent.entries() : []), progress: new Map(progress) };
    const granted = await db.write(
      (query) =>
        runBatch(query, {
          runId: runs.current(),
          wishes: batch.map(({ wish }) => wish),
          notes,
          sentAtMs: (callId) => sent.get(callId),
          accountOf: (callId) => openCalls.get(callId),
        }),
      0,
    );
    onCommit(batch.length);
    forgetNotes(notes);
    for (const [at, queued] of batch.entries()) tell(queued, granted[at]);
  };

  const forgetNotes = (notes: { sent: Map<string, number>; progress: Map<string, Quantities> }): void => {
    for (const callId of notes.sent.keys()) sent.delete(callId);
    // What was noted meanwhile is newer, and stays.
    for (const [callId, used] of notes.progress) if (progress.get(callId) === used) progress.delete(callId);
    marking = false;
  };

  const tell = ({ wish, waiting }: Queued, granted: Granted | undefined): void => {
    if (granted === undefined) throw new Error("A batch answers each of its wishes.");
    if ("failure" in granted) return waiting.reject(granted.failure);
    if (wish.kind === "hold") {
      if ("kind" in granted.result && granted.result.kind === "held")
        openCalls.set(wish.request.callId, wish.request.accountId);
    } else {
      const { callId } = wish.kind === "settle" ? wish.settlement : wish.release;
      openCalls.delete(callId);
      sent.delete(callId);
    }
    waiting.resolve(granted.result);
  };

  /** Tries again what may pass, for as long as its callers wait; fails alone what fails by itself. */
  const recover = async (error: unknown, batch: readonly Queued[]): Promise<void> => {
    if (error instanceof RunEnded) {
      // Another process took this one for dead. Whatever it held is ended by now, and asking says how.
      openCalls.clear();
      await runs.goOnAfter(error.runId).catch(() => {});
    }
    const cause = error instanceof StoreBusy ? error.cause : error;
    const isInDoubt = error instanceof InDoubt;
    const passes = isInDoubt || error instanceof RunEnded || error instanceof CameLater || isPassing(cause);
    if (!passes) return batch.length > 1 ? oneByOne(batch) : fail(batch, error);
    const nowMs = monotonicMs();
    const left: Queued[] = [];
    for (const queued of batch) {
      queued.isInDoubt ||= isInDoubt;
      if (queued.deadlineMs > nowMs) left.push(queued);
      else refuseLate(queued, error);
    }
    queue = [...left, ...queue];
    if (batch.length === 0) onLostNote(error);
    await Bun.sleep(retryMs);
  };

  const oneByOne = async (batch: readonly Queued[]): Promise<void> => {
    for (const queued of batch) {
      const failure = await failureOf(writeTogether([queued]));
      if (failure) await recover(failure.error, [queued]);
    }
  };

  const fail = (batch: readonly Queued[], error: unknown): void => {
    for (const { waiting } of batch) waiting.reject(toldAs(error));
    if (batch.length === 0) onLostNote(error);
  };

  const noteSoon = (): void => {
    notesTimer ??= setTimeout(() => {
      notesTimer = undefined;
      const over = [...sent.entries()].filter(([callId]) => !openCalls.has(callId));
      for (const [callId] of over) sent.delete(callId);
      marking = sent.size > 0;
      if (notesWait() && runs.current() !== undefined) writeSoon();
    }, notesAfterMs).unref();
  };

  /** Ends the calls of runs that have ended, in the manner of a crash; says what that came to. */
  const endOrphans = async (nowMs: number): Promise<Recovery> => {
    let [releasedCalls, releasedMicros, settledCalls] = [0, 0n, 0];
    const lostTasks = await loseTasks(db);
    for (;;) {
      const orphans = await db.read<{ id: string; held_micros: bigint }>(findOrphans, [orphansAtOnce]);
      if (orphans.length === 0) return { releasedCalls, releasedMicros, settledCalls, lostTasks };
      const ended = await Promise.all(
        orphans.map(({ id }) =>
          ask<Resolved>(
            {
              kind: "release",
              release: {
                callId: id,
                outcome: "unknown",
                httpStatus: undefined,
                attempts: [],
                settledAtMs: nowMs,
              },
            },
            endingPatienceMs,
          ),
        ),
      );
      for (const [at, { first, state }] of ended.entries()) {
        if (!first) continue;
        if (state === "settled") settledCalls++;
        else releasedCalls++;
        if (state === "released") releasedMicros += orphans[at]?.held_micros ?? 0n;
      }
    }
  };

  const beginRun = async (nowMs: number): Promise<Recovery> => {
    await runs.begin(nowMs);
    const recovery = await endOrphans(nowMs);
    await forgetClaims(db, nowMs);
    const [broken] = await db.read<{ subject: string; detail: string }>(unexplainedHolds);
    if (broken) {
      await runs.end();
      throw new Error(`Account ${broken.subject}: ${broken.detail}. Run "tollgate audit" before serving.`);
    }
    beatLater();
    return recovery;
  };

  const beatLater = (): void => {
    beatTimer = setTimeout(() => {
      beatOnce()
        .catch(onLostNote)
        .finally(() => {
          if (!isClosed) beatLater();
        });
    }, runs.beatMs).unref();
  };

  const beatOnce = async (): Promise<void> => {
    // Also what others found dead, and did not live to end.
    if ((await runs.beat()) || (await anyOrphan(db))) await endOrphans(parts.wallMs());
    if (monotonicMs() - forgotAtMs < forgetEveryMs) return;
    forgotAtMs = monotonicMs();
    await forgetClaims(db, parts.wallMs());
  };

  return {
    recordPrices: (prices) =>
      db.write(async (query) => {
        const rows = prices.map(({ operationId, model, terms }) => ({
          version: terms.version,
          operation_id: operationId,
          model: model ?? null,
          unit_prices: pricesAsText(terms),
        }));
        await query(insertPrices, [jsonOf(rows)]);
      }),
    hold: (request) =>
      runs.current() === undefined
        ? Promise.reject(new Error("Nothing can be held before the run has begun."))
        : ask({ kind: "hold", request }, patienceOfCallersMs),
    wouldHold: (request) =>
      db.readMoment(async (query) => {
        const wanted = {
          accountIds: [request.accountId],
          callIds: [],
          holds: [request],
          taskIds: [],
          taskCallIds: [],
        };
        const facts = await readFacts(query, wanted, { lock: false });
        return createWhyNotHeld(facts)(request) ?? { kind: "held" };
      }),
    findEarlier: async (accountId, claim, nowMs) => {
      const wanted: HoldRequest["idempotency"] = claim;
      const request = {
        accountId,
        idempotency: wanted,
        keyId: "",
        amountMicros: 0n,
        createdAtMs: nowMs,
        budget: undefined,
      };
      const facts = await readFacts(db.read, { ...nothing, holds: [request] }, { lock: false });
      return facts.findEarlier(accountId, claim, nowMs);
    },
    markDispatched: (callId, atMs) => {
      sent.set(callId, atMs);
      noteSoon();
    },
    noteProgress: (callId, used) => {
      progress.set(callId, used);
      noteSoon();
    },
    settle: (settlement) => ask({ kind: "settle", settlement }, endingPatienceMs),
    release: (release) => ask({ kind: "release", release }, endingPatienceMs),
    beginRun,
    close: async () => {
      isClosed = true;
      clearTimeout(beatTimer);
      clearTimeout(notesTimer);
      if (runs.current() !== undefined) {
        marking = sent.size > 0;
        writeSoon();
        await writing;
      }
      await runs.end().catch(onLostNote);
    },
  };
}

const failureOf = (doing: Promise<void>): Promise<{ readonly error: unknown } | undefined> =>
  doing.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );

const nothing = { accountIds: [], callIds: [], holds: [], taskIds: [], taskCallIds: [] } as const;

const insertPrices = `
  INSERT INTO price (version, operation_id, model, unit_prices)
  SELECT version, operation_id, model, unit_prices
  FROM json_to_recordset($1::text::json) AS given (version text, operation_id text, model text, unit_prices text)
  ON CONFLICT DO NOTHING`;

const orphaned = `
  FROM call JOIN run ON run.id = call.run_id
  WHERE call.settled_at_ms IS NULL AND run.ended_at_ms IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM task WHERE call_id = call.id AND task.ended_at_ms IS NULL)`;

const findOrphans = `SELECT call.id, call.held_micros ${orphaned} ORDER BY call.id LIMIT $1`;

const anyOrphan = async (db: Database): Promise<boolean> =>
  (await db.read(`SELECT 1 ${orphaned} LIMIT 1`)).length > 0;

/** Says of tasks whose creation a dead process left open that they are lost, and ends its claims. */
const loseTasks = (db: Database): Promise<number> =>
  db.write(async (query) => {
    await query(
      `UPDATE task SET lease_until_ms = 0, fence = fence + 1, lease_run_id = NULL FROM run
       WHERE run.id = lease_run_id AND run.ended_at_ms IS NOT NULL AND task.ended_at_ms IS NULL AND lease_until_ms > 0`,
    );
    const lost = await query(
      `UPDATE task SET state = 'LOST' FROM call JOIN run ON run.id = call.run_id
       WHERE call.id = task.call_id AND run.ended_at_ms IS NOT NULL AND task.ended_at_ms IS NULL AND task.state = 'CREATING'
       RETURNING task.id`,
    );
    return lost.length;
  });

const forgetClaims = async (db: Database, nowMs: number): Promise<void> => {
  for (let forgotten = claimsForgottenAtOnce; forgotten === claimsForgottenAtOnce;) {
    const rows = await db.write((query) =>
      query(
        `DELETE FROM claim WHERE (account_id, key_hash) IN (
           SELECT claim.account_id, key_hash FROM claim JOIN call ON call.id = call_id
           WHERE claim.created_at_ms < $1 AND settled_at_ms < $1 ORDER BY claim.created_at_ms LIMIT $2
           FOR UPDATE OF claim SKIP LOCKED)
         RETURNING 1`,
        [nowMs - idempotencyKeptMs, claimsForgottenAtOnce],
      ),
    );
    forgotten = rows.length;
  }
};

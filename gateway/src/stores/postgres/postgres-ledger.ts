import type { Ledger, Recovery } from "../../ledger/ledger.ts";
import { idempotencyKeptMs } from "../../ledger/idempotency-key.ts";
import { createWhyNotHeld } from "../../ledger/why-not-held.ts";
import { heldResult, noRunBegun, pricesAsText } from "../call-ends.ts";
import { unexplainedHolds } from "../audit-rules.ts";
import { checkHoldsExplained } from "../recovery.ts";
import type { Database } from "./server/database.ts";
import { nothingWanted } from "./ledger/fact-rows.ts";
import { findEarlier } from "./ledger/find-earlier.ts";
import { jsonOf } from "./server/json-rows.ts";
import { endWhatIsLeft, isAnythingLeft } from "./ledger/left-behind.ts";
import { readFacts } from "./ledger/ledger-facts.ts";
import { createCommandQueue, type QueueParts } from "./ledger/command-queue.ts";

interface Parts extends QueueParts {
  readonly wallMs: () => number;
  /** What other processes left was ended here. */
  readonly onRecovered: (recovery: Recovery) => void;
}

export interface PostgresLedger extends Ledger {
  /** Writes what is queued, and begins nothing more. */
  readonly close: () => Promise<void>;
}

const claimsForgottenAtOnce = 1_000;
const forgetEveryMs = 10 * 60_000;

/** Money as it moves, for any number of processes. */
export function createPostgresLedger(parts: Parts): PostgresLedger {
  const { db, runs, wallMs, monotonicMs, onLostNote, onRecovered } = parts;
  const queue = createCommandQueue(parts);
  let beatTimer: NodeJS.Timeout | undefined;
  let beating: Promise<void> | undefined;
  let tidying: Promise<void> | undefined;
  let forgotAtMs = Number.NEGATIVE_INFINITY;
  let isClosed = false;

  const beginRun = async (nowMs: number): Promise<Recovery> => {
    await runs.begin(nowMs);
    const recovery = await endWhatIsLeft(db, queue.release, nowMs);
    await forgetClaims(db, nowMs);
    const [unexplained] = await db.readPatiently<{ subject: string; detail: string }>(unexplainedHolds);
    if (unexplained) await runs.end();
    checkHoldsExplained(unexplained);
    beatLater();
    return recovery;
  };

  const beatLater = (): void => {
    beatTimer = setTimeout(() => {
      beating = beatOnce()
        .catch(onLostBeat)
        .finally(() => {
          if (!isClosed) beatLater();
        });
    }, runs.beatMs).unref();
  };

  const onLostBeat = (error: unknown): void => onLostNote("a sign of life", error);

  const beatOnce = async (): Promise<void> => {
    await runs.beat();
    // Not waited for: accounts of dead processes may be locked for longer than this one may go without a beat.
    tidying ??= tidyUp()
      .catch((error: unknown) => onLostNote("the end of what others left", error))
      .finally(() => (tidying = undefined));
  };

  const tidyUp = async (): Promise<void> => {
    // Also what another process found left behind, and died before it could end it.
    if (await isAnythingLeft(db)) onRecovered(await endWhatIsLeft(db, queue.release, wallMs()));
    if (monotonicMs() - forgotAtMs < forgetEveryMs) return;
    forgotAtMs = monotonicMs();
    await forgetClaims(db, wallMs());
  };

  return {
    recordPrices: (prices) =>
      db.writePatiently(async (query) => {
        const rows = prices.map(({ operationId, model, terms }) => ({
          version: terms.version,
          operation_id: operationId,
          model: model ?? null,
          unit_prices: pricesAsText(terms),
        }));
        await query(insertPrices, [jsonOf(rows)]);
      }),
    hold: (request) => (runs.current() === undefined ? Promise.reject(noRunBegun()) : queue.hold(request)),
    wouldHold: (request) =>
      db.readMoment(async (query) => {
        const wanted = { ...nothingWanted, accountIds: [request.accountId], holds: [request] };
        const facts = await readFacts(query, wanted, { lock: "none" });
        return createWhyNotHeld(facts)(request) ?? heldResult;
      }),
    findEarlier: (accountId, claim, nowMs) => findEarlier(db.read, accountId, claim, nowMs),
    markDispatched: queue.noteDispatched,
    noteProgress: queue.noteProgress,
    settle: queue.settle,
    release: queue.release,
    beginRun,
    close: async () => {
      isClosed = true;
      clearTimeout(beatTimer);
      await beating;
      // Other nodes go on with what is left; that this one has stopped is worth more to them.
      await Promise.race([tidying, Bun.sleep(tidiedWithinMs)]);
      if (runs.current() !== undefined) await queue.finish();
      await runs.end().catch(onLostBeat);
    },
  };
}

/** A part of the time that the store gives to closing. */
const tidiedWithinMs = 1_000;

const insertPrices = `
  INSERT INTO price (version, operation_id, model, unit_prices)
  SELECT version, operation_id, model, unit_prices
  FROM json_to_recordset($1::text::json) AS given (version text, operation_id text, model text, unit_prices text)
  ON CONFLICT DO NOTHING`;

async function forgetClaims(db: Database, nowMs: number): Promise<void> {
  for (let forgotten = claimsForgottenAtOnce; forgotten === claimsForgottenAtOnce;) {
    const rows = await db.writePatiently((query) =>
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
}

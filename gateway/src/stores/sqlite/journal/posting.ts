import type { Database } from "bun:sqlite";
import type { CallLists } from "./call-lists.ts";
import { changedOne, type CallRows } from "./call-rows.ts";
import { idempotencyKeptMs } from "../../../ledger/idempotency-key.ts";
import type { Claims } from "./claims.ts";
import { preparePosting } from "./posting-statements.ts";
import type { Sheet } from "./sheet.ts";
import type { BoundSums, Sums } from "../../sums.ts";
import { bucketsOf, type Bucket } from "../../usage-buckets.ts";

/** Brings the books up to date with a sheet. Everything is written in one transaction, the caller's. */
export interface Posting {
  /** Writes the rows of calls that are open, and whatever the sheet adds up to. */
  readonly post: (sheet: Sheet) => void;
}

/** Old keys are swept by those who bring new ones, so the table stays bounded. */
const keysForgottenForOne = 4;

interface Parts {
  readonly rows: CallRows;
  readonly lists: CallLists;
  readonly claims: Claims;
}

export function createPosting(db: Database, { rows, lists, claims }: Parts): Posting {
  const sql = preparePosting(db);

  const post = (sheet: Sheet): void => {
    const { open, sums, claimed } = sheet;
    for (const [, call] of open.entries()) {
      rows.writeOpen(call);
      if (!call.isNew) continue;
      if (call.held.claim) claims.take(call.held, call.held.claim);
      sums.addHeld(call.held, call.held.heldMicros);
    }
    moveAccounts(sums);
    lists.add(endedBy(sums));
    for (const [keyId, { windows, seconds }] of sums.keys) {
      for (const window of windows) moveBound(keyId, window, sql.moveBudget, sql.openBudget);
      for (const bucket of bucketsOf(seconds)) addToBucket(bucket);
    }
    for (const [grantId, days] of sums.grantDays) {
      for (const day of days) moveBound(grantId, day, sql.moveGrantDay, sql.openGrantDay);
    }
    if (claimed.count > 0)
      claims.forget(claimed.newestMs - idempotencyKeptMs, claimed.count * keysForgottenForOne);
  };

  const moveAccounts = ({ accounts }: Sums): void => {
    for (const [accountId, { postedMicros, heldMicros, carry }] of accounts) {
      const { chargeAtto = null, valuePico = null } = carry ?? {};
      changedOne(sql.moveAccount.run(postedMicros, heldMicros, chargeAtto, valuePico, accountId), accountId);
    }
  };

  /** The first calls of a window or day open its row. */
  const moveBound = (
    of: string,
    { startMs, spentMicros, heldMicros }: BoundSums,
    move: typeof sql.moveBudget,
    open: typeof sql.openBudget,
  ): void => {
    if (move.run(spentMicros, heldMicros, of, startMs).changes === 0)
      open.run(of, startMs, spentMicros, heldMicros);
  };

  const addToBucket = ({ widthSeconds, startSeconds, accountId, keyId, sums }: Bucket): void => {
    sql.addToBucket.run(
      widthSeconds,
      startSeconds,
      accountId,
      keyId,
      sums.requests,
      sums.failedRequests,
      sums.inputTokens,
      sums.outputTokens,
      sums.cacheReadTokens,
      sums.cacheWriteTokens,
      sums.valueMicros,
      sums.chargedMicros,
    );
  };

  return { post };
}

const endedBy = ({ accounts }: Sums) =>
  accounts.entries().map(([accountId, { endedCallIds }]) => [accountId, endedCallIds] as const);

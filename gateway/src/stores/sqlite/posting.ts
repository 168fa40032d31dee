import type { Database } from "bun:sqlite";
import { budgetWindowStartMs } from "../../keys/budget-window.ts";
import type { Micros } from "../../platform/money.ts";
import { changedOne, type CallRows } from "./call-rows.ts";
import { idempotencyKeptMs } from "./idempotency-rows.ts";
import { preparePosting } from "./posting-statements.ts";
import type { Sheet, SheetCall } from "./sheet.ts";
import { addUsage, bucketsOf, type Bucket } from "./usage-buckets.ts";

/** Brings the books up to date with a sheet. Everything is written in one transaction, the caller's. */
export interface Posting {
  /** Writes the rows of calls that are open, and adds up everything that the sheet says. */
  readonly post: (sheet: Sheet) => void;
}

/** Old keys are swept by those who bring new ones, so the table stays bounded. */
const keysForgottenForOne = 4;

/** How far a sheet moves the figures of one account, budget or day. */
interface Moves {
  postedMicros: Micros;
  heldMicros: Micros;
  spentMicros: Micros;
}

export function createPosting(db: Database, rows: CallRows): Posting {
  const sql = preparePosting(db);

  const post = (sheet: Sheet): void => {
    const sums = { accounts: new Map(), budgets: new Map(), grantDays: new Map(), usage: new Map() } as Sums;
    const ended: SheetCall[] = [];
    for (const call of sheet.calls.values()) {
      addMoves(sums, call);
      if (!call.end) {
        rows.writeOpen(call);
        continue;
      }
      ended.push(call);
      addUsage(sums.usage, call.held, call.end);
    }
    for (const [accountId, moves] of sums.accounts) {
      const carry = sheet.carries.get(accountId);
      const { postedMicros, heldMicros } = moves;
      changedOne(
        sql.moveAccount.run(
          postedMicros,
          heldMicros,
          carry?.chargeAtto ?? null,
          carry?.valuePico ?? null,
          accountId,
        ),
        accountId,
      );
    }
    for (const bounded of sums.budgets.values()) moveBound(bounded, sql.moveBudget, sql.openBudget);
    for (const bounded of sums.grantDays.values()) moveBound(bounded, sql.moveGrantDay, sql.openGrantDay);
    for (const bucket of bucketsOf(sums.usage)) addToBucket(bucket);
    listEnded(ended);
    writeClaims(sheet);
  };

  /** The first calls of a window or day open its row. */
  const moveBound = (
    { of, startMs, moves: { spentMicros, heldMicros } }: Bounded,
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

  /** The list of an account lies together, so its calls are entered together. */
  const listEnded = (ended: readonly SheetCall[]): void => {
    const byAccount = ended.toSorted((a, b) => (a.held.accountId < b.held.accountId ? -1 : 1));
    for (const { held } of byAccount) sql.listCall.run(held.accountId, held.callId);
  };

  /** An ended call's claim was settled with its row. */
  const writeClaims = (sheet: Sheet): void => {
    let claims = 0;
    let newestMs = 0;
    for (const call of sheet.calls.values()) {
      if (!call.isNew || !call.held.claim) continue;
      if (!call.end) rows.writeClaim(call);
      newestMs = Math.max(newestMs, call.held.createdAtMs);
      claims++;
    }
    if (claims > 0) sql.forgetKeys.run(newestMs - idempotencyKeptMs, claims * keysForgottenForOne);
  };

  return { post };
}

/** A call belongs to the day in which it was held, whenever it ends. */
export const grantDayStartMs = (createdAtMs: number): number => budgetWindowStartMs("day", createdAtMs);

interface Bounded {
  readonly of: string;
  readonly startMs: number;
  readonly moves: Moves;
}

interface Sums {
  readonly accounts: Map<string, Moves>;
  readonly budgets: Map<string, Bounded>;
  readonly grantDays: Map<string, Bounded>;
  readonly usage: Parameters<typeof addUsage>[0];
}

/** What is new and open is held; what has ended holds nothing, and gives back what the books still hold for it. */
function addMoves(sums: Sums, { held, isNew, end }: SheetCall): void {
  const heldBefore = isNew ? 0n : held.heldMicros;
  const heldMicros = (end ? 0n : held.heldMicros) - heldBefore;
  const chargedMicros = end?.chargedMicros ?? 0n;
  const add = (moves: Moves): void => {
    moves.heldMicros += heldMicros;
    moves.spentMicros += chargedMicros;
    moves.postedMicros -= chargedMicros;
  };
  let account = sums.accounts.get(held.accountId);
  if (!account) sums.accounts.set(held.accountId, (account = noMoves()));
  add(account);
  if (held.windowStartMs !== null) add(boundedIn(sums.budgets, held.keyId, held.windowStartMs));
  if (held.grantId !== null) add(boundedIn(sums.grantDays, held.grantId, grantDayStartMs(held.createdAtMs)));
}

function boundedIn(all: Map<string, Bounded>, of: string, startMs: number): Moves {
  const name = `${of} ${startMs}`;
  let bounded = all.get(name);
  if (!bounded) all.set(name, (bounded = { of, startMs, moves: noMoves() }));
  return bounded.moves;
}

const noMoves = (): Moves => ({ postedMicros: 0n, heldMicros: 0n, spentMicros: 0n });

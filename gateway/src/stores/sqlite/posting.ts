import type { Database } from "bun:sqlite";
import { budgetWindowStartMs } from "../../keys/budget-window.ts";
import type { IdempotencyClaim } from "../../ledger/ledger.ts";
import type { Micros } from "../../platform/money.ts";
import { idempotencyKeptMs } from "./idempotency-rows.ts";
import { preparePosting } from "./posting-statements.ts";
import type { CallEnd, HeldCall, Sheet, SheetCall } from "./sheet.ts";
import { addUsage, bucketsOf, type Bucket } from "./usage-buckets.ts";

/** Brings the books up to date with a sheet. Everything is written in one transaction, the caller's. */
export interface Posting {
  /** Writes the row of a call that has ended: from now on it never changes. */
  readonly writeEnd: (call: SheetCall) => void;
  /** Writes the rows of calls that are open, and adds up everything that the sheet says. */
  readonly post: (sheet: Sheet) => void;
  readonly findHeld: (callId: string) => HeldCall;
  readonly findEnd: (callId: string) => Omit<CallEnd, "carry" | "freedKeyHash">;
}

/** Old keys are swept by those who bring new ones, so the table stays bounded. */
const keysForgottenForOne = 4;

/** How far a sheet moves the figures of one account, budget or day. */
interface Moves {
  postedMicros: Micros;
  heldMicros: Micros;
  spentMicros: Micros;
}

export function createPosting(db: Database): Posting {
  const sql = preparePosting(db);

  const post = (sheet: Sheet): void => {
    const sums = { accounts: new Map(), budgets: new Map(), grantDays: new Map(), usage: new Map() } as Sums;
    const ended: SheetCall[] = [];
    for (const call of sheet.calls.values()) {
      addMoves(sums, call);
      if (!call.end) {
        writeOpen(call);
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
    for (const { of, startMs, moves } of sums.budgets.values()) {
      const move = () => sql.moveBudget.run(moves.spentMicros, moves.heldMicros, of, startMs).changes > 0;
      if (!move()) sql.openBudget.run(of, startMs, moves.spentMicros, moves.heldMicros);
    }
    for (const { of, startMs, moves } of sums.grantDays.values()) {
      const move = () => sql.moveGrantDay.run(moves.spentMicros, moves.heldMicros, of, startMs).changes > 0;
      if (!move()) sql.openGrantDay.run(of, startMs, moves.spentMicros, moves.heldMicros);
    }
    for (const bucket of bucketsOf(sums.usage)) addToBucket(bucket);
    listEnded(ended);
    writeClaims(sheet);
  };

  const writeEnd = ({ held, isNew, sentAtMs, end }: SheetCall): void => {
    if (!end) throw new Error(`The call ${held.callId} has not ended.`);
    if (isNew) insertEnded(held, end, sentAtMs);
    else endRow(held, end, sentAtMs);
  };

  const writeOpen = ({ held, isNew, sentAtMs, progress }: SheetCall): void => {
    if (isNew) return insertOpen(held, sentAtMs, progress && JSON.stringify(progress));
    if (sentAtMs !== null) sql.markSent.run(sentAtMs, held.callId);
    if (progress) sql.noteProgress.run(JSON.stringify(progress), held.callId);
  };

  const insertOpen = (held: HeldCall, sentAtMs: number | null, progress: string | undefined): void => {
    sql.insertOpen.run(
      held.callId,
      held.accountId,
      held.keyId,
      held.operationId,
      held.model,
      sentAtMs === null ? "held" : "dispatched",
      held.heldMicros,
      held.priceVersion,
      held.multiplierPpm,
      held.windowStartMs,
      held.grantId,
      held.runId,
      held.createdAtMs,
      sentAtMs,
      progress ?? null,
    );
  };

  const insertEnded = (held: HeldCall, end: CallEnd, sentAtMs: number | null): void => {
    sql.insertEnded.run(
      held.callId,
      held.accountId,
      held.keyId,
      held.operationId,
      held.model,
      end.state,
      end.outcome,
      held.heldMicros,
      end.valueMicros,
      end.chargedMicros,
      end.writtenOffMicros,
      held.priceVersion,
      held.multiplierPpm,
      held.windowStartMs,
      held.grantId,
      JSON.stringify(end.used),
      end.usageSource,
      end.httpStatus,
      JSON.stringify(end.attempts),
      held.runId,
      held.createdAtMs,
      sentAtMs ?? end.sentAtMs,
      end.settledAtMs,
    );
  };

  const endRow = (held: HeldCall, end: CallEnd, sentAtMs: number | null): void => {
    const written = sql.endRow.run(
      end.state,
      end.outcome,
      end.valueMicros,
      end.chargedMicros,
      end.writtenOffMicros,
      JSON.stringify(end.used),
      end.usageSource,
      end.httpStatus,
      JSON.stringify(end.attempts),
      sentAtMs ?? end.sentAtMs,
      end.settledAtMs,
      held.callId,
    );
    changedOne(written, held.callId);
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

  const writeClaims = (sheet: Sheet): void => {
    let claims = 0;
    let newestMs = 0;
    for (const { held, isNew, end } of sheet.calls.values()) {
      if (!isNew || !held.claim) continue;
      // A key that is free again was claimed on this sheet or in the books, and may since be another call's.
      if (!end?.freedKeyHash) claimKey(held, held.claim);
      newestMs = Math.max(newestMs, held.createdAtMs);
      claims++;
    }
    for (const { held, end } of sheet.calls.values())
      if (end?.freedKeyHash) sql.freeKey.run(held.accountId, end.freedKeyHash, held.callId);
    if (claims > 0) sql.forgetKeys.run(newestMs - idempotencyKeptMs, claims * keysForgottenForOne);
  };

  const claimKey = ({ accountId, callId, createdAtMs }: HeldCall, claim: IdempotencyClaim): void => {
    sql.claimKey.run(accountId, claim.keyHash, claim.fingerprint, callId, createdAtMs);
  };

  const findHeld = (callId: string): HeldCall => {
    const row = sql.findHeld.get(callId);
    if (!row) throw new Error(`The journal names a call ${callId} that the books do not have.`);
    return heldCallOf(row);
  };

  const findEnd: Posting["findEnd"] = (callId) => {
    const row = sql.findEnd.get(callId);
    if (!row) throw new Error(`The journal says that the call ${callId} has ended, and its row does not.`);
    return endOf(row);
  };

  return { writeEnd, post, findHeld, findEnd };
}

export interface HeldRow {
  id: string;
  account_id: string;
  key_id: string;
  operation_id: string;
  model: string | null;
  held_micros: bigint;
  price_version: string;
  multiplier_ppm: bigint;
  budget_window_start_ms: bigint | null;
  grant_id: string | null;
  run_id: bigint;
  created_at_ms: bigint;
}

export const heldCallOf = (row: HeldRow): HeldCall => ({
  callId: row.id,
  accountId: row.account_id,
  keyId: row.key_id,
  operationId: row.operation_id,
  model: row.model,
  heldMicros: row.held_micros,
  priceVersion: row.price_version,
  multiplierPpm: row.multiplier_ppm,
  windowStartMs: row.budget_window_start_ms === null ? null : Number(row.budget_window_start_ms),
  grantId: row.grant_id,
  runId: row.run_id,
  createdAtMs: Number(row.created_at_ms),
  claim: undefined,
});

export interface EndRow {
  state: CallEnd["state"];
  outcome: CallEnd["outcome"];
  value_micros: bigint;
  charged_micros: bigint;
  written_off_micros: bigint;
  used: string;
  usage_source: CallEnd["usageSource"];
  http_status: bigint | null;
  attempts: string;
  dispatched_at_ms: bigint | null;
  settled_at_ms: bigint;
}

// The JSON columns are written here alone, from the very types they are read back into.
const endOf = (row: EndRow): ReturnType<Posting["findEnd"]> => ({
  state: row.state,
  outcome: row.outcome,
  valueMicros: row.value_micros,
  chargedMicros: row.charged_micros,
  writtenOffMicros: row.written_off_micros,
  used: JSON.parse(row.used) as CallEnd["used"],
  usageSource: row.usage_source,
  httpStatus: row.http_status === null ? null : Number(row.http_status),
  attempts: JSON.parse(row.attempts) as CallEnd["attempts"],
  sentAtMs: row.dispatched_at_ms === null ? null : Number(row.dispatched_at_ms),
  settledAtMs: Number(row.settled_at_ms),
});

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

/** The books disagree with the journal: better stopped than wrong. */
function changedOne({ changes }: { readonly changes: number }, name: string): void {
  if (changes !== 1) throw new Error(`The journal cannot be posted: the books have no open ${name}.`);
}

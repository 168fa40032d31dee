import type { Database } from "bun:sqlite";
import type { ApprovalDenial } from "../../approvals/approvals.ts";
import { budgetWindowStartMs } from "../../keys/budget-window.ts";
import type { Budget } from "../../keys/keys.ts";
import type { CallOutcome, UsageSource } from "../../ledger/call-record.ts";
import { chargeFor, type Charge } from "../../ledger/charge.ts";
import type {
  EarlierCall,
  HoldRequest,
  HoldResult,
  IdempotencyClaim,
  Ledger,
  Recovery,
  Release,
  Resolved,
  Settlement,
} from "../../ledger/ledger.ts";
import { StoreFull } from "../../ledger/store-errors.ts";
import { tokenTotals, type Quantities } from "../../operation/quantities.ts";
import { valuePico, type Terms } from "../../operation/terms.ts";
import type { Micros, Pico } from "../../platform/money.ts";
import { prepareApprovalUses } from "./sqlite-approvals.ts";
import type { Daybook } from "./daybook.ts";
import type { GroupCommit } from "./group-commit.ts";
import { prepareLedger, type CallRow, type HeldCall } from "./ledger-statements.ts";
import { unitPricesOf } from "./sqlite-calls.ts";
import type { TaskEnd } from "../../tasks/task.ts";
import type { TaskRows } from "./task-rows.ts";

interface Parts {
  readonly db: Database;
  readonly commits: GroupCommit;
  readonly daybook: Daybook;
  readonly tasks: TaskRows;
  /** False when what room there is must be kept for calls that already run. */
  readonly hasRoom: () => boolean;
}

interface End {
  readonly callId: string;
  readonly state: "settled" | "released";
  readonly outcome: CallOutcome;
  readonly used: Quantities;
  readonly usageSource: UsageSource;
  readonly valuePico: Pico;
  readonly httpStatus: number | undefined;
  readonly attempts: readonly object[];
  readonly settledAtMs: number;
  readonly task?: TaskEnd | undefined;
}

const houseRevenue = "house:revenue";
const houseWriteOffs = "house:write_offs";

export function createSqliteLedger(parts: Parts): Ledger {
  const { db, commits, daybook, tasks, hasRoom } = parts;
  const sql = prepareLedger(db);
  const approvals = prepareApprovalUses(db);
  let dispatched = new Map<string, number>();
  /** What was held by this process and has not ended, so that most ends need not look for their call. */
  const held = new Map<string, HeldCall>();
  /** The run that owns new calls; calls of earlier runs are nobody's. */
  let runId: bigint | undefined;

  const hold = (request: HoldRequest): HoldResult => {
    const result = holdOnce(request);
    // A hold that is repeated meets its own earlier self as an obstacle; only then is it looked for.
    return result.kind !== "held" && sql.callState.get(request.callId) ? { kind: "held" } : result;
  };

  const holdOnce = (request: HoldRequest): HoldResult => {
    if (runId === undefined) throw new Error("Nothing can be held before the run has begun.");
    if (request.amountMicros < 0n) throw new Error("A hold cannot be negative.");
    const earlier =
      request.idempotency && findEarlier(request.accountId, request.idempotency, request.createdAtMs);
    if (earlier) return { kind: "idempotency_conflict", earlier };
    const openTasks = request.task ? tasks.countOpen(request.keyId) : 0;
    if (request.task && openTasks >= request.task.openMax) return { kind: "too_many_tasks", open: openTasks };
    const windowStartMs = request.budget && budgetWindowStartMs(request.budget.window, request.createdAtMs);
    const refusal = takeAll(request, windowStartMs);
    if (refusal) return refusal;
    const inserted = sql.insertCall.run(
      request.callId,
      request.accountId,
      request.keyId,
      request.operationId,
      request.model ?? null,
      request.amountMicros,
      request.terms.version,
      request.multiplierPpm,
      windowStartMs ?? null,
      runId,
      request.createdAtMs,
      request.grant?.id ?? null,
    );
    if (inserted.changes === 0) {
      giveBack(request, windowStartMs, request.grant && grantDayStartMs(request.createdAtMs));
      return { kind: "held" };
    }
    if (request.task) tasks.insert(request.task, request);
    else held.set(request.callId, heldCallOf(request, windowStartMs));
    if (request.approval) approvals.use(request.approval, request.callId);
    if (request.idempotency) {
      const { keyHash, fingerprint } = request.idempotency;
      sql.claimKey.run(request.accountId, keyHash, fingerprint, request.callId, request.createdAtMs);
      // Old keys are swept a few at a time by those who bring new ones, so the table stays bounded.
      sql.forgetKeys.run(request.createdAtMs - idempotencyKeptMs, keysForgottenAtOnce);
    }
    return { kind: "held" };
  };

  /** Takes the amount from everything that bounds it, or from nothing: then the first bound that refused is told. */
  const takeAll = (request: HoldRequest, windowStartMs: number | undefined): HoldResult | undefined => {
    const { amountMicros, accountId, keyId, budget, grant } = request;
    if (grant && !sql.grantLives.get(grant.id, request.createdAtMs)) return { kind: "grant_ended" };
    if (sql.takeFromAccount.run(amountMicros, accountId).changes === 0) return whyNotTaken(accountId);

    if (budget && windowStartMs !== undefined && !takeFromBudget(request, windowStartMs, budget)) {
      giveBack(request, undefined, undefined);
      return { kind: "budget_exceeded", ...useOf(sql.budgetUse.get(keyId, windowStartMs)) };
    }
    const dayStartMs = grant && grantDayStartMs(request.createdAtMs);
    if (grant && dayStartMs !== undefined) {
      sql.openGrantDay.run(grant.id, dayStartMs);
      const fits = sql.takeFromGrantDay.run(amountMicros, grant.id, dayStartMs, grant.perDayMicros);
      if (fits.changes === 0) {
        giveBack(request, windowStartMs, undefined);
        return { kind: "grant_day_exceeded", ...useOf(sql.grantDayUse.get(grant.id, dayStartMs)) };
      }
    }
    const reason = whyUnapproved(request);
    if (!reason) return undefined;
    giveBack(request, windowStartMs, dayStartMs);
    return { kind: "approval_required", reason };
  };

  /** False when it does not fit. The first call of a window opens it. */
  const takeFromBudget = (
    { amountMicros, keyId }: HoldRequest,
    windowStartMs: number,
    { limitMicros }: Budget,
  ): boolean => {
    const take = (): boolean =>
      sql.takeFromBudget.run(amountMicros, keyId, windowStartMs, limitMicros).changes > 0;
    return take() || (sql.openBudget.run(keyId, windowStartMs).changes > 0 && take());
  };

  /** Undoes what was taken: from the account always, from a budget and a grant's day where it came that far. */
  const giveBack = (
    { amountMicros, accountId, keyId, grant }: HoldRequest,
    windowStartMs: number | undefined,
    dayStartMs: number | undefined,
  ): void => {
    sql.giveBackToAccount.run(amountMicros, accountId);
    if (windowStartMs !== undefined) sql.chargeBudget.run(0n, amountMicros, keyId, BigInt(windowStartMs));
    if (grant && dayStartMs !== undefined) sql.chargeGrantDay.run(0n, amountMicros, grant.id, dayStartMs);
  };

  /** An approval that is brought is used up even when the call needed none: who replays it is told so. */
  const whyUnapproved = (request: HoldRequest): "uncovered" | ApprovalDenial | undefined => {
    const { amountMicros, coveredMicros, approval } = request;
    if (approval) {
      return approvals.check(approval, {
        ...request,
        grantId: request.grant?.id,
        nowMs: request.createdAtMs,
      });
    }
    return coveredMicros !== undefined && amountMicros > coveredMicros ? "uncovered" : undefined;
  };

  const findEarlier = (
    accountId: string,
    claim: IdempotencyClaim,
    nowMs: number,
  ): EarlierCall | undefined => {
    const row = sql.earlier.get(accountId, claim.keyHash);
    if (!row) return undefined;
    if (row.settled_at_ms !== null && Number(row.settled_at_ms) + idempotencyKeptMs <= nowMs)
      return undefined;
    return {
      callId: row.call_id,
      sameRequest: Buffer.compare(row.fingerprint, claim.fingerprint) === 0,
      state: row.state,
      outcome: row.outcome ?? undefined,
      chargedMicros: row.charged_micros,
    };
  };

  /** The same statements as a hold, undone at once within the transaction: it cannot say anything else. */
  const wouldHold = (request: HoldRequest): HoldResult => {
    const { idempotency, budget, createdAtMs } = request;
    const earlier = idempotency && findEarlier(request.accountId, idempotency, createdAtMs);
    if (earlier) return { kind: "idempotency_conflict", earlier };
    db.run("SAVEPOINT would_hold");
    const windowStartMs = budget && budgetWindowStartMs(budget.window, createdAtMs);
    // Should this throw, its whole transaction is undone. On a full disk SQLite does so by itself, and a savepoint that
    // is gone must not speak in place of the error that says why.
    const refusal = takeAll(request, windowStartMs);
    db.run("ROLLBACK TO would_hold");
    db.run("RELEASE would_hold");
    return refusal ?? { kind: "held" };
  };

  const whyNotTaken = (accountId: string): HoldResult => {
    const account = sql.availability.get(accountId);
    if (account?.suspended === 1n) return { kind: "account_suspended" };
    return { kind: "insufficient_balance", availableMicros: account?.available_micros ?? 0n };
  };

  const end = (ending: End): Resolved => {
    const remembered = held.get(ending.callId);
    held.delete(ending.callId);
    return (remembered && endOpen(remembered, ending)) ?? endFound(ending);
  };

  const endFound = (ending: End): Resolved => {
    const call = sql.findCall.get(ending.callId);
    if (!call) throw new Error(`There is no call ${ending.callId} to resolve.`);
    if (call.state === "settled" || call.state === "released") return earlier(call);
    // Whoever lost the claim on the task saw something that may be old: another one ends it, or has.
    if (ending.task && !tasks.end(ending.task, ending.settledAtMs)) return earlier(call);
    const resolved = endOpen(call, ending);
    if (!resolved) throw new Error(`The call ${ending.callId} is open and cannot be ended.`);
    return resolved;
  };

  /** Undefined, and nothing is written, when the row says that the call is not open: memory may be wrong, rows are not. */
  const endOpen = (call: HeldCall, ending: End): Resolved | undefined => {
    const charge = chargeOf(call, ending);
    const ended = sql.endCall.run(
      ending.state,
      ending.outcome,
      charge.valueMicros,
      charge.chargedMicros,
      charge.writtenOffMicros,
      JSON.stringify(ending.used),
      ending.usageSource,
      ending.httpStatus ?? null,
      JSON.stringify(ending.attempts),
      dispatched.get(ending.callId) ?? null,
      ending.settledAtMs,
      ending.callId,
    );
    dispatched.delete(ending.callId);
    if (ended.changes === 0) return undefined;
    sql.chargeAccount.run(
      charge.chargedMicros,
      call.held_micros,
      charge.carry.chargeAtto,
      charge.carry.valuePico,
      call.account_id,
    );
    if (call.budget_window_start_ms !== null) {
      sql.chargeBudget.run(charge.chargedMicros, call.held_micros, call.key_id, call.budget_window_start_ms);
    }
    if (call.grant_id !== null) {
      const dayStartMs = grantDayStartMs(Number(call.created_at_ms));
      sql.chargeGrantDay.run(charge.chargedMicros, call.held_micros, call.grant_id, dayStartMs);
    }
    bookEntries(ending, call.account_id, charge);
    countUsage(ending, call, charge);
    return { first: true, state: ending.state, ...charge };
  };

  const chargeOf = (call: HeldCall, ending: End): Charge => {
    const carried = sql.carry.get(call.account_id);
    if (!carried) throw new Error(`There is no account ${call.account_id} to charge.`);
    return chargeFor({
      valuePico: ending.valuePico,
      multiplierPpm: call.multiplier_ppm,
      heldMicros: call.held_micros,
      carry: { chargeAtto: carried.charge_carry_atto, valuePico: carried.value_carry_pico },
    });
  };

  const bookEntries = (ending: End, accountId: string, charge: Charge): void => {
    const book = (kind: string, from: string, amountMicros: Micros): void => {
      if (amountMicros === 0n) return;
      sql.insertEntries.run(ending.callId, kind, from, houseRevenue, amountMicros, ending.settledAtMs);
    };
    book("charge", accountId, charge.chargedMicros);
    book("write_off", houseWriteOffs, charge.writtenOffMicros);
  };

  const countUsage = (ending: End, call: HeldCall, charge: Charge): void => {
    const tokens = tokenTotals(ending.used);
    daybook.note({
      callId: ending.callId,
      accountId: call.account_id,
      keyId: call.key_id,
      settledAtMs: ending.settledAtMs,
      sums: {
        requests: 1,
        failedRequests: ending.outcome === "succeeded" ? 0 : 1,
        inputTokens: tokens.input,
        outputTokens: tokens.output,
        cacheReadTokens: tokens.cacheRead,
        cacheWriteTokens: tokens.cacheWrite,
        valueMicros: charge.valueMicros,
        chargedMicros: charge.chargedMicros,
      },
    });
  };

  const beginRun = (nowMs: number): Recovery => {
    const nextRunId = sql.insertRun.get(nowMs)?.id;
    if (nextRunId === undefined) throw new Error("The store did not number this run.");
    let releasedMicros = 0n;
    let settledCalls = 0;
    const lostTasks = tasks.recover();
    const orphans = sql.orphans.all(nextRunId);
    for (const orphan of orphans) {
      const ending = { callId: orphan.id, outcome: "unknown", httpStatus: undefined, attempts: [] } as const;
      if (orphan.progress === null) {
        // Such a call may have been sent, whatever its row says. Its caller never got an answer, and without
        // an answer there is no evidence to charge by: the hold goes back and the operator bears the doubt.
        end({ ...nothingUsed, ...ending, settledAtMs: nowMs });
        releasedMicros += orphan.held_micros;
        continue;
      }
      // A stream had delivered this much when the process died: that is what it costs.
      const used = JSON.parse(orphan.progress) as Quantities;
      const terms = { version: "", unitPricesPico: unitPricesOf(orphan.unit_prices) };
      const value = { used, usageSource: "estimated", valuePico: valuePico(used, terms) } as const;
      end({ ...ending, ...value, state: "settled", settledAtMs: nowMs });
      settledCalls++;
    }
    sql.forgetKeys.run(nowMs - idempotencyKeptMs, -1);
    const broken = sql.unexplainedHolds.get();
    if (broken)
      throw new Error(`Account ${broken.subject}: ${broken.detail}. Run "tollgate audit" before serving.`);
    runId = nextRunId;
    return { releasedCalls: orphans.length - settledCalls, releasedMicros, settledCalls, lostTasks };
  };

  let markingSoon = false;
  const markSoon = (): void => {
    markingSoon = false;
    const marks = dispatched;
    if (marks.size > 0) commits.ride(() => markDispatchedRows(marks));
  };

  /** Repeatable: when the transaction is rolled back for somebody else's fault, the same marks ride again. */
  const markDispatchedRows = (marks: ReadonlyMap<string, number>): void => {
    for (const [callId, atMs] of marks) sql.markDispatched.run(atMs, callId);
    if (dispatched === marks) dispatched = new Map();
  };

  return {
    recordPrices: (prices) =>
      commits.run(() => {
        for (const { operationId, model, terms } of prices) {
          sql.insertPrice.run(terms.version, operationId, model ?? null, pricesAsText(terms));
        }
      }),
    hold: (request) => (hasRoom() ? commits.run(() => hold(request)) : Promise.reject(new StoreFull())),
    wouldHold: (request) => commits.run(() => wouldHold(request)),
    findEarlier: async (accountId, claim, nowMs) => findEarlier(accountId, claim, nowMs),
    markDispatched: (callId, atMs) => {
      dispatched.set(callId, atMs);
      if (markingSoon) return;
      markingSoon = true;
      setTimeout(markSoon, markAfterMs).unref();
    },
    noteProgress: (callId, used) => commits.ride(() => sql.noteProgress.run(JSON.stringify(used), callId)),
    settle: (settlement: Settlement) =>
      commits.run(() => end({ ...settlement, state: "settled" }), endingPatienceMs),
    release: (release: Release) =>
      commits.run(() => {
        // A hold that never came about needs no release; whoever doubts it may ask.
        if (!sql.callState.get(release.callId)) {
          held.delete(release.callId);
          return neverHeld;
        }
        const resolved = end({ ...nothingUsed, ...release });
        if (resolved.first && release.abandonsTask) tasks.abandon(release.callId, release.settledAtMs);
        if (resolved.first && release.freed) {
          sql.freeKey.run(release.freed.accountId, release.freed.keyHash, release.callId);
        }
        return resolved;
      }, endingPatienceMs),
    beginRun: (nowMs) => commits.run(() => beginRun(nowMs)),
  };
}

/** Most calls end sooner; their row then says when they were sent without a write of its own for that. */
const markAfterMs = 100;

/** The work is done and paid for upstream; booking its end is worth a longer wait than beginning it. */
const endingPatienceMs = 20_000;

/** A key is kept for a day after its call ended, and for as long as the call is open. */
const idempotencyKeptMs = 24 * 60 * 60 * 1000;
const keysForgottenAtOnce = 4;

const nothingUsed = { state: "released", used: {}, usageSource: "none", valuePico: 0n } as const;

const neverHeld: Resolved = {
  first: false,
  state: "released",
  chargedMicros: 0n,
  valueMicros: 0n,
  writtenOffMicros: 0n,
};

const earlier = (call: CallRow): Resolved => ({
  first: false,
  state: call.state,
  chargedMicros: call.charged_micros,
  valueMicros: call.value_micros,
  writtenOffMicros: call.written_off_micros,
});

const heldCallOf = (request: HoldRequest, windowStartMs: number | undefined): HeldCall => ({
  account_id: request.accountId,
  key_id: request.keyId,
  held_micros: request.amountMicros,
  multiplier_ppm: request.multiplierPpm,
  budget_window_start_ms: windowStartMs === undefined ? null : BigInt(windowStartMs),
  grant_id: request.grant?.id ?? null,
  created_at_ms: BigInt(request.createdAtMs),
});

/** A call belongs to the day in which it was held, whenever it ends. */
const grantDayStartMs = (atMs: number): number => budgetWindowStartMs("day", atMs);

const useOf = (row: { spent_micros: bigint; held_micros: bigint } | null) => ({
  spentMicros: row?.spent_micros ?? 0n,
  heldMicros: row?.held_micros ?? 0n,
});

const pricesAsText = (terms: Terms): string =>
  JSON.stringify(
    Object.fromEntries(Object.entries(terms.unitPricesPico).map(([unit, pico]) => [unit, `${pico}`])),
  );

import type { Database } from "bun:sqlite";
import type {
  HoldRequest,
  HoldResult,
  Ledger,
  Recovery,
  Release,
  Resolved,
  Settlement,
} from "../../ledger/ledger.ts";
import { createWhyNotHeld } from "../../ledger/why-not-held.ts";
import type { Quantities } from "../../prices/quantities.ts";
import type { TransitMap } from "../../platform/transit-map.ts";
import {
  begunRun,
  callToEnd,
  checkAmount,
  endedBefore,
  endedNow,
  endHold,
  evidenceOf,
  heldResult,
  neverHeld,
  nothingUsed,
  pricesAsText,
  takeHold,
  type EndState,
  type Ending,
  type Evidence,
} from "../call-ends.ts";
import { heldCallOf } from "../held-call-rows.ts";
import type { HeldCall } from "../held-call.ts";
import { endingPatienceMs } from "../patience.ts";
import { checkHoldsExplained, recoveryOf, unseenEnd, type RecoveredCall } from "../recovery.ts";
import type { BudgetDays } from "./budget-days.ts";
import type { EarlierCalls } from "./earlier-calls.ts";
import type { PostedBooks } from "./journal/posted-books.ts";
import type { FilePlace } from "./file/file-place.ts";
import type { GroupCommit } from "./file/group-commit.ts";
import type { Journal } from "./journal/journal.ts";
import { prepareLedger, type CallRow } from "./journal/ledger-statements.ts";
import { idempotencyKeptMs } from "../../ledger/idempotency-key.ts";
import type { Claims } from "./journal/claims.ts";
import type { DispatchMarks } from "./journal/dispatch-marks.ts";
import { prepareApprovalUses } from "./sqlite-approvals.ts";
import type { Standings } from "./journal/standings.ts";
import type { TaskRows } from "./task-rows.ts";
import type { UnpaidClaims } from "./journal/unpaid-claims.ts";

interface Parts {
  readonly db: Database;
  readonly commits: GroupCommit;
  readonly journal: Journal;
  readonly claims: Claims;
  readonly unpaidClaims: UnpaidClaims;
  readonly earlierCalls: EarlierCalls;
  readonly standings: Standings;
  readonly openCalls: TransitMap<HeldCall>;
  readonly dispatchMarks: DispatchMarks;
  readonly books: PostedBooks;
  readonly tasks: TaskRows;
  readonly budgetDays: BudgetDays;
  /** Why no new calls may be taken, such as that what room there is must be kept for those that already run. */
  readonly whyNoNewCalls: () => Error | undefined;
  readonly place: FilePlace;
}

/**
 * Money as it moves. A call is held and ended in the standings, figures in memory that guard every bound, and written to
 * the journal in the transaction that the caller waits for. Tasks, approvals and grants are rows of the books, written
 * in the same transaction.
 */
export function createSqliteLedger(parts: Parts): Ledger {
  const { db, commits, journal, claims, unpaidClaims, earlierCalls, standings, openCalls } = parts;
  const { dispatchMarks, books, tasks, budgetDays, whyNoNewCalls, place } = parts;
  const sql = prepareLedger(db);
  const approvals = prepareApprovalUses(db);
  const whyNotHeld = createWhyNotHeld({
    findEarlier: earlierCalls.find,
    countOpenTasks: tasks.countOpen,
    isGrantAlive: (grantId, nowMs) => sql.grantLives.get(grantId, nowMs) !== null,
    account: standings.account,
    budget: standings.budget,
    grantDay: standings.grantDay,
    checkApproval: approvals.check,
  });
  /** The run that owns new calls; nobody owns the calls of earlier runs. */
  let runId: bigint | undefined;

  const hold = (request: HoldRequest): HoldResult => {
    const gone = place.whyGone();
    if (gone) throw gone;
    const ownRunId = begunRun(runId);
    checkAmount(request);
    if (journal.knows(request.callId)) return heldResult;
    const refusal = whyNotHeld(request);
    if (refusal) return refusal;
    const call = takeHold(request, ownRunId, standings);
    journal.hold(call);
    if (!request.task) openCalls.set(call.callId, call);
    if (request.task || request.approval) holdForMore(request);
    return heldResult;
  };

  /** Tasks and used approvals refer to the row of the call, so that row is written first. */
  const holdForMore = (request: HoldRequest): void => {
    journal.post();
    if (request.task) tasks.insert(request.task, request);
    if (request.approval) approvals.use(request.approval, request.callId);
  };

  const end = (ending: Ending, state: EndState): Resolved => {
    const open = openCalls.get(ending.callId);
    if (open) return endOpen(open, ending, state);
    journal.post();
    const call = callToEnd(sql.findCall.get(ending.callId), ending.callId);
    if (call.state === "settled" || call.state === "released") return earlier(call);
    // Whoever lost the claim on the task saw something that may be old: another one ends it, or has.
    if (ending.task && !tasks.end(ending.task, ending.settledAtMs)) return earlier(call);
    return endOpen(heldCallOf(call), ending, state);
  };

  const endOpen = (call: HeldCall, ending: Ending, state: EndState): Resolved => {
    const callEnd = endHold(call, ending, state, dispatchMarks.find(call.callId), standings);
    openCalls.delete(call.callId);
    journal.end(call, callEnd);
    dispatchMarks.drop(call.callId);
    return endedNow(callEnd);
  };

  const settle = (settlement: Settlement): Resolved => end(settlement, "settled");

  const release = (ending: Release): Resolved => {
    // A hold that was never made needs no release. Whoever is in doubt about it may ask for one.
    if (!openCalls.has(ending.callId) && !journal.knows(ending.callId)) return neverHeld;
    const { state, ...evidence } = ending.outcome === "unknown" ? progressOf(ending.callId) : nothingUsed;
    const resolved = end({ ...evidence, ...ending }, state);
    if (resolved.first && ending.abandonsTask) tasks.abandon(ending.callId, ending.settledAtMs);
    if (resolved.first && ending.freedApprovalId !== undefined)
      approvals.free(ending.freedApprovalId, ending.callId);
    return resolved;
  };

  /** What an open call ends with when nobody can tell how it ended. */
  const progressOf = (callId: string): Evidence => {
    if (journal.hasProgress(callId)) journal.post();
    const row = sql.progress.get(callId);
    return row ? evidenceOf(row) : nothingUsed;
  };

  const beginRun = (nowMs: number): Recovery => {
    journal.post();
    standings.forget();
    budgetDays.beginMissing();
    const nextRunId = sql.insertRun.get(nowMs)?.id;
    if (nextRunId === undefined) throw new Error("The store did not number this run.");
    const lostTasks = tasks.recover();
    const ended = endOrphans(nextRunId, nowMs);
    journal.post();
    claims.load();
    unpaidClaims.load();
    claims.forget(nowMs - idempotencyKeptMs, Number.POSITIVE_INFINITY);
    checkHoldsExplained(sql.unexplainedHolds.get());
    runId = nextRunId;
    return recoveryOf(ended, lostTasks);
  };

  /** Ends the calls of earlier runs, unless their tasks are still open. */
  const endOrphans = (nextRunId: bigint, nowMs: number): RecoveredCall[] =>
    sql.orphans.all(nextRunId).map((orphan) => {
      const call = heldCallOf(orphan);
      const { state, ...evidence } = evidenceOf(orphan);
      const resolved = endOpen(call, { ...unseenEnd(call.callId, nowMs), ...evidence }, state);
      return { operationId: call.operationId, heldMicros: call.heldMicros, resolved };
    });

  let markingSoon = false;
  const markSoon = (): void => {
    markingSoon = false;
    const marks = dispatchMarks.all();
    if (marks.length > 0) commits.ride(() => markAll(marks));
  };

  /** Repeatable: when the transaction is rolled back for somebody else's fault, the same marks ride again. */
  const markAll = (marks: ReturnType<DispatchMarks["all"]>): void => {
    for (const [callId, atMs] of marks) {
      // The ends of calls that have ended meanwhile said when they were sent.
      if (dispatchMarks.find(callId) === undefined) continue;
      const call = openCall(callId);
      if (call) journal.dispatch(call, atMs);
      dispatchMarks.drop(callId);
    }
  };

  const openCall = (callId: string): HeldCall | undefined => {
    const open = openCalls.get(callId);
    if (open) return open;
    journal.post();
    const row = sql.findCall.get(callId);
    return row && row.state !== "settled" && row.state !== "released" ? heldCallOf(row) : undefined;
  };

  const noteProgress = (callId: string, used: Quantities): void => {
    const call = openCall(callId);
    if (call) journal.progress(call, used);
  };

  return {
    recordPrices: (prices) =>
      commits.run(() => {
        for (const { operationId, model, terms } of prices) {
          sql.insertPrice.run(terms.version, operationId, model ?? null, pricesAsText(terms));
        }
      }),
    hold: (request) => {
      const why = whyNoNewCalls();
      return why === undefined ? commits.runWith(request, hold) : Promise.reject(why);
    },
    wouldHold: (request) => commits.run(() => whyNotHeld(request) ?? heldResult),
    findEarlier: (accountId, claim, nowMs) =>
      books.read(() => earlierCalls.findPosted(accountId, claim, nowMs)),
    markDispatched: (callId, atMs) => {
      dispatchMarks.note(callId, atMs);
      if (markingSoon) return;
      markingSoon = true;
      setTimeout(markSoon, markAfterMs).unref();
    },
    noteProgress: (callId, used) => commits.ride(() => noteProgress(callId, used)),
    settle: (settlement) => commits.runWith(settlement, settle, endingPatienceMs),
    release: (ending) => commits.runWith(ending, release, endingPatienceMs),
    beginRun: (nowMs) => commits.run(() => beginRun(nowMs)),
  };
}

/** Most calls end sooner, and their end says when they were sent: no line is written for that alone. */
const markAfterMs = 100;

const earlier = (call: CallRow): Resolved =>
  endedBefore({
    state: call.state,
    chargedMicros: call.charged_micros,
    valueMicros: call.value_micros,
    writtenOffMicros: call.written_off_micros,
  });

// What becomes of the commands of a batch, in the order in which they came. Nothing is read or written here.

import type { HoldRequest, HoldResult, Release, Resolved } from "../../../ledger/ledger.ts";
import { createWhyNotHeld } from "../../../ledger/why-not-held.ts";
import type { Quantities } from "../../../prices/quantities.ts";
import type { Terms } from "../../../prices/terms.ts";
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
  type Figures,
} from "../../call-ends.ts";
import type { HeldCall } from "../../held-call.ts";
import { createSums } from "../../sums.ts";
import { callIdOf, type Decided, type LedgerCommand } from "./ledger-command.ts";
import type { CallFacts, LedgerFacts } from "./ledger-facts.ts";
import type { Changes } from "./ledger-rows.ts";

/** Notes that nobody waits for. */
interface Notes {
  readonly dispatched: ReadonlyMap<string, number>;
  readonly progress: ReadonlyMap<string, Quantities>;
}

/** What is to be decided together. */
export interface Batch {
  /** Undefined in a process that does not serve: it may end calls, and hold none. */
  readonly runId: bigint | undefined;
  readonly commands: readonly LedgerCommand[];
  /** The calls whose commands are given again, because a commit that had them broke off. */
  readonly inDoubt: ReadonlySet<string>;
  readonly notes: Notes;
  /** When calls that now end were sent, as far as this process knows. */
  readonly dispatchedAtMs: (callId: string) => number | undefined;
  /** Keys and prices known to exist; grows as batches read more. */
  readonly known: Postable;
}

/**
 * What the row of a hold refers to besides its account, its run and its grant, which every batch reads anyway. These rows are
 * never removed, so one that was seen need not be read again. A hold that refers to a missing one fails alone.
 */
export interface Postable {
  readonly keys: Map<string, KnownKey>;
  readonly priceVersions: Set<string>;
}

export interface KnownKey {
  /** From its first budget on, and for ever. */
  readonly countsDays: boolean;
  /** How many keys of its account counted their days when this one was read. If there are more now, this may be one of them. */
  readonly budgetsBegun: bigint;
}

/**
 * Decides each command by what is known and by what became of those before it. `doubtful` are the calls that are to be
 * released, are not there, and may still come about.
 */
export function decideCommands(
  batch: Batch,
  facts: LedgerFacts,
  doubtful: ReadonlySet<string>,
): { readonly decided: readonly Decided[]; readonly changes: Changes } {
  const whyNotHeld = createWhyNotHeld(facts);
  const sums = createSums();
  const figures: Figures = {
    knowsKey: (keyId) => batch.known.keys.has(keyId),
    countsDays: (keyId) => batch.known.keys.get(keyId)?.countsDays === true,
    knowsPrices: (version) => batch.known.priceVersions.has(version),
    account: facts.account,
    move: (call, by) => {
      facts.move(call, by);
      sums.addHeld(call, by.heldMicros);
    },
  };
  const changes: Changes = {
    sums,
    held: [],
    ended: [],
    claimed: [],
    freed: [],
    tasksOpened: [],
    tasksEnded: [],
    approvalsFreed: [],
    approvalsUsed: [],
    dispatched: batch.notes.dispatched,
    progress: batch.notes.progress,
  };
  for (const [callId, used] of batch.notes.progress) {
    const call = facts.calls.get(callId);
    if (call) call.progress = JSON.stringify(used);
  }

  const hold = (request: HoldRequest): HoldResult => {
    const runId = begunRun(batch.runId);
    checkAmount(request);
    const before = facts.calls.get(request.callId);
    if (before) return heldBefore(before, runId);
    const refusal = whyNotHeld(request);
    if (refusal) return refusal;
    const call = takeHold(request, runId, figures);
    facts.calls.set(call.callId, heldNow(call, request.terms));
    changes.held.push(call);
    if (request.idempotency) {
      facts.claim(call, request.idempotency);
      changes.claimed.push({ call, claim: request.idempotency });
    }
    if (request.task) {
      facts.openTask(call.keyId);
      changes.tasksOpened.push({ task: request.task, call });
    }
    if (request.approval) {
      const { id, digest } = request.approval;
      changes.approvalsUsed.push({
        id,
        position: facts.useApproval(id, digest, call.callId),
        callId: call.callId,
      });
    }
    return heldResult;
  };

  const end = (ending: Ending, state: EndState): Resolved => {
    const call = callToEnd(facts.calls.get(ending.callId), ending.callId);
    if (call.settledAtMs !== undefined)
      return isGivenAgain(call, ending) ? endedNow(call) : endedBefore(call);
    const task = ending.task && facts.tasks.get(ending.task.taskId);
    // Whoever lost the claim on the task saw something that may be old: another one ends it, or has.
    if (ending.task && (!task || task.isEnded || task.fence !== ending.task.fence)) return endedBefore(call);
    const resolved = endOpen(call, ending, state);
    if (ending.task && task) {
      task.isEnded = true;
      changes.tasksEnded.push({ ...ending.task, endedAtMs: ending.settledAtMs });
    }
    return resolved;
  };

  /** The end that stands is the one that is given again. Whoever gives it has not counted yet what it charged. */
  const isGivenAgain = ({ held, settledAtMs, outcome }: CallFacts, ending: Ending): boolean =>
    batch.inDoubt.has(held.callId) && settledAtMs === ending.settledAtMs && outcome === ending.outcome;

  const endOpen = (call: CallFacts, ending: Ending, state: EndState): Resolved => {
    const { held } = call;
    const callEnd = endHold(held, ending, state, batch.dispatchedAtMs(held.callId), figures);
    sums.addEnd(held, callEnd);
    changes.ended.push({ callId: held.callId, end: callEnd });
    if (callEnd.freedKeyHash) freeKey(held, callEnd.freedKeyHash);
    call.state = callEnd.state;
    call.outcome = callEnd.outcome;
    call.valueMicros = callEnd.valueMicros;
    call.chargedMicros = callEnd.chargedMicros;
    call.writtenOffMicros = callEnd.writtenOffMicros;
    call.settledAtMs = callEnd.settledAtMs;
    return endedNow(callEnd);
  };

  const release = (ending: Release): Resolved => {
    const call = facts.calls.get(ending.callId);
    // A hold that was never made needs no release. Whoever is in doubt about it may ask for one.
    if (!call) return neverHeld;
    const { state, ...evidence } = ending.outcome === "unknown" ? evidenceOf(call) : nothingUsed;
    const resolved = end({ ...evidence, ...ending }, state);
    if (resolved.first && ending.abandonsTask) abandonTask(ending);
    // Another process that took this one for dead could not tell whether the call was sent. This one can.
    const isUnknown = call.state === "released" && call.outcome === "unknown";
    if (!resolved.first && isUnknown && ending.freed) freeKey(call.held, ending.freed.keyHash);
    if ((resolved.first || isUnknown) && ending.freedApprovalId !== undefined)
      freeApproval(ending.freedApprovalId, ending.callId);
    return resolved;
  };

  const freeKey = (call: HeldCall, keyHash: Uint8Array): void => {
    facts.unclaim(call, keyHash);
    changes.freed.push({ call, keyHash });
  };

  const freeApproval = (id: string, callId: string): void => {
    facts.freeApproval(id, callId);
    changes.approvalsFreed.push({ id, callId });
  };

  /** Ends a task whose creation was never sent. Only its sender knows that, so it does not matter what others took it for. */
  const abandonTask = ({ callId, settledAtMs }: Release): void => {
    for (const [taskId, task] of facts.tasks) {
      if (task.callId !== callId || !task.isUnheardOf || task.isEnded) continue;
      task.isEnded = true;
      changes.tasksEnded.push({
        taskId,
        state: "REFUSED",
        report: undefined,
        fence: task.fence,
        endedAtMs: settledAtMs,
        forgetAtMs: settledAtMs,
      });
    }
  };

  const mustWait = (command: LedgerCommand): boolean => {
    const callId = callIdOf(command);
    if (doubtful.has(callId)) return true;
    const accountId =
      command.kind === "hold" ? command.request.accountId : facts.calls.get(callId)?.held.accountId;
    return accountId !== undefined && facts.isElsewhere(accountId);
  };

  const decide = (command: LedgerCommand): HoldResult | Resolved => {
    if (command.kind === "hold") return hold(command.request);
    if (command.kind === "settle") return end(command.settlement, "settled");
    return release(command.release);
  };

  const decided = batch.commands.map((command): Decided => {
    if (mustWait(command)) return { postponed: true };
    try {
      return { result: decide(command) };
    } catch (failure) {
      return { failure };
    }
  });
  return { decided, changes };
}

/**
 * Whoever asks again is told the same again. Not so when the run has ended under which it was held: somebody took this
 * process for dead and has released the call, or is about to, so nothing may be sent for it.
 */
function heldBefore({ held: { callId, runId } }: CallFacts, currentRunId: bigint): HoldResult {
  if (runId !== currentRunId) throw new Error(`The call ${callId} was held by a run that has ended.`);
  return heldResult;
}

const heldNow = (held: CallFacts["held"], terms: Terms): CallFacts => ({
  held,
  state: "held",
  outcome: undefined,
  valueMicros: 0n,
  chargedMicros: 0n,
  writtenOffMicros: 0n,
  settledAtMs: undefined,
  progress: null,
  unit_prices: pricesAsText(terms),
});

import type { HoldRequest, HoldResult, Release, Resolved, Settlement } from "../../ledger/ledger.ts";
import { createWhyNotHeld } from "../../ledger/why-not-held.ts";
import type { Quantities } from "../../prices/quantities.ts";
import type { Terms } from "../../prices/terms.ts";
import {
  callEndOf,
  chargeTo,
  checkEnding,
  checkPostable,
  evidenceOf,
  heldCallFor,
  neverHeld,
  nothingUsed,
  pricesAsText,
  type EndState,
  type Ending,
} from "../call-ends.ts";
import { createSums } from "../sums.ts";
import type { Decision, Query } from "./database.ts";
import { readFacts, type CallFacts, type LedgerFacts } from "./ledger-facts.ts";
import { writesOf, type Changes } from "./ledger-rows.ts";

/** One thing that somebody wants of the ledger. */
export type Wish =
  | { readonly kind: "hold"; readonly request: HoldRequest }
  | { readonly kind: "settle"; readonly settlement: Settlement }
  | { readonly kind: "release"; readonly release: Release };

/**
 * What came of it. A wish that fails leaves no trace, and the others stand. One that is postponed would have had to wait
 * for somebody else, and all others with it.
 */
export type Granted =
  | { readonly result: HoldResult | Resolved }
  | { readonly failure: unknown }
  | { readonly postponed: true };

/** Notes that nobody waits for. */
interface Notes {
  readonly sent: ReadonlyMap<string, number>;
  readonly progress: ReadonlyMap<string, Quantities>;
}

export interface Batch {
  /** Undefined in a process that does not serve: it may end calls, and hold none. */
  readonly runId: bigint | undefined;
  readonly wishes: readonly Wish[];
  readonly notes: Notes;
  /** When calls that now end were sent, as far as this process knows. */
  readonly sentAtMs: (callId: string) => number | undefined;
  /** The account of a call that this process holds, so that it need not be looked for. */
  readonly accountOf: (callId: string) => string | undefined;
  /** What holds may refer to; grows. */
  readonly known: Postable;
  readonly locking: Locking;
}

/** Whether accounts that somebody else has are waited for. What is wished of those that are not is postponed. */
export type Locking = "wait" | "wait briefly" | "skip";

/** Longer than the usual turns of all nodes, and short enough for whoever comes next. */
const briefLockMs = 200;

/** Something that was looked for came while it was looked for: everything is to be looked at again. */
export class CameLater extends Error {}

/** The run under which calls are held has been ended by another process, which took this one for dead. */
export class RunEnded extends Error {
  readonly runId: bigint;

  constructor(runId: bigint) {
    super(`The run ${runId} was ended by another process.`);
    this.runId = runId;
  }
}

/**
 * Decides many wishes in one transaction. Everything a wish is decided by is locked by way of its account, so all of them
 * are decided here, in the order they came, and written together.
 */
export async function decideBatch(query: Query, batch: Batch): Promise<Decision<readonly Granted[]>> {
  const { wishes, locking } = batch;
  if (locking === "wait briefly") await query(`SET LOCAL lock_timeout = ${briefLockMs}`);
  const callIds = unique(wishes.map(callIdOf));
  const strangers = wishes.filter((wish) => accountIn(wish, batch) === undefined).map(callIdOf);
  const accountsElsewhere = strangers.length > 0 ? await findAccounts(query, strangers) : [];
  const accountsHere = wishes.flatMap((wish) => accountIn(wish, batch) ?? []);
  const holds = wishes.flatMap((wish) => (wish.kind === "hold" ? wish.request : []));
  const wanted = {
    accountIds: unique([...accountsHere, ...accountsElsewhere]),
    callIds,
    holds,
    taskIds: wishes.flatMap((wish) => taskEndOf(wish)?.taskId ?? []),
    taskCallIds: wishes.flatMap((wish) =>
      wish.kind === "release" && wish.release.abandonsTask === true ? wish.release.callId : [],
    ),
  };
  const [, facts] = await Promise.all([
    batch.runId === undefined ? undefined : lockRun(query, batch.runId),
    readFacts(query, wanted, { lock: locking === "skip" ? "skip" : "wait" }),
    learnPostable(query, holds, batch.known),
  ]);
  // A hold whose commit had broken off may have come since its account was looked for, and then nobody has locked that.
  for (const callId of strangers) {
    const call = facts.calls.get(callId);
    if (call && !wanted.accountIds.includes(call.held.accountId)) throw new CameLater();
  }
  const doubtful = await findDoubtful(query, batch, facts);
  const { granted, changes } = decide(batch, facts, doubtful);
  return { result: granted, writes: writesOf(changes) };
}

/** Shared with other batches of the run, and in the way of whoever ends it; not in that of its signs of life. */
async function lockRun(query: Query, runId: bigint): Promise<void> {
  const [run] = await query<{ ended: boolean }>(
    "SELECT ended_at_ms IS NOT NULL AS ended FROM run WHERE id = $1 FOR KEY SHARE",
    [runId],
  );
  if (run?.ended !== false) throw new RunEnded(runId);
}

/**
 * Calls to be released that are not there, and may still come: a hold whose commit broke off can be on its way in a
 * session that has not heard of it. It has a share of the run; whoever has all of it knows that nothing is on its way.
 */
async function findDoubtful(
  query: Query,
  { wishes, runId }: Batch,
  facts: LedgerFacts,
): Promise<ReadonlySet<string>> {
  const missing = wishes
    .filter((wish) => wish.kind === "release" && !facts.calls.has(callIdOf(wish)))
    .map(callIdOf);
  if (missing.length === 0 || runId === undefined) return new Set();
  const whole = await query("SELECT id FROM run WHERE id = $1 FOR UPDATE SKIP LOCKED", [runId]);
  if (whole.length === 0) return new Set(missing);
  if ((await findAccounts(query, missing)).length > 0) throw new CameLater();
  return new Set();
}

/**
 * What the row of a hold refers to besides its account, its run and its grant, which are looked at anyway. No row of these is
 * ever removed, so whoever has seen one need not look again; one that is missing fails its wish alone, and not the batch.
 */
export interface Postable {
  readonly keyIds: Set<string>;
  readonly priceVersions: Set<string>;
}

function decide(
  batch: Batch,
  facts: LedgerFacts,
  doubtful: ReadonlySet<string>,
): { readonly granted: readonly Granted[]; readonly changes: Changes } {
  const whyNotHeld = createWhyNotHeld(facts);
  const books = {
    knowsKey: (keyId: string) => batch.known.keyIds.has(keyId),
    knowsPrices: (version: string) => batch.known.priceVersions.has(version),
  };
  const sums = createSums();
  const changes: Changes = {
    sums,
    held: [],
    ended: [],
    claimed: [],
    freed: [],
    tasksOpened: [],
    tasksEnded: [],
    approvalsUsed: [],
    sent: batch.notes.sent,
    progress: batch.notes.progress,
  };
  for (const [callId, used] of batch.notes.progress) {
    const call = facts.calls.get(callId);
    if (call) call.progress = JSON.stringify(used);
  }

  const hold = (request: HoldRequest): HoldResult => {
    if (batch.runId === undefined) throw new Error("Nothing can be held before the run has begun.");
    if (request.amountMicros < 0n) throw new Error("A hold cannot be negative.");
    const before = facts.calls.get(request.callId);
    if (before) return heldBefore(before, batch.runId);
    const refusal = whyNotHeld(request);
    if (refusal) return refusal;
    checkPostable(request, books);
    const call = heldCallFor(request, batch.runId);
    facts.move(call, { spentMicros: 0n, heldMicros: call.heldMicros });
    sums.addHeld(call, call.heldMicros);
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
    return isHeld;
  };

  const end = (ending: Ending, state: EndState): Resolved => {
    const call = facts.calls.get(ending.callId);
    if (!call) throw new Error(`There is no call ${ending.callId} to resolve.`);
    if (call.settledAtMs !== undefined) return earlier(call);
    const task = ending.task && facts.tasks.get(ending.task.taskId);
    // Whoever lost the claim on the task saw something that may be old: another one ends it, or has.
    if (ending.task && (!task || task.isEnded || task.fence !== ending.task.fence)) return earlier(call);
    checkEnding(ending);
    const resolved = endOpen(call, ending, state);
    if (ending.task && task) {
      task.isEnded = true;
      changes.tasksEnded.push({ ...ending.task, endedAtMs: ending.settledAtMs });
    }
    return resolved;
  };

  const endOpen = (call: CallFacts, ending: Ending, state: EndState): Resolved => {
    const { held } = call;
    const account = facts.account(held.accountId);
    if (!account) throw new Error(`There is no account ${held.accountId} to charge.`);
    const charge = chargeTo(account, held, ending);
    const callEnd = callEndOf(ending, state, charge, batch.sentAtMs(held.callId));
    facts.move(held, { spentMicros: charge.chargedMicros, heldMicros: -held.heldMicros });
    sums.addHeld(held, -held.heldMicros);
    sums.addEnd(held, callEnd);
    changes.ended.push({ callId: held.callId, end: callEnd });
    if (callEnd.freedKeyHash) {
      facts.unclaim(held, callEnd.freedKeyHash);
      changes.freed.push({ call: held, keyHash: callEnd.freedKeyHash });
    }
    call.state = state;
    call.outcome = ending.outcome;
    call.valueMicros = charge.valueMicros;
    call.chargedMicros = charge.chargedMicros;
    call.writtenOffMicros = charge.writtenOffMicros;
    call.settledAtMs = ending.settledAtMs;
    return { ...earlier(call), first: true };
  };

  const release = (ending: Release): Resolved => {
    const call = facts.calls.get(ending.callId);
    // A hold that never came about needs no release; whoever doubts it may ask.
    if (!call) return neverHeld;
    const { state, ...evidence } = ending.outcome === "unknown" ? evidenceOf(call) : nothingUsed;
    const resolved = end({ ...evidence, ...ending }, state);
    if (resolved.first && ending.abandonsTask) abandonTask(ending);
    return resolved;
  };

  /** Ends a task whose creation never left; only who had it to send knows that, whatever others took it for meanwhile. */
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

  const mustWait = (wish: Wish): boolean => {
    const callId = callIdOf(wish);
    if (doubtful.has(callId)) return true;
    const accountId = wish.kind === "hold" ? wish.request.accountId : facts.calls.get(callId)?.held.accountId;
    return accountId !== undefined && facts.isElsewhere(accountId);
  };

  const grant = (wish: Wish): HoldResult | Resolved => {
    if (wish.kind === "hold") return hold(wish.request);
    if (wish.kind === "settle") return end(wish.settlement, "settled");
    return release(wish.release);
  };

  const granted = batch.wishes.map((wish): Granted => {
    if (mustWait(wish)) return { postponed: true };
    try {
      return { result: grant(wish) };
    } catch (failure) {
      return { failure };
    }
  });
  return { granted, changes };
}

const isHeld: HoldResult = { kind: "held" };

/**
 * Whoever asks again is told the same again. Not so when the run has ended under which it was held: somebody took this
 * process for dead and has released the call, or is about to, so nothing may be sent for it.
 */
function heldBefore({ held: { callId, runId } }: CallFacts, currentRunId: bigint): HoldResult {
  if (runId !== currentRunId) throw new Error(`The call ${callId} was held by a run that has ended.`);
  return isHeld;
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

const earlier = (call: CallFacts): Resolved => ({
  first: false,
  state: call.state,
  chargedMicros: call.chargedMicros,
  valueMicros: call.valueMicros,
  writtenOffMicros: call.writtenOffMicros,
});

async function learnPostable(
  query: Query,
  holds: readonly HoldRequest[],
  { keyIds, priceVersions }: Postable,
): Promise<void> {
  // Before anything is looked for: whoever of this batch is forgotten is looked at again.
  for (const known of [keyIds, priceVersions]) if (known.size > knownMax) known.clear();
  const keys = unique(holds.map(({ keyId }) => keyId)).filter((id) => !keyIds.has(id));
  const prices = unique(holds.map(({ terms }) => terms.version)).filter(
    (version) => !priceVersions.has(version),
  );
  await Promise.all([
    learn(query, "SELECT id AS name FROM key WHERE id = ANY($1::text[])", keys, keyIds),
    learn(query, "SELECT version AS name FROM price WHERE version = ANY($1::text[])", prices, priceVersions),
  ]);
}

async function learn(
  query: Query,
  text: string,
  wanted: readonly string[],
  known: Set<string>,
): Promise<void> {
  if (wanted.length === 0) return;
  const found = await query<{ name: string }>(text, [wanted]);
  for (const { name } of found) known.add(name);
}

/** A few megabytes. */
const knownMax = 50_000;

async function findAccounts(query: Query, callIds: readonly string[]): Promise<readonly string[]> {
  const rows = await query<{ account_id: string }>(
    "SELECT DISTINCT account_id FROM call WHERE id = ANY($1::text[])",
    [unique(callIds)],
  );
  return rows.map((row) => row.account_id);
}

export const callIdOf = (wish: Wish): string =>
  wish.kind === "hold"
    ? wish.request.callId
    : wish.kind === "settle"
      ? wish.settlement.callId
      : wish.release.callId;

const taskEndOf = (wish: Wish) =>
  wish.kind === "hold" ? undefined : wish.kind === "settle" ? wish.settlement.task : wish.release.task;

const accountIn = (wish: Wish, batch: Batch): string | undefined =>
  wish.kind === "hold" ? wish.request.accountId : batch.accountOf(callIdOf(wish));

const unique = (names: readonly string[]): string[] => [...new Set(names)];

// How holds become calls and calls end, whatever the store: what is written, and what is refused to be written.

import type { CallOutcome } from "../ledger/call-record.ts";
import { chargeFor, type Charge } from "../ledger/charge.ts";
import type { HoldRequest, HoldResult, Release, Resolved, Settlement } from "../ledger/ledger.ts";
import type { BoundStanding } from "../ledger/why-not-held.ts";
import type { Quantities } from "../prices/quantities.ts";
import { valuePico, type Terms } from "../prices/terms.ts";
import type { CallEnd, HeldCall } from "./held-call.ts";
import { unitPricesOf } from "./call-record-rows.ts";
import { dayStartMs } from "./sums.ts";

/** An end as it is asked for, before the ledger says what it costs. */
export interface Ending extends Omit<Settlement, "outcome"> {
  readonly outcome: CallOutcome;
  readonly freed?: Release["freed"];
}

export type EndState = CallEnd["state"];

/** The figures that guard every bound, as a store has them at hand while it decides, and what holds refer to. */
export interface Figures extends Referable {
  readonly account: (accountId: string) => CarryingAccount | undefined;
  /** Moves every figure in which the call counts. */
  readonly move: (call: HeldCall, by: BoundStanding) => void;
}

/** What the row of a hold refers to, as far as the books have it. */
interface Referable {
  readonly knowsKey: (keyId: string) => boolean;
  /** Whether the key has, or had, a budget. Only the books know: whoever calls may have been let in before it had one. */
  readonly countsDays: (keyId: string) => boolean;
  readonly knowsPrices: (version: string) => boolean;
}

interface CarryingAccount {
  chargeCarryAtto: bigint;
  valueCarryPico: bigint;
}

/** Sets aside the most that a call can cost. Whether that is possible was checked before. */
export function takeHold(request: HoldRequest, runId: bigint, figures: Figures): HeldCall {
  checkPostable(request, figures);
  const call = heldCallFor(request, runId, figures);
  figures.move(call, { spentMicros: 0n, heldMicros: call.heldMicros });
  return call;
}

/** Gives back what was set aside for a call, and charges what it cost. */
export function endHold(
  call: HeldCall,
  ending: Ending,
  state: EndState,
  dispatchedAtMs: number | undefined,
  figures: Figures,
): CallEnd {
  checkEnding(ending);
  const charge = chargeTo(accountToCharge(figures.account(call.accountId), call.accountId), call, ending);
  figures.move(call, { spentMicros: charge.chargedMicros, heldMicros: -call.heldMicros });
  return callEndOf(ending, state, charge, dispatchedAtMs);
}

export interface Evidence extends Pick<Ending, "used" | "usageSource" | "valuePico"> {
  readonly state: EndState;
}

export const nothingUsed: Evidence = { state: "released", used: {}, usageSource: "none", valuePico: 0n };

/**
 * What a call is charged by when nobody saw its end. A stream costs what it had delivered when that was last noted. Any other
 * call may have been sent, whatever its row says; but its caller never got an answer, and without an answer there is no
 * evidence to charge by: the hold goes back and the operator bears the doubt.
 */
export function evidenceOf({ progress, unit_prices: unitPrices }: ProgressRow): Evidence {
  if (progress === null) return nothingUsed;
  // Written by this ledger, from the type it is read back into.
  const used = JSON.parse(progress) as Quantities;
  const terms = { version: "", unitPricesPico: unitPricesOf(unitPrices) };
  return { state: "settled", used, usageSource: "estimated", valuePico: valuePico(used, terms) };
}

/** What a call had delivered when that was last noted, and the prices it was held under. */
export interface ProgressRow {
  readonly progress: string | null;
  readonly unit_prices: string;
}

export const heldResult: HoldResult = { kind: "held" };

type EndFigures = Omit<Resolved, "first">;

/** Told to whoever ends the call. */
export const endedNow = (end: EndFigures): Resolved => resolvedOf(true, end);

/** Told to whoever wants to end a call that has ended already. */
export const endedBefore = (end: EndFigures): Resolved => resolvedOf(false, end);

const resolvedOf = (
  first: boolean,
  { state, chargedMicros, valueMicros, writtenOffMicros }: EndFigures,
): Resolved => ({ first, state, chargedMicros, valueMicros, writtenOffMicros });

/** What releasing a call that was never held is answered with. */
export const neverHeld = endedBefore({
  state: "released",
  chargedMicros: 0n,
  valueMicros: 0n,
  writtenOffMicros: 0n,
});

/** The run that a new call belongs to, and without which nothing is held. */
export function begunRun(runId: bigint | undefined): bigint {
  if (runId === undefined) throw noRunBegun();
  return runId;
}

export const noRunBegun = (): Error => new Error("Nothing can be held before the run has begun.");

export function checkAmount({ amountMicros }: HoldRequest): void {
  if (amountMicros < 0n) throw new Error("A hold cannot be negative.");
}

export function callToEnd<Call>(call: Call | null | undefined, callId: string): Call {
  if (!call) throw new Error(`There is no call ${callId} to resolve.`);
  return call;
}

export function accountToCharge<Account>(account: Account | undefined, accountId: string): Account {
  if (!account) throw new Error(`There is no account ${accountId} to charge.`);
  return account;
}

/** More than any call is worth, and little enough that the sums of a day's calls have room in the books. */
const valueMaxPico = 10n ** 21n;

function checkEnding({ valuePico: value, used, settledAtMs }: Ending): void {
  if (value < 0n || value > valueMaxPico) throw new Error(`A call cannot be worth ${value} pico-USD.`);
  for (const unit in used) checkWhole(used[unit] ?? 0);
  checkWhole(settledAtMs);
}

function checkWhole(amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0) throw new Error(`${amount} is not a whole amount.`);
}

/** A hold that the books would not take must not be written: it would undo, or hold up, what is written with it. */
function checkPostable({ keyId, terms, multiplierPpm, createdAtMs }: HoldRequest, books: Referable): void {
  if (!books.knowsKey(keyId)) throw new Error(`There is no key ${keyId} to hold for.`);
  if (!books.knowsPrices(terms.version))
    throw new Error(`Nothing is held under the prices ${terms.version}, which were never written down.`);
  if (multiplierPpm < 0n) throw new Error("A multiplier cannot be negative.");
  checkWhole(createdAtMs);
}

const heldCallFor = (request: HoldRequest, runId: bigint, books: Referable): HeldCall => ({
  callId: request.callId,
  accountId: request.accountId,
  keyId: request.keyId,
  operationId: request.operationId,
  model: request.model ?? null,
  heldMicros: request.amountMicros,
  priceVersion: request.terms.version,
  multiplierPpm: request.multiplierPpm,
  budgetDayMs: request.budget || books.countsDays(request.keyId) ? dayStartMs(request.createdAtMs) : null,
  grantId: request.grant?.id ?? null,
  runId,
  createdAtMs: request.createdAtMs,
  claim: request.idempotency,
});

/** What the call costs its account, which carries the rest on to its next one. */
function chargeTo(
  account: CarryingAccount,
  { multiplierPpm, heldMicros }: HeldCall,
  { valuePico: value }: Ending,
): Charge {
  const charge = chargeFor({
    valuePico: value,
    multiplierPpm,
    heldMicros,
    carry: { chargeAtto: account.chargeCarryAtto, valuePico: account.valueCarryPico },
  });
  account.chargeCarryAtto = charge.carry.chargeAtto;
  account.valueCarryPico = charge.carry.valuePico;
  return charge;
}

const callEndOf = (
  ending: Ending,
  state: EndState,
  charge: Charge,
  dispatchedAtMs: number | undefined,
): CallEnd => ({
  state,
  outcome: ending.outcome,
  valueMicros: charge.valueMicros,
  chargedMicros: charge.chargedMicros,
  writtenOffMicros: charge.writtenOffMicros,
  carry: charge.carry,
  used: ending.used,
  usageSource: ending.usageSource,
  httpStatus: ending.httpStatus ?? null,
  attempts: ending.attempts,
  dispatchedAtMs: dispatchedAtMs ?? null,
  settledAtMs: ending.settledAtMs,
  freedKeyHash: ending.freed?.keyHash,
});

export const pricesAsText = (terms: Terms): string =>
  JSON.stringify(
    Object.fromEntries(Object.entries(terms.unitPricesPico).map(([unit, pico]) => [unit, `${pico}`])),
  );

import type { Database } from "bun:sqlite";
import { budgetSpan, type BudgetSpan } from "../../../keys/budget-window.ts";
import type { BoundStanding } from "../../../ledger/why-not-held.ts";
import type { Micros } from "../../../platform/money.ts";
import { sumBudget } from "../budget-rows.ts";
import { accountToCharge } from "../../call-ends.ts";
import type { HeldCall } from "../../held-call.ts";
import { dayStartMs } from "../../sums.ts";

/** Where an account stands, unposted lines included. */
interface AccountStanding {
  readonly suspended: boolean;
  postedMicros: Micros;
  heldMicros: Micros;
  chargeCarryAtto: bigint;
  valueCarryPico: bigint;
}

interface WindowStanding extends BoundStanding, BudgetSpan {}

/**
 * The figures that decide whether a call may begin, of the accounts that call now. They are read from the books when they
 * are first asked for, and from then on changed together with the journal: an account that has unposted lines is here.
 * Whoever else writes to the books makes all of them be forgotten.
 */
export interface Standings {
  /** Undefined when nobody has opened it. */
  readonly account: (accountId: string) => AccountStanding | undefined;
  readonly budget: (keyId: string, span: BudgetSpan) => BoundStanding;
  readonly grantDay: (grantId: string, dayStartMs: number) => BoundStanding;
  /**
   * Moves every figure in which the call counts: its account's, those of the windows of its key's budget that contain its
   * day, and those of its grant's day.
   */
  readonly move: (call: HeldCall, by: BoundStanding) => void;
  readonly knowsKey: (keyId: string) => boolean;
  readonly countsDays: (keyId: string) => boolean;
  readonly knowsPrices: (version: string) => boolean;
  /** Only when everything is posted. */
  readonly forget: () => void;
  readonly forgetWhenMany: () => void;
}

/** What is kept in memory is bounded; reading it again costs little. */
const standingsMax = 10_000;

/** `post` brings the books up to date. It is needed when figures of unposted lines are asked for by another window. */
export function createStandings(db: Database, post: () => void): Standings {
  const sql = prepare(db);
  const accounts = new Map<string, AccountStanding>();
  /** A key that has unposted lines has a window here. */
  const budgets = new Map<string, WindowStanding[]>();
  const grantDays = new Map<string, Map<number, BoundStanding>>();
  /** Windows and days of all of them together: whoever calls every day has a new one every day. */
  let spans = 0;
  /** Keys and prices that are in the books, which they never leave; and of keys, whether they count their days. */
  const keys = new Map<string, boolean>();
  const prices = new Set<string>();

  const countsDays = (keyId: string): boolean | undefined => {
    const known = keys.get(keyId);
    if (known !== undefined) return known;
    const row = sql.key.get(keyId);
    if (!row) return undefined;
    keys.set(keyId, row.counts_days === 1n);
    return row.counts_days === 1n;
  };

  const knowsPrices = (version: string): boolean => {
    if (prices.has(version)) return true;
    if (sql.prices.get(version) === null) return false;
    prices.add(version);
    return true;
  };

  const budget = (keyId: string, { startMs, endMs }: BudgetSpan): BoundStanding => {
    let windows = budgets.get(keyId);
    for (const known of windows ?? []) if (known.startMs === startMs && known.endMs === endMs) return known;
    // What is not posted is in the figures of the key's other windows, and would be missing in those of this one.
    if (windows) post();
    else budgets.set(keyId, (windows = []));
    const standing = { startMs, endMs, ...standingOf(sql.budget.get(keyId, startMs, endMs)) };
    windows.push(standing);
    spans++;
    return standing;
  };

  const account: Standings["account"] = (accountId) => {
    const found = accounts.get(accountId);
    if (found) return found;
    const row = sql.account.get(accountId);
    if (!row) return undefined;
    const standing = {
      suspended: row.suspended === 1n,
      postedMicros: row.posted_micros,
      heldMicros: row.held_micros,
      chargeCarryAtto: row.charge_carry_atto,
      valueCarryPico: row.value_carry_pico,
    };
    accounts.set(accountId, standing);
    return standing;
  };

  const move: Standings["move"] = ({ accountId, keyId, budgetDayMs, grantId, createdAtMs }, by) => {
    const standing = accountToCharge(account(accountId), accountId);
    standing.postedMicros -= by.spentMicros;
    standing.heldMicros += by.heldMicros;
    if (budgetDayMs !== null) {
      if (!budgets.has(keyId)) budget(keyId, budgetSpan("day", budgetDayMs));
      for (const window of budgets.get(keyId) ?? []) {
        if (window.startMs <= budgetDayMs && budgetDayMs < window.endMs) moveBound(window, by);
      }
    }
    if (grantId !== null) moveBound(grantDay(grantId, dayStartMs(createdAtMs)), by);
  };

  const grantDay = (grantId: string, startMs: number): BoundStanding => {
    let days = grantDays.get(grantId);
    if (!days) grantDays.set(grantId, (days = new Map<number, BoundStanding>()));
    const known = days.get(startMs);
    if (known) return known;
    const standing = standingOf(sql.grantDay.get(grantId, startMs));
    days.set(startMs, standing);
    spans++;
    return standing;
  };

  const forget = (): void => {
    accounts.clear();
    budgets.clear();
    grantDays.clear();
    spans = 0;
    keys.clear();
    prices.clear();
  };

  return {
    account,
    budget,
    grantDay,
    move,
    knowsKey: (keyId) => countsDays(keyId) !== undefined,
    countsDays: (keyId) => countsDays(keyId) === true,
    knowsPrices,
    forget,
    forgetWhenMany: () => {
      const size = accounts.size + spans + keys.size + prices.size;
      if (size > standingsMax) forget();
    },
  };
}

function moveBound(bound: BoundStanding, { spentMicros, heldMicros }: BoundStanding): void {
  bound.spentMicros += spentMicros;
  bound.heldMicros += heldMicros;
}

interface BoundRow {
  spent_micros: bigint;
  held_micros: bigint;
}

const standingOf = (row: BoundRow | null): BoundStanding => ({
  spentMicros: row?.spent_micros ?? 0n,
  heldMicros: row?.held_micros ?? 0n,
});

function prepare(db: Database) {
  return {
    key: db.query<{ counts_days: bigint }, [string]>("SELECT counts_days FROM key WHERE id = ?1"),
    prices: db.query<{ version: string }, [string]>("SELECT version FROM price WHERE version = ?1"),
    account: db.query<
      {
        suspended: bigint;
        posted_micros: bigint;
        held_micros: bigint;
        charge_carry_atto: bigint;
        value_carry_pico: bigint;
      },
      [string]
    >(
      "SELECT suspended, posted_micros, held_micros, charge_carry_atto, value_carry_pico FROM account WHERE id = ?1",
    ),
    budget: db.query<BoundRow, [string, number, number]>(sumBudget),
    grantDay: db.query<BoundRow, [string, number]>(
      "SELECT spent_micros, held_micros FROM grant_day WHERE grant_id = ?1 AND start_ms = ?2",
    ),
  };
}

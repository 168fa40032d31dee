// Every settled call is priced again: from its recorded usage and recorded prices, without any stored sum.

import type { Finding } from "../ledger/audit.ts";
import type { Quantities } from "../prices/quantities.ts";
import { termsVersion, valuePico, type Terms } from "../prices/terms.ts";
import { attoPerMicro, picoPerMicro } from "../platform/money.ts";
import { findingsMax } from "./audit-report.ts";
import { unitPricesOf } from "./call-record-rows.ts";

export interface PriceRow {
  readonly version: string;
  readonly operation_id: string;
  readonly model: string | null;
  readonly unit_prices: string;
}

export const priceRows = "SELECT version, operation_id, model, unit_prices FROM price";

interface CheckedPrices {
  readonly terms: ReadonlyMap<string, Terms>;
  readonly findings: readonly Finding[];
}

/** A price version is a digest of its prices; one that does not match was edited afterwards. */
export function checkPrices(rows: readonly PriceRow[]): CheckedPrices {
  const findings: Finding[] = [];
  const terms = new Map<string, Terms>();
  for (const row of rows) {
    const unitPricesPico = readPrices(row.unit_prices);
    if (unitPricesPico) terms.set(row.version, { version: row.version, unitPricesPico });
    const digest = unitPricesPico && termsVersion(row.operation_id, row.model ?? undefined, unitPricesPico);
    if (digest !== row.version) {
      const detail = digest === undefined ? "content cannot be read" : `content says ${digest}`;
      findings.push({ rule: "recorded prices are unchanged", subject: row.version, detail });
    }
  }
  return { terms, findings };
}

/** Undefined for a text that no program of ours wrote. */
function readPrices(text: string): Record<string, bigint> | undefined {
  try {
    return unitPricesOf(text);
  } catch {
    return undefined;
  }
}

export interface SettledCall {
  readonly id: string;
  readonly account_id: string;
  /** JSON, whatever else it may be. */
  readonly used: string;
  readonly price_version: string;
  readonly multiplier_ppm: bigint;
  readonly due_micros: bigint;
  readonly value_micros: bigint;
}

export interface CarryRow {
  readonly id: string;
  readonly charge_carry_atto: bigint;
  readonly value_carry_pico: bigint;
}

interface Total {
  exactAtto: bigint;
  exactPico: bigint;
  dueMicros: bigint;
  valueMicros: bigint;
}

const chargeRule = "charges are usage × recorded prices";
const valueRule = "usage values are usage × recorded prices";

/**
 * Prices every settled call again from its recorded usage: each call is right to within the micro it may
 * carry, and over an account not a fraction of one is missing.
 */
export interface ChargeCheck {
  readonly add: (call: SettledCall) => void;
  /** When all calls were added. */
  readonly findings: (carries: readonly CarryRow[]) => readonly Finding[];
}

export function createChargeCheck(prices: ReadonlyMap<string, Terms>): ChargeCheck {
  const findings: Finding[] = [];
  const totals = new Map<string, Total>();

  const find = (finding: Finding): void => {
    // One more than a report lists says that there are more; millions of them would only fill the memory.
    if (findings.length <= findingsMax) findings.push(finding);
  };

  const totalOf = (accountId: string): Total => {
    let total = totals.get(accountId);
    if (!total)
      totals.set(accountId, (total = { exactAtto: 0n, exactPico: 0n, dueMicros: 0n, valueMicros: 0n }));
    return total;
  };

  return {
    add: (call) => {
      const terms = prices.get(call.price_version);
      const exactPico = terms ? valuePico(readUsed(call.used), terms) : 0n;
      const exactAtto = exactPico * call.multiplier_ppm;
      const total = totalOf(call.account_id);
      total.exactPico += exactPico;
      total.exactAtto += exactAtto;
      total.dueMicros += call.due_micros;
      total.valueMicros += call.value_micros;
      if (!isWithin(call.due_micros * attoPerMicro - exactAtto, attoPerMicro)) {
        const detail = `booked ${call.due_micros} micro-USD, usage × prices is ${exactAtto} atto-USD`;
        find({ rule: chargeRule, subject: call.id, detail });
      }
      if (!isWithin(call.value_micros * picoPerMicro - exactPico, picoPerMicro)) {
        const detail = `reported ${call.value_micros} micro-USD, usage × prices is ${exactPico} pico-USD`;
        find({ rule: valueRule, subject: call.id, detail });
      }
    },
    findings: (carries) => {
      for (const account of carries) {
        const total = totalOf(account.id);
        const bookedAtto = total.dueMicros * attoPerMicro + account.charge_carry_atto;
        const bookedPico = total.valueMicros * picoPerMicro + account.value_carry_pico;
        if (bookedAtto !== total.exactAtto) {
          const detail = `booked ${bookedAtto} atto-USD, usage × prices is ${total.exactAtto}`;
          find({ rule: chargeRule, subject: account.id, detail });
        }
        if (bookedPico !== total.exactPico) {
          const detail = `reported ${bookedPico} pico-USD, usage × prices is ${total.exactPico}`;
          find({ rule: valueRule, subject: account.id, detail });
        }
      }
      return findings;
    },
  };
}

const isWithin = (difference: bigint, bound: bigint): boolean => -bound < difference && difference < bound;

/** Whole amounts only: anything else is a finding already, and no sum can be made of it. */
function readUsed(text: string): Quantities {
  const used: Record<string, number> = {};
  for (const [unit, quantity] of Object.entries((JSON.parse(text) ?? {}) as Record<string, unknown>)) {
    if (typeof quantity === "number" && Number.isSafeInteger(quantity)) used[unit] = quantity;
  }
  return used;
}

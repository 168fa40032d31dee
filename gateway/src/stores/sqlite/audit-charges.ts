// Every settled call is priced again: from its recorded usage and recorded prices, without any stored sum.

import type { Database } from "bun:sqlite";
import type { Finding } from "../../ledger/audit.ts";
import type { Quantities } from "../../prices/quantities.ts";
import { termsVersion, valuePico, type Terms } from "../../prices/terms.ts";
import { attoPerMicro, picoPerMicro } from "../../platform/money.ts";
import { soundUsed } from "./audit-rules.ts";
import { unitPricesOf } from "../call-record-rows.ts";

interface CheckedPrices {
  readonly terms: ReadonlyMap<string, Terms>;
  readonly findings: readonly Finding[];
}

/** A price version is a digest of its prices; one that does not match was edited afterwards. */
export function checkPrices(db: Database): CheckedPrices {
  const findings: Finding[] = [];
  const terms = new Map<string, Terms>();
  const rows = db.query<
    { version: string; operation_id: string; model: string | null; unit_prices: string },
    []
  >("SELECT version, operation_id, model, unit_prices FROM price");
  for (const row of rows.all()) {
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
export function chargeFindings(db: Database, prices: ReadonlyMap<string, Terms>): Finding[] {
  const findings: Finding[] = [];
  const totals = new Map<string, Total>();
  const totalOf = (accountId: string): Total => {
    const total = totals.get(accountId) ?? { exactAtto: 0n, exactPico: 0n, dueMicros: 0n, valueMicros: 0n };
    totals.set(accountId, total);
    return total;
  };

  for (const call of settledCalls(db)) {
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
      findings.push({ rule: chargeRule, subject: call.id, detail });
    }
    if (!isWithin(call.value_micros * picoPerMicro - exactPico, picoPerMicro)) {
      const detail = `reported ${call.value_micros} micro-USD, usage × prices is ${exactPico} pico-USD`;
      findings.push({ rule: valueRule, subject: call.id, detail });
    }
  }

  const carries = db.query<{ id: string; charge_carry_atto: bigint; value_carry_pico: bigint }, []>(
    "SELECT id, charge_carry_atto, value_carry_pico FROM account",
  );
  for (const account of carries.all()) {
    const total = totalOf(account.id);
    const bookedAtto = total.dueMicros * attoPerMicro + account.charge_carry_atto;
    const bookedPico = total.valueMicros * picoPerMicro + account.value_carry_pico;
    if (bookedAtto !== total.exactAtto) {
      const detail = `booked ${bookedAtto} atto-USD, usage × prices is ${total.exactAtto}`;
      findings.push({ rule: chargeRule, subject: account.id, detail });
    }
    if (bookedPico !== total.exactPico) {
      const detail = `reported ${bookedPico} pico-USD, usage × prices is ${total.exactPico}`;
      findings.push({ rule: valueRule, subject: account.id, detail });
    }
  }
  return findings;
}

const isWithin = (difference: bigint, bound: bigint): boolean => -bound < difference && difference < bound;

interface SettledCall {
  id: string;
  account_id: string;
  used: string;
  price_version: string;
  multiplier_ppm: bigint;
  due_micros: bigint;
  value_micros: bigint;
}

const settledCalls = (db: Database): Iterable<SettledCall> =>
  db
    .query<SettledCall, []>(
      `SELECT id, account_id, ${soundUsed} AS used, price_version, multiplier_ppm,
              charged_micros + written_off_micros AS due_micros, value_micros
       FROM call WHERE state = 'settled'`,
    )
    .iterate();

/** Whole amounts only: anything else is a finding already, and no sum can be made of it. */
function readUsed(text: string): Quantities {
  const used: Record<string, number> = {};
  for (const [unit, quantity] of Object.entries(JSON.parse(text) as Record<string, unknown>)) {
    if (typeof quantity === "number" && Number.isSafeInteger(quantity)) used[unit] = quantity;
  }
  return used;
}

import type { Finding } from "../../ledger/audit.ts";
import {
  checkPrices,
  createChargeCheck,
  priceRows,
  type CarryRow,
  type PriceRow,
  type SettledCall,
} from "../audit-charges.ts";
import { soundUsed } from "./audit-rules.ts";
import type { Query } from "./server/query.ts";

/** There may be more calls than memory; so many at once take a few megabytes. */
const callsAtOnce = 5_000;

export async function chargeFindings(query: Query): Promise<Finding[]> {
  const prices = checkPrices(await query<PriceRow>(priceRows));
  const charges = createChargeCheck(prices.terms);
  for (let lastId: string | undefined = ""; lastId !== undefined;) {
    const calls: readonly SettledCall[] = await query<SettledCall>(settledAfter, [lastId]);
    for (const call of calls) charges.add(call);
    lastId = calls.at(-1)?.id;
  }
  const carries = await query<CarryRow>(carryRows);
  return [...prices.findings, ...charges.findings(carries)];
}

// A column that is empty where none may be has a finding of its own; it must not end the audit.
const settledAfter = `
  SELECT id, account_id, coalesce(${soundUsed}, '{}') AS used, price_version, coalesce(multiplier_ppm, 0) AS multiplier_ppm,
         coalesce(charged_micros, 0) + coalesce(written_off_micros, 0) AS due_micros,
         coalesce(value_micros, 0) AS value_micros
  FROM call WHERE state = 'settled' AND id > $1 ORDER BY id LIMIT ${callsAtOnce}`;

const carryRows = `
  SELECT id, coalesce(charge_carry_atto, 0) AS charge_carry_atto, coalesce(value_carry_pico, 0) AS value_carry_pico
  FROM account`;

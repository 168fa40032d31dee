import type { Database } from "bun:sqlite";
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

export function chargeFindings(db: Database): Finding[] {
  const prices = checkPrices(db.query<PriceRow, []>(priceRows).all());
  const charges = createChargeCheck(prices.terms);
  const settled = db.query<SettledCall, []>(
    `SELECT id, account_id, ${soundUsed} AS used, price_version, multiplier_ppm,
            charged_micros + written_off_micros AS due_micros, value_micros
     FROM call WHERE state = 'settled'`,
  );
  for (const call of settled.iterate()) charges.add(call);
  const carries = db.query<CarryRow, []>("SELECT id, charge_carry_atto, value_carry_pico FROM account");
  return [...prices.findings, ...charges.findings(carries.all())];
}

import type { Pico } from "../platform/money.ts";
import type { Quantities } from "./quantities.ts";

/**
 * The price of one operation (and model) at one moment. A call keeps the terms it was held under;
 * `version` names them for ever, because it is made from their content.
 */
export interface Terms {
  readonly version: string;
  readonly unitPricesPico: Readonly<Record<string, Pico>>;
}

export interface PriceLine {
  readonly unit: string;
  readonly quantity: number;
  readonly unitPricePico: Pico;
  readonly valuePico: Pico;
}

/** The list price of what was used, line by line, in the order of the terms. */
export function priceLines(used: Quantities, terms: Terms): PriceLine[] {
  const lines: PriceLine[] = [];
  for (const unit in terms.unitPricesPico) {
    const quantity = used[unit] ?? 0;
    const unitPricePico = terms.unitPricesPico[unit] ?? 0n;
    if (quantity > 0)
      lines.push({ unit, quantity, unitPricePico, valuePico: BigInt(quantity) * unitPricePico });
  }
  return lines;
}

export function valuePico(used: Quantities, terms: Terms): Pico {
  const { unitPricesPico } = terms;
  let total = 0n;
  // A call uses fewer units than its terms price.
  for (const unit in used) {
    const quantity = used[unit];
    const unitPricePico = unitPricesPico[unit];
    if (quantity !== undefined && unitPricePico !== undefined) total += BigInt(quantity) * unitPricePico;
  }
  return total;
}

/** The version of terms is a digest of what they say, so equal terms share one and changed terms never do. */
export function createTerms(
  operationId: string,
  model: string | undefined,
  unitPricesPico: Readonly<Record<string, Pico>>,
): Terms {
  const version = termsVersion(operationId, model, unitPricesPico);
  return Object.freeze({ version, unitPricesPico: Object.freeze({ ...unitPricesPico }) });
}

export function termsVersion(
  operationId: string,
  model: string | undefined,
  unitPricesPico: Readonly<Record<string, Pico>>,
): string {
  const prices = Object.keys(unitPricesPico)
    .toSorted()
    .map((unit) => `${unit}=${unitPricesPico[unit]}`);
  const content = [operationId, model ?? "", ...prices].join("\n");
  return `pv_${new Bun.CryptoHasher("sha256").update(content).digest("hex").slice(0, 24)}`;
}

import { picoFromUsd, usdFromPico } from "../platform/money.ts";

/** A line of a receipt or a quote as it is told, also by another gateway. */
interface ToldLine {
  readonly unit: string;
  readonly quantity: number;
  readonly unit_price_usd: string;
}

/** Prices of tokens are known by the million, as the price list has them; that of one is mostly zeros. */
export function lineInWords({ unit, quantity, unit_price_usd: usdEach }: ToldLine) {
  const pico = picoFromUsd(usdEach);
  if (pico === undefined) throw new Error(`The price of ${unit} is no amount in USD.`);
  return {
    price: unit.endsWith("_tokens")
      ? `${usdFromPico(pico * 1_000_000n)} USD per 1,000,000`
      : `${usdFromPico(pico)} USD each`,
    value: `${usdFromPico(pico * BigInt(quantity))} USD`,
  };
}

import type { Offer, OfferedOperation } from "../offer/offer.ts";
import { priceOf, type PublishedPrice } from "./price-of.ts";

/** One thing that is sold, with its price in words and in figures. */
export interface SalesItem {
  readonly operation_id: string;
  readonly title: string;
  readonly category: string;
  readonly method: string;
  readonly path: string;
  readonly price: string;
  readonly unit: string | null;
  /** USD per unit as a decimal string; null where models or the vendor's report decide. */
  readonly usd: string | null;
  readonly models?: readonly { readonly model: string; readonly usd: Readonly<Record<string, string>> }[];
  readonly definition: "complete" | "pending";
}

/** The price list of the catalogue as it is configured. */
export const salesItems = (offer: Pick<Offer, "operations">): SalesItem[] =>
  [...offer.operations.values()]
    .map(salesItem)
    .toSorted((a, b) => (a.operation_id < b.operation_id ? -1 : 1));

function salesItem(offered: OfferedOperation): SalesItem {
  const { operation, path } = offered;
  const price = priceOf(offered);
  return {
    operation_id: operation.id,
    title: operation.title,
    category: operation.category,
    method: operation.method,
    path,
    price: priceInWords(price),
    unit: "unit" in price ? price.unit : null,
    usd: price.kind === "free" ? "0" : price.kind === "per_unit" ? price.usd_per_unit : null,
    ...("models" in price
      ? { models: price.models.map(({ model, usd_per_unit: usd }) => ({ model, usd })) }
      : {}),
    definition: operation.definition ?? "complete",
  };
}

export function priceInWords(price: PublishedPrice): string {
  switch (price.kind) {
    case "free":
      return "free";
    case "per_unit":
      return price.usd_per_unit === null ? "not set yet" : `${price.usd_per_unit} USD per ${price.unit}`;
    case "per_token":
      return "by model, per 1,000,000 tokens";
    case "per_second":
      return "by model and resolution, per second";
    case "by_cost":
      return `what the vendor reports${price.cost_factor === "1" ? "" : ` × ${price.cost_factor}`}, at most ${price.at_most_usd} USD`;
  }
}

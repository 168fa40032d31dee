import type { Allowed } from "../../../keys/allowed-names.ts";
import { mayUse } from "../../../offer/may-use.ts";
import type { Offer } from "../../../offer/offer.ts";

interface Category {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  readonly operation_count: number;
}

const known: Readonly<Record<string, { readonly title: string; readonly description: string }>> = {
  models: {
    title: "Models",
    description: "Text, images, embeddings and reranking by models of several vendors, and the list of them.",
  },
  data: {
    title: "Data",
    description: "Research on the web, social platforms, companies' figures and website traffic.",
  },
  account: {
    title: "Account",
    description: "Balance, usage, receipts and limits of the account itself. Free.",
  },
};

/** In the order in which the catalogue brings them up, with what the key may use of each. */
export function listCategories(offer: Offer, allowed: Allowed): Category[] {
  const counts = new Map<string, number>();
  for (const offered of offer.operations.values()) {
    const { operation } = offered;
    if (!mayUse(allowed, offered)) continue;
    counts.set(operation.category, (counts.get(operation.category) ?? 0) + 1);
  }
  return [...counts].map(([id, operation_count]) => ({ id, title: id, ...known[id], operation_count }));
}

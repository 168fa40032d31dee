import type { Offer, OfferedOperation } from "../../../offer/offer.ts";

/** What a newcomer is shown first: of these, the first that is on offer; otherwise anything that is sold. */
export function firstCall({ operations }: Offer): OfferedOperation | undefined {
  const wanted = ["chat.completions.create", "rerank.create", "messages.create"];
  const known = wanted.map((id) => operations.get(id)).find((one) => one !== undefined);
  return (
    known ??
    [...operations.values()].find(({ operation }) => operation.price.kind !== "free" && operation.example)
  );
}

import { isSold } from "../../operation/operation.ts";
import { offeredExample } from "./example-request.ts";
import type { Offer, OfferedOperation } from "../offer.ts";

/** What a newcomer is shown first: of these, the first that can be called; otherwise anything that is sold. */
export function firstCall({ operations }: Offer): OfferedOperation | undefined {
  const wanted = ["chat.completions.create", "rerank.create", "messages.create"];
  const first = wanted.map((id) => operations.get(id)).find((one) => one !== undefined && worksAtOnce(one));
  return first ?? [...operations.values()].find(worksAtOnce);
}

/** Nobody should paste what is refused for want of a price, a model or a linked account. */
function worksAtOnce(offered: OfferedOperation): boolean {
  const { operation, terms, models } = offered;
  return (
    isSold(operation) &&
    offeredExample(offered) !== undefined &&
    operation.link === undefined &&
    operation.price.kind !== "free" &&
    (terms !== undefined || models.size > 0)
  );
}

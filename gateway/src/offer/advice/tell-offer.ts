import type { Log } from "../../platform/log.ts";
import { describeGap } from "./gap.ts";
import type { Offer } from "../offer.ts";

/** What an operator may have meant to sell otherwise. */
export function tellOffer({ gaps, notes }: Offer, log: Log): void {
  for (const gap of gaps) log.warn("not on offer", { gap: describeGap(gap) });
  for (const note of notes) log.warn("on offer, perhaps not as meant", { note });
}

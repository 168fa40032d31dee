import { describeGap } from "../../gateway/src/offer/advice/gap.ts";
import type { Offer } from "../../gateway/src/offer/offer.ts";

/** What an offer lacks, in the words an operator is told it in. */
export const gapsOf = ({ gaps }: Offer): string[] => gaps.map(describeGap);

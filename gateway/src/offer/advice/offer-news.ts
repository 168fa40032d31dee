import type { Log } from "../../platform/log.ts";
import type { Offer } from "../offer.ts";
import { describeGap } from "./gap.ts";

/** What an operator may have meant to sell otherwise. */
export interface OfferNews {
  /**
   * Tells all of it at the start; at a reload what is new, and what is no longer so, because nobody would find that among a
   * hundred lines told before. Returns how many of those stay true.
   */
  readonly tell: (offer: Offer) => number;
}

export function createOfferNews(log: Log): OfferNews {
  let told: Lines = new Map();
  return {
    tell: (offer) => {
      const before = told;
      told = linesOn(offer);
      const fresh = without(told, before);
      for (const [line, kind] of fresh) log.warn(events[kind], { [kind]: line });
      for (const [line, kind] of without(before, told)) log.info("no longer so", { [kind]: line });
      return told.size - fresh.length;
    },
  };
}

type Lines = ReadonlyMap<string, keyof typeof events>;

const events = { gap: "not on offer", note: "on offer, perhaps not as meant" } as const;

const linesOn = ({ gaps, notes }: Offer): Lines =>
  new Map([
    ...gaps.map((gap) => [describeGap(gap), "gap"] as const),
    ...notes.map((note) => [note, "note"] as const),
  ]);

const without = (lines: Lines, others: Lines) => [...lines].filter(([line]) => !others.has(line));

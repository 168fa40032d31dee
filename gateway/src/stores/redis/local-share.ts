import type { LimiterRefusal, RateWant, Standing, Take, Want } from "../../limits/limiter.ts";
import type { ImmediateLimiter } from "../memory-limiter.ts";

/**
 * A limiter for a node that cannot ask the others: it lets through its share of every limit, as if each of them let
 * through as much. Whatever is counted counts once for each node, so standings are those of all nodes together, and
 * no limit is so small that a node lets nobody through.
 */
export function createLocalShare(limiter: ImmediateLimiter, nodes: () => number): ImmediateLimiter {
  const ofAllNodes = (amount: number, limit: number): number =>
    amount > limit ? amount : Math.min(limit, amount * nodes());
  const rateOf = (want: RateWant): RateWant => ({ ...want, amount: ofAllNodes(want.amount, want.limit) });
  const shareOf = (want: Want): Want =>
    want.kind === "rate" ? rateOf(want) : { ...want, limit: Math.max(1, Math.floor(want.limit / nodes())) };

  return {
    take: (wants) => {
      const shares = wants.map(shareOf);
      const take = limiter.take(shares);
      return take.kind === "taken"
        ? { ...take, standings: take.standings.map((standing, at) => ofAll(standing, wants[at])) }
        : refusalOf(take, wants[shares.indexOf(take.want)]);
    },
    giveBack: (wants, takenAt) => limiter.giveBack(wants.map(shareOf), takenAt),
    correct: (want, used, takenAt) => limiter.correct(rateOf(want), ofAllNodes(used, want.limit), takenAt),
    freeSlot: limiter.freeSlot,
    look: (want) => ofAll(limiter.look(shareOf(want)), want),
  };
}

const ofAll = (standing: Standing, want: Want | undefined): Standing => ({
  ...standing,
  limit: want?.limit ?? standing.limit,
});

const refusalOf = (take: LimiterRefusal, want: Want | undefined): Take => ({
  ...take,
  want: want ?? take.want,
  standing: ofAll(take.standing, want),
});

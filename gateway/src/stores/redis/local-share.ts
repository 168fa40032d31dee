import type { LimiterRefusal, RateWant, Standing, Take, Want } from "../../limits/limiter.ts";
import type { TakenAt } from "../../limits/taken-at.ts";
import type { ImmediateLimiter } from "../memory-limiter.ts";

/**
 * A limiter for a node that cannot ask the others: it lets through its share of every limit, as if each of them let
 * through as much. Whatever is counted counts once for each node, so standings are those of all nodes together, and
 * no limit is so small that a node lets nobody through. What comes back counts for as many nodes as what was taken.
 */
export function createLocalShare(limiter: ImmediateLimiter, nodes: () => number): ImmediateLimiter {
  /** For how many nodes was counted what was taken from a moment on, until there were others. */
  const counted: { readonly from: TakenAt; readonly nodes: number }[] = [];
  const nodesAt = (takenAt: TakenAt): number =>
    counted.findLast(({ from }) => from <= takenAt)?.nodes ?? nodes();

  const remember = (from: TakenAt, count: number): void => {
    if (counted.at(-1)?.nodes === count) return;
    counted.push({ from, nodes: count });
    if (counted.length > changesMax) counted.shift();
  };

  return {
    take: (wants) => {
      const count = nodes();
      const shares = wants.map((want) => shareOf(want, count));
      const take = limiter.take(shares);
      if (take.kind === "refused") return refusalOf(take, wants[shares.indexOf(take.want)]);
      remember(take.takenAt, count);
      return { ...take, standings: take.standings.map((standing, at) => ofAll(standing, wants[at])) };
    },
    giveBack: (wants, takenAt) => {
      const count = nodesAt(takenAt);
      const shares = wants.map((want) => shareOf(want, count));
      limiter.giveBack(shares, takenAt);
    },
    correct: (want, used, takenAt) => {
      const count = nodesAt(takenAt);
      limiter.correct(rateOf(want, count), ofAllNodes(used, want.limit, count), takenAt);
    },
    freeSlot: limiter.freeSlot,
    look: (want) => ofAll(limiter.look(shareOf(want, nodes())), want),
  };
}

/** Nodes come and go seldom, and after a minute most of what was taken before is forgotten. */
const changesMax = 100;

const ofAllNodes = (amount: number, limit: number, nodes: number): number =>
  amount > limit ? amount : Math.min(limit, amount * nodes);

const rateOf = (want: RateWant, nodes: number): RateWant => ({
  ...want,
  amount: ofAllNodes(want.amount, want.limit, nodes),
});

const shareOf = (want: Want, nodes: number): Want =>
  want.kind === "rate"
    ? rateOf(want, nodes)
    : { ...want, limit: Math.max(1, Math.floor(want.limit / nodes)) };

const ofAll = (standing: Standing, want: Want | undefined): Standing => ({
  ...standing,
  limit: want?.limit ?? standing.limit,
});

const refusalOf = (take: LimiterRefusal, want: Want | undefined): Take => ({
  ...take,
  want: want ?? take.want,
  standing: ofAll(take.standing, want),
});

import type { Limiter, RateWant, SlotWant, Standing, Take, Want } from "../limits/limiter.ts";
import { SlidingMinute } from "../limits/sliding-minute.ts";
import { asTakenAt, type TakenAt } from "../limits/taken-at.ts";

const minuteMs = 60_000;

/** A limiter that nobody ever waits for. */
export interface ImmediateLimiter extends Limiter {
  readonly take: (wants: readonly Want[]) => Take;
  readonly giveBack: (wants: readonly Want[], takenAt: TakenAt) => void;
  readonly correct: (want: RateWant, used: number, takenAt: TakenAt) => void;
  readonly freeSlot: (name: string, holder: string) => void;
  readonly look: (want: Want) => Standing;
}

/** The limiter of a single process. It forgets limits that nobody used for a minute. */
export function createMemoryLimiter(monotonicMs: () => number): ImmediateLimiter {
  const minutes = new Map<string, SlidingMinute>();
  /** Holders of each slot and when their leases end. */
  const slots = new Map<string, Map<string, number>>();
  let sweptAtMs = monotonicMs();

  const sweep = (nowMs: number): void => {
    sweptAtMs = nowMs;
    for (const [name, minute] of minutes) if (minute.isEmpty(nowMs)) minutes.delete(name);
    for (const [name, holders] of slots) if (liveHolders(holders, nowMs) === 0) slots.delete(name);
  };

  const minuteOf = (name: string): SlidingMinute => {
    let minute = minutes.get(name);
    if (!minute) minutes.set(name, (minute = new SlidingMinute()));
    return minute;
  };

  const holdersOf = (name: string): Map<string, number> => {
    let holders = slots.get(name);
    if (!holders) slots.set(name, (holders = new Map<string, number>()));
    return holders;
  };

  const rateStanding = ({ limit }: RateWant, minute: SlidingMinute, nowMs: number): Standing => ({
    limit,
    remaining: Math.max(0, minute.remaining(limit, nowMs)),
    resetsInMs: minute.oldestLeavesInMs(nowMs),
  });

  const slotStanding = (want: SlotWant, nowMs: number): Standing => {
    const holders = holdersOf(want.name);
    const used = liveHolders(holders, nowMs);
    const firstEndMs = Math.min(...holders.values(), nowMs + want.leaseMs);
    return { limit: want.limit, remaining: Math.max(0, want.limit - used), resetsInMs: firstEndMs - nowMs };
  };

  const standingOf = (want: Want, nowMs: number): Standing =>
    want.kind === "rate" ? rateStanding(want, minuteOf(want.name), nowMs) : slotStanding(want, nowMs);

  /** Takes what is known to fit, and tells how the limit stands then. */
  const takeOne = (want: Want, nowMs: number): Standing => {
    if (want.kind === "slot") {
      holdersOf(want.name).set(want.holder, nowMs + want.leaseMs);
      return slotStanding(want, nowMs);
    }
    const minute = minuteOf(want.name);
    minute.add(want.amount, nowMs);
    return rateStanding(want, minute, nowMs);
  };

  const fits = (want: Want, nowMs: number): boolean =>
    want.kind === "rate"
      ? minuteOf(want.name).remaining(want.limit, nowMs) >= want.amount
      : liveHolders(holdersOf(want.name), nowMs) < want.limit;

  const retryInMs = (want: Want, nowMs: number): number => {
    // Nobody knows when a holder returns its slot; a second is a fair time to ask again.
    if (want.kind === "slot") return 1_000;
    return minuteOf(want.name).fitsInMs(want.amount, want.limit, nowMs) ?? minuteMs;
  };

  return {
    take: (wants) => {
      const nowMs = monotonicMs();
      if (nowMs - sweptAtMs > minuteMs) sweep(nowMs);
      for (const want of wants) {
        if (fits(want, nowMs)) continue;
        return {
          kind: "refused",
          want,
          standing: standingOf(want, nowMs),
          retryInMs: retryInMs(want, nowMs),
        };
      }
      const standings: Standing[] = [];
      for (const want of wants) standings.push(takeOne(want, nowMs));
      return { kind: "taken", standings, takenAt: asTakenAt(nowMs) };
    },
    giveBack: (wants, takenAt) => {
      const nowMs = monotonicMs();
      for (const want of wants) {
        if (want.kind === "rate") minutes.get(want.name)?.correct(-want.amount, takenAt, nowMs);
        else slots.get(want.name)?.delete(want.holder);
      }
    },
    // The minute of a long call may have been swept meanwhile.
    correct: ({ name, amount }, used, takenAt) =>
      minuteOf(name).correct(used - amount, takenAt, monotonicMs()),
    freeSlot: (name, holder) => void slots.get(name)?.delete(holder),
    look: (want) => standingOf(want, monotonicMs()),
  };
}

/** Drops the leases that have ended and counts the rest. */
function liveHolders(holders: Map<string, number>, nowMs: number): number {
  for (const [holder, endMs] of holders) if (endMs <= nowMs) holders.delete(holder);
  return holders.size;
}

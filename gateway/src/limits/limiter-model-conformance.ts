import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Limiter, SlotWant, Standing, Want } from "./limiter.ts";
import type { TakenAt } from "./taken-at.ts";

/** An empty limiter on a clock that stands until told. */
interface TestLimiter {
  readonly limiter: Limiter;
  readonly advance: (ms: number) => void;
  readonly nowMs: () => number;
}

export type OpenLimiter = () => TestLimiter | Promise<TestLimiter>;

/** Does the same to a limiter and to the oracle, and compares whatever they say. */
export function modelConformance(open: OpenLimiter): void {
  test("whatever is asked of it in whatever order, it answers as a list of everything taken would", async () => {
    const property = fc.asyncProperty(fc.array(stepOf, { maxLength: 60, size: "max" }), async (steps) => {
      const { limiter, advance, nowMs } = await open();
      const oracle = createOracle(nowMs);
      const takes: Taken[] = [];
      for (const step of steps) {
        if (step.do === "wait") advance(step.ms);
        else if (step.do === "look") expect(await limiter.look(step.want)).toEqual(oracle.look(step.want));
        else if (step.do === "take") {
          const { wants } = step;
          const atMs = nowMs();
          const take = await limiter.take(wants);
          // When it was taken is the limiter's to say: it is told the same again.
          if (take.kind === "taken") takes.push({ wants, atMs, takenAt: take.takenAt });
          const { takenAt: _, ...answer } = { takenAt: 0, ...take };
          expect<object>(answer).toEqual(oracle.take(wants));
        } else await takeBack(step, takes[step.take % takes.length], limiter, oracle);
      }
    });
    await fc.assert(property, { numRuns: 200 });
  });
}

interface Taken {
  readonly wants: readonly Want[];
  readonly atMs: number;
  readonly takenAt: TakenAt;
}

async function takeBack(
  step: Extract<Step, { readonly take: number }>,
  taken: Taken | undefined,
  limiter: Limiter,
  oracle: Oracle,
): Promise<void> {
  if (!taken) return;
  const { wants, atMs, takenAt } = taken;
  if (step.do === "give back") {
    await limiter.giveBack(wants, takenAt);
    oracle.giveBack(wants, atMs);
    return;
  }
  for (const want of wants) {
    if (step.do === "free" && want.kind === "slot") {
      await limiter.freeSlot(want.name, want.holder);
      oracle.giveBack([want], atMs);
    }
    if (step.do === "correct" && want.kind === "rate") {
      await limiter.correct(want, want.amount + step.by, takenAt);
      oracle.correct(want.name, step.by, atMs);
    }
  }
}

type Oracle = ReturnType<typeof createOracle>;

/** What a limiter is asked, step by step. Takes are named by how many there were before, round and round. */
type Step =
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "take"; readonly wants: readonly Want[] }
  | { readonly do: "give back" | "free"; readonly take: number }
  | { readonly do: "correct"; readonly take: number; readonly by: number }
  | { readonly do: "look"; readonly want: Want };

const wantOf = fc.oneof(
  fc.record({
    kind: fc.constant("rate" as const),
    of: fc.constant("tokens" as const),
    name: fc.constantFrom("a", "b"),
    amount: fc.nat({ max: 12 }),
    limit: fc.constantFrom(10, 20),
  }),
  fc.record({
    kind: fc.constant("slot" as const),
    name: fc.constantFrom("s", "t"),
    holder: fc.constantFrom("1", "2", "3", "4", "5"),
    limit: fc.constantFrom(2, 3),
    leaseMs: fc.constantFrom(500, 20_000, 3_600_000),
  }),
);

/** A call asks for a limit once, as one that would count itself twice makes no sense. */
const wantsOf = fc.uniqueArray(wantOf, { minLength: 1, maxLength: 4, selector: ({ name }) => name });

const stepOf: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      ms: fc.oneof(
        // What was taken leaves at a millisecond, and these are the ones beside it.
        fc.constantFrom(1, 29_999, 30_000, 59_999, 60_000),
        fc.nat({ max: 1_500 }),
        fc.nat({ max: 20_000 }),
        fc.nat({ max: 70_000 }),
      ),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("take" as const), wants: wantsOf }) },
  fc.record({ do: fc.constantFrom("give back" as const, "free" as const), take: fc.nat({ max: 30 }) }),
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("correct" as const),
      take: fc.nat({ max: 30 }),
      by: fc.integer({ min: -15, max: 15 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("look" as const), want: wantOf }) },
);

interface Counted {
  readonly name: string;
  readonly atMs: number;
  amount: number;
}

const minuteMs = 60_000;

/** Keeps everything in one list and works out each answer from its beginning. */
function createOracle(nowMs: () => number) {
  const counted: Counted[] = [];
  const places: { readonly name: string; readonly holder: string; readonly endMs: number }[] = [];

  const leavesAtMs = ({ atMs }: Counted): number => atMs + minuteMs;
  const counting = (name: string, atMs: number): Counted[] =>
    counted
      .filter((one) => one.name === name && one.amount > 0 && leavesAtMs(one) > atMs)
      .toSorted((a, b) => a.atMs - b.atMs);
  const total = (name: string, atMs: number): number =>
    counting(name, atMs).reduce((sum, { amount }) => sum + amount, 0);
  const holding = (name: string) => places.filter((one) => one.name === name && one.endMs > nowMs());

  const look = (want: Want): Standing => {
    const { limit, name } = want;
    if (want.kind === "slot") {
      const ends = holding(name).map(({ endMs }) => endMs - nowMs());
      const remaining = Math.max(0, limit - ends.length);
      return { limit, remaining, resetsInMs: Math.min(...ends, want.leaseMs) };
    }
    const [oldest] = counting(name, nowMs());
    const resetsInMs = oldest ? leavesAtMs(oldest) - nowMs() : 0;
    return { limit, remaining: Math.max(0, limit - total(name, nowMs())), resetsInMs };
  };

  const fits = (want: Want, atMs: number): boolean =>
    want.kind === "slot"
      ? holding(want.name).length < want.limit
      : total(want.name, atMs) + want.amount <= want.limit;

  const retryInMs = (want: Want): number => {
    if (want.kind === "slot") return 1_000;
    const moments = counting(want.name, nowMs()).map(leavesAtMs);
    const fitsAtMs = moments.find((atMs) => fits(want, atMs));
    return fitsAtMs === undefined ? minuteMs : fitsAtMs - nowMs();
  };

  const add = (name: string, amount: number, atMs: number): void => {
    const same = counted.find((one) => one.name === name && one.atMs === atMs);
    if (same) same.amount = Math.max(0, same.amount + amount);
    else counted.push({ name, atMs, amount: Math.max(0, amount) });
  };

  const leave = ({ name, holder }: SlotWant): void => {
    const at = places.findIndex((one) => one.name === name && one.holder === holder);
    if (at >= 0) places.splice(at, 1);
  };

  const correct = (name: string, by: number, atMs: number): void => {
    const isGone = leavesAtMs({ name, atMs, amount: 0 }) <= nowMs();
    if (!isGone) add(name, by, atMs);
    else if (by > 0) add(name, by, nowMs());
  };

  return {
    look,
    /** As the limiter answers, but for the time of its own clock. */
    take: (wants: readonly Want[]): object => {
      const want = wants.find((one) => !fits(one, nowMs()));
      if (want) return { kind: "refused", want, standing: look(want), retryInMs: retryInMs(want) };
      for (const one of wants) {
        if (one.kind === "rate") add(one.name, one.amount, nowMs());
        else {
          leave(one);
          places.push({ name: one.name, holder: one.holder, endMs: nowMs() + one.leaseMs });
        }
      }
      return { kind: "taken", standings: wants.map(look) };
    },
    giveBack: (wants: readonly Want[], takenAt: number): void => {
      for (const want of wants) {
        if (want.kind === "rate") correct(want.name, -want.amount, takenAt);
        else leave(want);
      }
    },
    correct,
  };
}

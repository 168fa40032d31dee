import { bars } from "../bars.ts";
import { bareBun } from "../contestants/bare-bun.ts";
import { direct } from "../contestants/direct.ts";
import { meteredBun } from "../contestants/metered-bun.ts";
import { tollgate } from "../contestants/tollgate.ts";
import { readable, type Table } from "../report/chapter.ts";
import { marksOf, plotOfMarks, ratesOf, withSpread, type Limit } from "../report/round-table.ts";
import type { Contestant } from "../rig/contestant.ts";
import type { Runners } from "../rig/in-turns.ts";
import { runRounds, warmUpUnder, type Plan } from "../rig/rounds.ts";
import { median } from "../rig/statistics.ts";
import { openUpstream } from "../rig/upstream.ts";
import { briefly, type WarmUp } from "../rig/warm-up.ts";
import { only, withContestants } from "../rig/with-contestants.ts";
import { chat } from "../scenarios/chat.ts";
import {
  added,
  besideStandard,
  findingOf,
  keepsPace,
  percent,
  reachedShare,
  type Column,
  type Paced,
} from "./latency-figures.ts";
import { expectedRounds, usualWarmUp, type Settings, type Study } from "./study.ts";

/**
 * wrk has no rate limit, but its callers can think. Many callers who think much longer than they wait for an answer
 * send at a rate that hardly depends on how fast the answers are, which is what an open load is.
 */
const callers = 256;
/** At which part of the bare proxy's best everybody is asked, and whom they are compared with. */
interface Pace {
  readonly share: number;
  readonly word: string;
  readonly standard: Contestant;
  /** How a column is called that compares. */
  readonly beside: string;
  readonly keptShareMin: number;
  readonly limit?: Limit;
}
const halfPace: Pace = {
  share: 1 / 2,
  word: "half",
  standard: bareBun,
  beside: "× bare",
  // Waiting twice as long as for the bare proxy, which the bars allow, takes less than a tenth away from the pace.
  keptShareMin: 0.9,
  limit: { times: bars.addedP50.atMost, of: bareBun.name },
};
/** One that leaves room for all. */
const easyPace: Pace = {
  share: 1 / 10,
  word: "a tenth",
  standard: bareBun,
  beside: "× bare",
  keptShareMin: 0.9,
};
/** With slack, as everything in the short form; a machine that others use halts for moments. */
const shortPace: Pace = { ...easyPace, standard: meteredBun, beside: "× metered", keptShareMin: 0.7 };
/** Where the bare proxy's best is looked for, and for how long. */
const triesOf = ({ short }: Pick<Settings, "short">) =>
  short ? { sizes: [64], rounds: 1, roundSeconds: 1 } : { sizes: [16, 64, 256], rounds: 2, roundSeconds: 2 };

/** What a caller waits who is not in a queue is settled before CPU is. */
const warmUpOf = ({ short, warmUp }: Settings): WarmUp => (short ? { secondsMin: 3, secondsMax: 3 } : warmUp);

export const latencyStudy: Study = {
  name: "latency",
  inShort: [direct, bareBun, meteredBun, tollgate],
  expectedSeconds: (settings) => {
    const count = settings.contestants.length;
    const tries = triesOf(settings);
    return (
      count * usualWarmUp({ warmUp: warmUpOf(settings) }) +
      (settings.short ? 1 : 2) * expectedRounds(count, settings, briefly.secondsMax) +
      tries.sizes.length * expectedRounds(1, tries, briefly.secondsMax)
    );
  },
  run: (settings) =>
    withContestants(openUpstream(chat.answer), chat, settings, async (running) => {
      const plan = { ...settings, warmUp: warmUpOf(settings), request: chat.request, connections: 64 };
      const warm = await warmUpUnder(running, plan);
      const brief = { ...plan, warmUp: briefly };
      const best = await bestOf(only(warm, [bareBun.name]), brief);
      const askAt = async ({ share, standard, keptShareMin }: Pace): Promise<Paced> => {
        const askedPerSecond = best * share;
        const thinkMs = (callers / askedPerSecond) * 1000;
        const results = await runRounds(warm, { ...brief, connections: callers, thinkMs });
        return { results, askedPerSecond, standard: standard.name, keptShareMin };
      };
      if (settings.short) {
        const paced = await askAt(shortPace);
        return {
          tables: [table(paced, shortPace)],
          findings: { addedP50Easily: findingOf(paced, "p50Ms") },
        };
      }
      const half = await askAt(halfPace);
      const easy = await askAt(easyPace);
      return {
        tables: [table(half, halfPace), table(easy, easyPace)],
        findings: { addedP50: findingOf(half, "p50Ms"), addedP99: findingOf(half, "p99Ms") },
      };
    }),
};

/** How many requests a second the bare proxy serves at best. */
async function bestOf(bare: Runners, plan: Plan & Pick<Settings, "short">): Promise<number> {
  const { sizes, ...tries } = triesOf(plan);
  let best = 0;
  for (const connections of sizes) {
    const results = await runRounds(bare, { ...plan, ...tries, connections });
    best = Math.max(best, ...ratesOf(results.get(bareBun.name) ?? []));
  }
  if (best === 0) throw new Error("Without the bare proxy there is no pace to measure at.");
  return best;
}

function table(paced: Paced, { word, beside, limit }: Pace): Table {
  const { results, askedPerSecond } = paced;
  const names = [...results.keys()];
  const late = names.filter((name) => !keepsPace(paced, name));
  const between = names.filter((name) => name !== direct.name);
  const addedCells = (name: string, column: Column): string[] =>
    name === direct.name
      ? ["–", "–"]
      : [withSpread(added(results, name, column)), readable(median(besideStandard(paced, name, column)))];
  return {
    title: `Latency at ${word} of the bare proxy's best throughput`,
    note: `What a caller waits longer because somebody stands between, durable settlement included: chat at about ${readable(askedPerSecond)} requests/s, ${word} of what the bare proxy serves at best, from ${callers} callers who think for a random time between answer and request. Added is what comes on top of direct.${lateNote(late)}`,
    columns: ["", "requests/s", "of the pace", "p50 ms", "p99 ms", "p50 added", beside, "p99 added", beside],
    rows: [...results].map(([name, rounds]) => [
      name,
      withSpread(ratesOf(rounds)),
      `${percent(reachedShare(paced, name))}${late.includes(name) ? ", not kept" : ""}`,
      withSpread(rounds.map(({ p50Ms }) => p50Ms)),
      withSpread(rounds.map(({ p99Ms }) => p99Ms)),
      ...addedCells(name, "p50Ms"),
      ...addedCells(name, "p99Ms"),
    ]),
    plot: plotOfMarks(
      "ms added, p50",
      marksOf(between.map((name) => [name, added(results, name, "p50Ms")])),
      limit,
    ),
  };
}

const lateNote = (late: readonly string[]): string =>
  late.length === 0
    ? ""
    : ` The pace was not kept by ${late.join(" and ")}: what is shown there is the wait in a queue at the most that can be served, not the latency at this pace.`;

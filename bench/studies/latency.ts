import { bars } from "../bars.ts";
import { bareBun } from "../contestants/bare-bun.ts";
import { direct } from "../contestants/direct.ts";
import { readable, type Table } from "../report/chapter.ts";
import { marksOf, plotOfMarks, withSpread, type Limit } from "../report/round-table.ts";
import { runRounds, warmUpUnder, type Round } from "../rig/rounds.ts";
import { median } from "../rig/statistics.ts";
import { openUpstream } from "../rig/upstream.ts";
import { briefly } from "../rig/warm-up.ts";
import { only, withContestants } from "../rig/with-contestants.ts";
import { chat } from "../scenarios/chat.ts";
import {
  added,
  besideBare,
  findingOf,
  keepsPace,
  reachedShare,
  type Column,
  type Paced,
} from "./latency-figures.ts";
import { expectedRounds, usualWarmUp, type Study } from "./study.ts";

/**
 * wrk has no rate limit, but its callers can think. Many callers who think much longer than they wait for an answer
 * send at a rate that hardly depends on how fast the answers are, which is what an open load is.
 */
const callers = 256;
/** The parts of the bare proxy's best at which everybody is asked: the pace of the bars, and one that leaves room for all. */
interface Pace {
  readonly share: number;
  readonly word: string;
  readonly limit?: Limit;
}
const halfPace: Pace = {
  share: 1 / 2,
  word: "half",
  limit: { times: bars.addedP50.atMost, of: bareBun.name },
};
const easyPace: Pace = { share: 1 / 10, word: "a tenth" };
/** Where the bare proxy's best is looked for, and for how long. */
const triedConnections = [16, 64, 256];
const tries = { rounds: 2, roundSeconds: 2 };

export const latencyStudy: Study = {
  name: "latency",
  expectedSeconds: (settings) =>
    expectedRounds(settings.contestants.length, settings, usualWarmUp(settings) + 1) +
    expectedRounds(settings.contestants.length, settings, 1) +
    triedConnections.length * expectedRounds(1, tries, 1),
  run: (settings) =>
    withContestants(openUpstream(chat.answer), chat, settings, async (running) => {
      const plan = { ...settings, request: chat.request, connections: 64 };
      const warm = await warmUpUnder(running, plan);
      const brief = { ...plan, warmUp: briefly };
      const bare = only(warm, [bareBun.name]);
      let best = 0;
      for (const connections of triedConnections) {
        const results = await runRounds(bare, { ...brief, ...tries, connections });
        best = Math.max(best, ...rates(results.get(bareBun.name) ?? []));
      }
      if (best === 0) throw new Error("Without the bare proxy there is no pace to measure at.");
      const askAt = async (pace: Pace): Promise<Paced> => {
        const askedPerSecond = best * pace.share;
        const thinkMs = (callers / askedPerSecond) * 1000;
        return {
          askedPerSecond,
          results: await runRounds(warm, { ...brief, connections: callers, thinkMs }),
        };
      };
      const half = await askAt(halfPace);
      const easy = await askAt(easyPace);
      return {
        tables: [table(half, halfPace), table(easy, easyPace)],
        findings: { addedP50: findingOf(half, "p50Ms"), addedP99: findingOf(half, "p99Ms") },
      };
    }),
};

const rates = (rounds: readonly Round[]): number[] =>
  rounds.map(({ requestsPerSecond }) => requestsPerSecond);

function table(paced: Paced, { word, limit }: Pace): Table {
  const { results, askedPerSecond } = paced;
  const names = [...results.keys()];
  const late = names.filter((name) => !keepsPace(paced, name));
  const between = names.filter((name) => name !== direct.name);
  const addedCells = (name: string, column: Column): string[] =>
    name === direct.name
      ? ["–", "–"]
      : [withSpread(added(results, name, column)), readable(median(besideBare(results, name, column)))];
  return {
    title: `Latency at ${word} of the bare proxy's best throughput`,
    note: `What a caller waits longer because somebody stands between, durable settlement included: chat at about ${readable(askedPerSecond)} requests/s, ${word} of what the bare proxy serves at best, from ${callers} callers who think for a random time between answer and request. Added is what comes on top of direct.${lateNote(late)}`,
    columns: [
      "",
      "requests/s",
      "of the pace",
      "p50 ms",
      "p99 ms",
      "p50 added",
      "× bare",
      "p99 added",
      "× bare",
    ],
    rows: [...results].map(([name, rounds]) => [
      name,
      withSpread(rates(rounds)),
      `${Math.round(reachedShare(paced, name) * 100)} %${late.includes(name) ? ", not kept" : ""}`,
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

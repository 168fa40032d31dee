import { tollgate } from "../contestants/tollgate.ts";
import { readable } from "../report/chapter.ts";
import type { RunningContestant } from "../rig/contestant.ts";
import { inTurns } from "../rig/in-turns.ts";
import { medianWhile } from "../rig/median-while.ts";
import { residentMegabytes } from "../rig/memory.ts";
import { ratiosOf } from "../rig/statistics.ts";
import { openUpstream } from "../rig/upstream.ts";
import { withContestants } from "../rig/with-contestants.ts";
import { load } from "../rig/wrk.ts";
import { chat } from "../scenarios/chat.ts";
import type { Study } from "./study.ts";

/** Between two counts of what was served. */
const sliceSeconds = 2;
/** Up to which share of the calls each stretch goes. */
const stretches = [0.1, 0.25, 0.5, 0.75, 1];

/** Whether memory settles: a bounded number of calls in stretches, with looks all the while. */
export const soakStudy: Study = {
  name: "soak",
  inShort: [tollgate],
  // At a pace that a small machine reaches.
  expectedSeconds: ({ contestants, soakCalls }) => (contestants.length * soakCalls) / 15_000,
  run: (settings) =>
    withContestants(openUpstream(chat.answer), chat, settings, async (running) => {
      const { soakCalls, leaveOut } = settings;
      const seen = await inTurns(running, { rounds: 1, leaveOut }, (contestant) =>
        soak(contestant, soakCalls),
      );
      const counts = stretches.map((share) => `up to ${(share * soakCalls).toLocaleString("en-US")}`);
      const table = {
        title: "Memory over a soak",
        note: "Whether memory settles: MB resident during so many chat calls at 64 connections, as the median of looks since the count before: between two collections a heap goes up and down by a quarter.",
        columns: ["", "fresh", ...counts],
        rows: [...seen].map(([name, [megabytes = []]]) => [name, ...megabytes.map(readable)]),
      };
      return {
        tables: [table],
        findings: { memoryOfSoak: { ratios: growthOf(seen.get(tollgate.name)?.[0]) } },
      };
    }),
};

/** The last quarter of the calls beside the one before half; what compiles and caches has settled by then, and a leak has not. */
function growthOf([, ...megabytes]: readonly number[] = []): number[] {
  return ratiosOf(megabytes.slice(-1), megabytes.slice(stretches.indexOf(0.5)));
}

async function soak(contestant: RunningContestant, calls: number): Promise<number[]> {
  const { pid = 0 } = contestant;
  const asked = { ...contestant, request: chat.request, connections: 64, seconds: sliceSeconds };
  const look = (): number => residentMegabytes(pid);
  const megabytes = [look()];
  let done = 0;
  const callUpTo = async (count: number): Promise<void> => {
    while (done < count) done += (await load(asked)).requests;
  };
  for (const share of stretches) megabytes.push(await medianWhile(() => callUpTo(share * calls), look));
  return megabytes;
}

import { tollgate } from "../contestants/tollgate.ts";
import { readable } from "../report/chapter.ts";
import type { RunningContestant } from "../rig/contestant.ts";
import { inTurns } from "../rig/in-turns.ts";
import { residentMegabytes } from "../rig/memory.ts";
import { ratiosOf } from "../rig/statistics.ts";
import { openUpstream } from "../rig/upstream.ts";
import { withContestants } from "../rig/with-contestants.ts";
import { load } from "../rig/wrk.ts";
import { chat } from "../scenarios/chat.ts";
import type { Study } from "./study.ts";

/** Between two counts of what was served. */
const sliceSeconds = 2;
const looks = [0.1, 0.25, 0.5, 0.75, 1];

/** Whether memory settles: a bounded number of calls, with looks on the way. */
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
      const counts = looks.map((share) => `after ${(share * soakCalls).toLocaleString("en-US")}`);
      const table = {
        title: "Memory over a soak",
        note: "Whether memory settles: MB resident after so many chat calls at 64 connections.",
        columns: ["", "fresh", ...counts],
        rows: [...seen].map(([name, [megabytes = []]]) => [name, ...megabytes.map(readable)]),
      };
      return {
        tables: [table],
        findings: { memoryOfSoak: { ratios: growthOf(seen.get(tollgate.name)?.[0]) } },
      };
    }),
};

/** The last look beside the one at half; what compiles and caches has settled by then, and a leak has not. */
function growthOf([, ...megabytes]: readonly number[] = []): number[] {
  return ratiosOf(megabytes.slice(-1), megabytes.slice(looks.indexOf(0.5)));
}

async function soak(contestant: RunningContestant, calls: number): Promise<number[]> {
  const { pid = 0 } = contestant;
  const megabytes = [residentMegabytes(pid)];
  let done = 0;
  for (const share of looks) {
    while (done < share * calls) {
      const asked = { ...contestant, request: chat.request, connections: 64, seconds: sliceSeconds };
      done += (await load(asked)).requests;
    }
    megabytes.push(residentMegabytes(pid));
  }
  return megabytes;
}

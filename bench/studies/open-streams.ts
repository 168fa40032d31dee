import { bars } from "../bars.ts";
import { bareBun } from "../contestants/bare-bun.ts";
import { tollgate } from "../contestants/tollgate.ts";
import { readable, type Chapter } from "../report/chapter.ts";
import { marksOf, plotOfMarks, withSpread } from "../report/round-table.ts";
import type { RunningContestant } from "../rig/contestant.ts";
import { cpuSecondsBetween, readCpu } from "../rig/cpu.ts";
import { inTurns } from "../rig/in-turns.ts";
import { residentMegabytes } from "../rig/memory.ts";
import { openStreams } from "../rig/open-streams.ts";
import { openSseUpstream, type SseUpstream } from "../rig/sse-upstream.ts";
import { median, ratiosOf } from "../rig/statistics.ts";
import { withContestants } from "../rig/with-contestants.ts";
import { streamedChat } from "../scenarios/streamed-chat.ts";
import type { Study } from "./study.ts";

const streams = 1_000;
/** Long enough that all are open for a while before the first one ends. */
const pauseMs = 150;
const watchedMs = 5_000;
/** After the last stream has ended, before memory is looked at once more. */
const restMs = 1_000;
/** One round lasts as long as a stream; fewer of them are enough for a figure that hardly moves. */
const roundsMax = 3;
const roundSeconds = 20;

interface Seen {
  readonly cpuMicrosPerEvent: number;
  readonly megabytesBefore: number;
  readonly megabytes: number;
  readonly megabytesAfter: number;
}

/** A thousand streams at the same moment. */
export const openStreamStudy: Study = {
  name: "open-streams",
  expectedSeconds: (settings) =>
    settings.contestants.length * Math.min(settings.rounds, roundsMax) * roundSeconds,
  run: (settings) =>
    withContestants(openSseUpstream(pauseMs), streamedChat, settings, async (running, upstream) => {
      const rounds = Math.min(settings.rounds, roundsMax);
      const seen = await inTurns(running, { ...settings, rounds }, (contestant) =>
        look(contestant, upstream),
      );
      return chapterOf(seen);
    }),
};

async function look(contestant: RunningContestant, upstream: SseUpstream): Promise<Seen> {
  const { pid = 0 } = contestant;
  const megabytesBefore = residentMegabytes(pid);
  const callers = openStreams(streams, contestant, streamedChat.request);
  const open = await callers.begun;
  if (open < streams * 0.99) throw new Error(`only ${open} of ${streams} streams were open together`);
  const [cpuBefore, sentBefore] = [readCpu(pid), await upstream.eventsSent()];
  await Bun.sleep(watchedMs);
  const [cpuAfter, sentAfter] = [readCpu(pid), await upstream.eventsSent()];
  const megabytes = residentMegabytes(pid);
  const whole = await callers.ended;
  if (whole < streams) throw new Error(`only ${whole} of ${streams} streams came whole`);
  await Bun.sleep(restMs);
  return {
    cpuMicrosPerEvent: (cpuSecondsBetween(cpuBefore, cpuAfter) / (sentAfter - sentBefore)) * 1e6,
    megabytesBefore,
    megabytes,
    megabytesAfter: residentMegabytes(pid),
  };
}

function chapterOf(seen: ReadonlyMap<string, readonly Seen[]>): Chapter {
  const figures = (name: string, of: keyof Seen): number[] => (seen.get(name) ?? []).map((each) => each[of]);
  const beside = (name: string, of: keyof Seen): number[] =>
    ratiosOf(figures(name, of), figures(bareBun.name, of));
  return {
    tables: [
      {
        title: `Streams, ${streams.toLocaleString("en-US")} open`,
        note: `What it takes to keep many streams open: each caller opens one stream of 100 events, ${pauseMs} ms apart, and reads it to its end. CPU and memory are looked at while all are open; the last columns are the memory of the fresh process, and after the last stream of the last round had ended.`,
        columns: ["", "CPU µs/event", "× bare", "MB with all open", "× bare", "MB fresh", "MB afterwards"],
        rows: [...seen.keys()].map((name) => [
          name,
          withSpread(figures(name, "cpuMicrosPerEvent")),
          readable(median(beside(name, "cpuMicrosPerEvent"))),
          withSpread(figures(name, "megabytes")),
          readable(median(beside(name, "megabytes"))),
          readable(figures(name, "megabytesBefore")[0] ?? Number.NaN),
          readable(figures(name, "megabytesAfter").at(-1) ?? Number.NaN),
        ]),
        plot: plotOfMarks(
          "MB resident",
          marksOf([...seen.keys()].map((name) => [name, figures(name, "megabytes")])),
          { times: bars.memoryOfMany.atMost, of: bareBun.name },
        ),
      },
    ],
    findings: {
      eventOfMany: { ratios: beside(tollgate.name, "cpuMicrosPerEvent") },
      memoryOfMany: { ratios: beside(tollgate.name, "megabytes") },
    },
  };
}

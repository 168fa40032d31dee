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
import type { Settings, Study } from "./study.ts";

/** How many streams, how slow their events, and how long they are watched while all are open. */
interface Size {
  readonly streams: number;
  readonly pauseMs: number;
  readonly watchedMs: number;
}
/** A stream lasts long enough that all are open for a while before the first one ends. */
const whole: Size = { streams: 1_000, pauseMs: 150, watchedMs: 5_000 };
/** About as many events a second, in a sixth of the time. */
const small: Size = { streams: 200, pauseMs: 25, watchedMs: 1_500 };
const sizeOf = ({ short }: Pick<Settings, "short">): Size => (short ? small : whole);
/** After the last stream has ended, before memory is looked at once more. */
const restMs = 1_000;
/** One round lasts as long as a stream; fewer of them are enough for a figure that hardly moves. */
const roundsOf = ({ short, rounds }: Pick<Settings, "short" | "rounds">): number =>
  short ? 1 : Math.min(rounds, 3);
/** Processes that compile are not steady in their first round, which is not looked at. */
const warmUpRounds = 1;
const eventCount = 100;
/** Opening and closing. */
const secondsAround = 2.5;

interface Seen {
  readonly cpuMicrosPerEvent: number;
  readonly megabytesBefore: number;
  readonly megabytes: number;
  readonly megabytesAfter: number;
}

/** A thousand streams at the same moment. */
export const openStreamStudy: Study = {
  name: "open-streams",
  inShort: [bareBun, tollgate],
  expectedSeconds: (settings) => {
    const streamSeconds = (sizeOf(settings).pauseMs * eventCount) / 1000;
    const rounds = warmUpRounds + roundsOf(settings);
    // The one stream that is read before takes as long as each of the others.
    return settings.contestants.length * (streamSeconds + rounds * (streamSeconds + secondsAround));
  },
  run: (settings) => {
    const size = sizeOf(settings);
    return withContestants(
      openSseUpstream(size.pauseMs),
      streamedChat,
      settings,
      async (running, upstream) => {
        const rounds = warmUpRounds + roundsOf(settings);
        const seen = await inTurns(running, { ...settings, rounds }, (contestant) =>
          look(contestant, upstream, size),
        );
        return chapterOf(seen, size);
      },
    );
  },
};

async function look(
  contestant: RunningContestant,
  upstream: SseUpstream,
  { streams, watchedMs }: Size,
): Promise<Seen> {
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

function chapterOf(seen: ReadonlyMap<string, readonly Seen[]>, { streams, pauseMs }: Size): Chapter {
  const allFigures = (name: string, of: keyof Seen): number[] =>
    (seen.get(name) ?? []).map((each) => each[of]);
  const figures = (name: string, of: keyof Seen): number[] => allFigures(name, of).slice(warmUpRounds);
  const beside = (name: string, of: keyof Seen): number[] =>
    ratiosOf(figures(name, of), figures(bareBun.name, of));
  const compared = streams === whole.streams ? {} : { compared: `with ${streams} open` };
  return {
    tables: [
      {
        title: `Streams, ${streams.toLocaleString("en-US")} open`,
        note: `What it takes to keep many streams open: each caller opens one stream of ${eventCount} events, ${pauseMs} ms apart, and reads it to its end. CPU and memory are looked at while all are open; the last columns are the memory of the fresh process, and after the last stream of the last round had ended. A first round, which warms up, is not counted.`,
        columns: ["", "CPU µs/event", "× bare", "MB with all open", "× bare", "MB fresh", "MB afterwards"],
        rows: [...seen.keys()].map((name) => [
          name,
          withSpread(figures(name, "cpuMicrosPerEvent")),
          readable(median(beside(name, "cpuMicrosPerEvent"))),
          withSpread(figures(name, "megabytes")),
          readable(median(beside(name, "megabytes"))),
          readable(allFigures(name, "megabytesBefore")[0] ?? Number.NaN),
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
      eventOfMany: { ratios: beside(tollgate.name, "cpuMicrosPerEvent"), ...compared },
      memoryOfMany: { ratios: beside(tollgate.name, "megabytes"), ...compared },
    },
  };
}

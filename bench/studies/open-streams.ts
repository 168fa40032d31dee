import { bareBun } from "../contestants/bare-bun.ts";
import { direct } from "../contestants/direct.ts";
import { tollgate } from "../contestants/tollgate.ts";
import { readable } from "../report/chapter.ts";
import { marksOf, ratioOf, withSpread } from "../report/round-table.ts";
import type { RunningContestant } from "../rig/contestant.ts";
import { cpuSeconds } from "../rig/cpu.ts";
import { residentMegabytes } from "../rig/memory.ts";
import { openStreams } from "../rig/open-streams.ts";
import { openSseUpstream, type SseUpstream } from "../rig/sse-upstream.ts";
import { median } from "../rig/statistics.ts";
import { withContestants } from "../rig/with-contestants.ts";
import { streamedChat } from "../scenarios/streamed-chat.ts";
import { eventBar } from "./streams.ts";
import type { Study } from "./study.ts";

const streams = 1_000;
/** Long enough that all are open for a while before the first one ends. */
const pauseMs = 150;
const watchedMs = 5_000;
/** One round lasts as long as a stream; fewer of them are enough for a figure that hardly moves. */
const roundsMax = 3;

interface Seen {
  readonly cpuMicrosPerEvent: number;
  readonly idleMegabytes: number;
  readonly megabytes: number;
}

/** A thousand streams at the same moment. */
export const openStreamStudy: Study = {
  name: "open-streams",
  inShort: false,
  run: (settings) => {
    const contestants = settings.contestants.filter(({ name }) => name !== direct.name);
    return withContestants(openSseUpstream(pauseMs), contestants, async (running, upstream) => {
      const all = new Map<string, Seen[]>([...running.keys()].map((name) => [name, []]));
      for (let round = 0; round < Math.min(settings.rounds, roundsMax); round++) {
        for (const [name, seen] of all) {
          const contestant = running.get(name);
          try {
            if (contestant) seen.push(await look(contestant, upstream));
          } catch (error) {
            all.delete(name);
            console.error(`left out: ${name}: ${error instanceof Error ? error.message : String(error)}`);
          }
        }
      }
      const figures = (of: keyof Seen): Map<string, number[]> =>
        new Map([...all].map(([name, seen]) => [name, seen.map((each) => each[of])]));
      const [costs, memory, idle] = [
        figures("cpuMicrosPerEvent"),
        figures("megabytes"),
        figures("idleMegabytes"),
      ];
      const beside = (values: ReadonlyMap<string, readonly number[]>, name: string): number | undefined =>
        ratioOf(values.get(name) ?? [], values.get(bareBun.name) ?? []);
      return {
        tables: [
          {
            title: `Streams, ${streams.toLocaleString("en-US")} open`,
            note: `Each caller opens one stream of 100 events, ${pauseMs} ms apart, and reads it to its end. CPU and memory are looked at while all are open.`,
            columns: ["", "CPU µs/event", "× bare", "MB with all open", "× bare", "MB before the first"],
            rows: [...all.keys()].map((name) => [
              name,
              withSpread(costs.get(name) ?? []),
              readable(beside(costs, name) ?? Number.NaN),
              readable(median(memory.get(name) ?? [])),
              readable(beside(memory, name) ?? Number.NaN),
              readable(idle.get(name)?.[0] ?? Number.NaN),
            ]),
            plot: { unit: "MB resident", marks: marksOf([...memory]) },
          },
        ],
        bars: [
          eventBar(costs, streams),
          {
            promise: "SSE, 1,000 open: memory beside the bare Bun pass-through",
            ratio: beside(memory, tollgate.name),
            atMost: 3,
            inShort: 6,
          },
        ],
      };
    });
  },
};

async function look(contestant: RunningContestant, upstream: SseUpstream): Promise<Seen> {
  const { pid = 0 } = contestant;
  const idleMegabytes = residentMegabytes(pid);
  const callers = openStreams(streams, contestant, streamedChat.request);
  const open = await callers.begun;
  if (open < streams * 0.99) throw new Error(`only ${open} of ${streams} streams were open together`);
  const [cpuBefore, sentBefore] = [cpuSeconds(pid), await upstream.eventsSent()];
  await Bun.sleep(watchedMs);
  const [cpuAfter, sentAfter] = [cpuSeconds(pid), await upstream.eventsSent()];
  const megabytes = residentMegabytes(pid);
  const whole = await callers.ended;
  if (whole < streams) throw new Error(`only ${whole} of ${streams} streams came whole`);
  return {
    cpuMicrosPerEvent: ((cpuAfter - cpuBefore) / (sentAfter - sentBefore)) * 1e6,
    idleMegabytes,
    megabytes,
  };
}

import { bars } from "../bars.ts";
import { bareBun } from "../contestants/bare-bun.ts";
import { nginxProxy } from "../contestants/nginx-proxy.ts";
import { tollgate } from "../contestants/tollgate.ts";
import { readable, type Table } from "../report/chapter.ts";
import { marksOf, plotOfMarks, withSpread } from "../report/round-table.ts";
import type { RunningContestant } from "../rig/contestant.ts";
import { cpuSecondsBetween, readCpu } from "../rig/cpu.ts";
import { inTurns } from "../rig/in-turns.ts";
import { openSseUpstream, type SseUpstream } from "../rig/sse-upstream.ts";
import { median, ratiosOf } from "../rig/statistics.ts";
import { warmUp } from "../rig/warm-up.ts";
import { withContestants } from "../rig/with-contestants.ts";
import { load, type Load } from "../rig/wrk.ts";
import { streamedChat } from "../scenarios/streamed-chat.ts";
import { expectedRounds, usualWarmUp, type Study } from "./study.ts";

const connections = 16;
/**
 * What is done once for a stream is compiled after thousands of them, which sixteen at a time would take a minute to bring:
 * until then up to a fifth of what is measured is compiling.
 */
const warmUpConnections = 256;
/** Eight thousand events a second: enough to weigh, and everybody keeps the pace. */
const pauseMs = 2;

/** A few streams at a time, one after the other. */
export const streamStudy: Study = {
  name: "streams",
  inShort: [bareBun, tollgate],
  expectedSeconds: (settings) => expectedRounds(settings.contestants.length, settings, usualWarmUp(settings)),
  run: (settings) =>
    withContestants(openSseUpstream(pauseMs), streamedChat, settings, async (running, upstream) => {
      const bounds = { ...settings, bounds: settings.warmUp };
      const warm = await warmUp(running, bounds, (contestant) =>
        cpuPerEvent(contestant, upstream, { connections: warmUpConnections, seconds: 1 }),
      );
      const costs = await inTurns(warm, settings, (contestant) =>
        cpuPerEvent(contestant, upstream, { connections, seconds: settings.roundSeconds }),
      );
      return {
        tables: [eventTable(costs)],
        findings: {
          eventOfFew: { ratios: ratiosOf(costs.get(tollgate.name) ?? [], costs.get(bareBun.name) ?? []) },
        },
      };
    }),
};

async function cpuPerEvent(
  contestant: RunningContestant,
  upstream: SseUpstream,
  { connections, seconds }: Pick<Load, "connections" | "seconds">,
): Promise<number> {
  const { pid = 0 } = contestant;
  const { request } = streamedChat;
  const [cpuBefore, sentBefore] = [readCpu(pid), await upstream.eventsSent()];
  await load({ ...contestant, request, connections, seconds });
  const [cpuAfter, sentAfter] = [readCpu(pid), await upstream.eventsSent()];
  return (cpuSecondsBetween(cpuBefore, cpuAfter) / (sentAfter - sentBefore)) * 1e6;
}

const eventTable = (costs: ReadonlyMap<string, readonly number[]>): Table => ({
  title: `Streams, ${connections} open`,
  note: `What passing on one event costs: streams of 100 events, ${pauseMs} ms apart, each written by itself, because that is how models speak. The bare proxy passes bytes; Tollgate meters every event and settles before the end.`,
  columns: ["", "CPU µs/event", "× bare", "× nginx"],
  rows: [...costs].map(([name, values]) => [
    name,
    withSpread(values),
    ...[bareBun.name, nginxProxy.name].map((other) =>
      readable(median(ratiosOf(values, costs.get(other) ?? []))),
    ),
  ]),
  plot: plotOfMarks("CPU µs/event", marksOf([...costs]), {
    times: bars.eventOfFew.atMost,
    of: bareBun.name,
  }),
});

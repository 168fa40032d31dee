import { bareBun } from "../contestants/bare-bun.ts";
import { direct } from "../contestants/direct.ts";
import { nginxProxy } from "../contestants/nginx-proxy.ts";
import { tollgate } from "../contestants/tollgate.ts";
import { readable, type Bar, type Table } from "../report/chapter.ts";
import { marksOf, ratioOf, withSpread } from "../report/round-table.ts";
import type { RunningContestant } from "../rig/contestant.ts";
import { cpuSeconds } from "../rig/cpu.ts";
import { openSseUpstream, type SseUpstream } from "../rig/sse-upstream.ts";
import { withContestants } from "../rig/with-contestants.ts";
import { load } from "../rig/wrk.ts";
import { streamedChat } from "../scenarios/streamed-chat.ts";
import type { Settings, Study } from "./study.ts";

const connections = 16;
/** Eight thousand events a second: enough to weigh, and everybody keeps the pace. */
const pauseMs = 2;

type EventCosts = ReadonlyMap<string, readonly number[]>;

/** A few streams at a time, one after the other. */
export const streamStudy: Study = {
  name: "streams",
  inShort: true,
  run: (settings) => {
    const contestants = settings.contestants.filter(
      ({ name }) => name !== direct.name && !(settings.short && name === nginxProxy.name),
    );
    return withContestants(openSseUpstream(pauseMs), contestants, async (running, upstream) => {
      const costs = await measure(running, upstream, settings);
      return { tables: [eventTable(costs)], bars: [eventBar(costs, connections)] };
    });
  },
};

async function measure(
  running: ReadonlyMap<string, RunningContestant>,
  upstream: SseUpstream,
  { rounds, roundSeconds, warmUpSeconds }: Settings,
): Promise<EventCosts> {
  const costs = new Map<string, number[]>([...running.keys()].map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const [name, figures] of costs) {
      const contestant = running.get(name);
      const seconds = round < 0 ? warmUpSeconds : roundSeconds;
      try {
        const micros = contestant && (await cpuPerEvent(contestant, upstream, seconds));
        if (micros !== undefined && round >= 0) figures.push(micros);
      } catch (error) {
        costs.delete(name);
        console.error(`left out: ${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
  return costs;
}

async function cpuPerEvent(
  contestant: RunningContestant,
  upstream: SseUpstream,
  seconds: number,
): Promise<number> {
  const { pid = 0, headers = {} } = contestant;
  const request = { ...streamedChat.request, headers: { ...streamedChat.request.headers, ...headers } };
  const [cpuBefore, sentBefore] = [cpuSeconds(pid), await upstream.eventsSent()];
  const { statuses, broken } = await load({ ...contestant, request, connections, seconds });
  const [cpuAfter, sentAfter] = [cpuSeconds(pid), await upstream.eventsSent()];
  if (broken > 0 || statuses.size !== 1 || !statuses.has(200)) {
    throw new Error(`${broken} broken streams; answers: ${[...statuses.keys()].join(", ")}`);
  }
  return ((cpuAfter - cpuBefore) / (sentAfter - sentBefore)) * 1e6;
}

export const eventBar = (costs: EventCosts, open: number): Bar => ({
  promise: `SSE, ${open.toLocaleString("en-US")} open: CPU per event beside the bare Bun pass-through`,
  ratio: ratioOf(costs.get(tollgate.name) ?? [], costs.get(bareBun.name) ?? []),
  atMost: 1.5,
  inShort: 5,
});

const eventTable = (costs: EventCosts): Table => ({
  title: `Streams, ${connections} open`,
  note: `Streams of 100 events, ${pauseMs} ms apart, each written by itself, because that is how models speak. The bare proxy passes bytes; Tollgate meters every event and settles before the end.`,
  columns: ["", "CPU µs/event", "× bare", "× nginx"],
  rows: [...costs].map(([name, values]) => [
    name,
    withSpread(values),
    ...[bareBun.name, nginxProxy.name].map((other) =>
      readable(ratioOf(values, costs.get(other) ?? []) ?? Number.NaN),
    ),
  ]),
  plot: { unit: "CPU µs/event", marks: marksOf([...costs]) },
});

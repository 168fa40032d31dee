import { bareBun } from "../contestants/bare-bun.ts";
import { direct } from "../contestants/direct.ts";
import { nginxProxy } from "../contestants/nginx-proxy.ts";
import { tollgate } from "../contestants/tollgate.ts";
import { readable, type Bar } from "../report/chapter.ts";
import { runRounds, type Round } from "../rig/rounds.ts";
import { median } from "../rig/statistics.ts";
import { openUpstream } from "../rig/upstream.ts";
import { withContestants } from "../rig/with-contestants.ts";
import { chat } from "../scenarios/chat.ts";
import type { Study } from "./study.ts";

/**
 * wrk has no rate limit, but its callers can think. Many callers who think much longer than they wait for an answer
 * send at a rate that hardly depends on how fast the answers are, which is what an open load is.
 */
const callers = 256;
/** Portkey cannot keep this pace, so it has no latency at it. */
const names = [direct.name, nginxProxy.name, bareBun.name, tollgate.name];

export const latencyStudy: Study = {
  name: "latency",
  inShort: false,
  run: (settings) => {
    const contestants = settings.contestants.filter(({ name }) => names.includes(name));
    return withContestants(openUpstream(chat.answer), contestants, async (running) => {
      const pace = { ...settings, request: chat.request };
      const bare = new Map([...running].filter(([name]) => name === bareBun.name));
      const tries = [];
      for (const connections of [16, 64, 256])
        tries.push(await runRounds(bare, { ...pace, rounds: 2, warmUpSeconds: 3, connections }));
      const best = Math.max(...tries.map((results) => rateOf(results.get(bareBun.name) ?? [])));
      const thinkMs = (callers / (best / 2)) * 1000;
      const results = await runRounds(running, { ...pace, connections: callers, thinkMs });
      return { tables: [table(results, best)], bars: barsOf(results) };
    });
  },
};

type Results = ReadonlyMap<string, readonly Round[]>;

const rateOf = (rounds: readonly Round[]): number =>
  median(rounds.map(({ requestsPerSecond }) => requestsPerSecond));

const columns = ["p50Ms", "p99Ms"] as const;

/** What standing between adds to what the upstream alone takes, in the median round. */
function added(results: Results, name: string, column: (typeof columns)[number]): number {
  const of = (rounds: readonly Round[]): number => median(rounds.map((round) => round[column]));
  return of(results.get(name) ?? []) - of(results.get(direct.name) ?? []);
}

function barsOf(results: Results): Bar[] {
  const ratio = (column: (typeof columns)[number]): number | undefined => {
    const value = added(results, tollgate.name, column) / added(results, bareBun.name, column);
    return Number.isFinite(value) ? value : undefined;
  };
  return [
    {
      promise: "Added latency, p50: beside what the bare proxy adds",
      ratio: ratio("p50Ms"),
      atMost: 2,
      inShort: 50,
    },
    {
      promise: "Added latency, p99: beside what the bare proxy adds",
      ratio: ratio("p99Ms"),
      atMost: 3,
      inShort: 20,
    },
  ];
}

const table = (results: Results, best: number) => ({
  title: "Latency at half of the bare proxy's best throughput",
  note: `Chat at about ${readable(best / 2)} requests/s, half of the ${readable(best)} that the bare proxy serves at best: ${callers} callers who think for a random time between answer and request. Added is what comes on top of direct. Durable settlement included.`,
  columns: ["", "requests/s", "p50 ms", "p99 ms", "p50 added", "p99 added"],
  rows: [...results].map(([name, rounds]) => [
    name,
    readable(rateOf(rounds)),
    ...columns.map((column) => readable(median(rounds.map((round) => round[column])))),
    ...columns.map((column) => (name === direct.name ? "–" : readable(added(results, name, column)))),
  ]),
});

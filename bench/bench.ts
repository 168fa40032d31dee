// How much a call costs beyond what a proxy costs: the same upstream, the same load, contestants in turn. CPU time is
// the process's own accounting, so a busy machine disturbs it less than it disturbs a clock; judge the ratios.
//
//   npm run bench -- [--connections 64] [--rounds 5] [--seconds 3] [--only "Tollgate,bare Bun proxy"] [--stream]

import { parseArgs } from "node:util";
import { bareBun } from "./contestants/bare-bun.ts";
import { direct } from "./contestants/direct.ts";
import { nginxProxy } from "./contestants/nginx-proxy.ts";
import { tollgate } from "./contestants/tollgate.ts";
import type { RunningContestant } from "./rig/contestant.ts";
import { runRounds, type Round } from "./rig/rounds.ts";
import { median, medianRatio, spread } from "./rig/statistics.ts";
import { openUpstream } from "./rig/upstream.ts";
import { chat } from "./scenarios/chat.ts";
import { streamedChat } from "./scenarios/streamed-chat.ts";

const contestants = [direct, nginxProxy, bareBun, tollgate];

const { values } = parseArgs({
  options: {
    connections: { type: "string", default: "64" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    only: { type: "string" },
    idempotent: { type: "boolean", default: false },
    stream: { type: "boolean", default: false },
  },
});
const chosen = contestants.filter(({ name }) => values.only?.split(",").includes(name) ?? true);
const { request, answer } = values.stream ? streamedChat : chat;
const upstream = await openUpstream(answer);
const running = new Map<string, RunningContestant>();
try {
  for (const contestant of chosen) running.set(contestant.name, await contestant.open(upstream));
  const rounds = await runRounds(running, {
    request: { ...request, idempotent: values.idempotent },
    connections: Number(values.connections),
    rounds: Number(values.rounds),
    roundSeconds: Number(values.seconds),
    warmUpSeconds: 3,
  });
  print(rounds);
} finally {
  for (const contestant of running.values()) await contestant.close();
  await upstream.close();
}

function print(results: ReadonlyMap<string, readonly Round[]>): void {
  const floor = cpuOf(results.get(bareBun.name) ?? []);
  const limit = cpuOf(results.get(nginxProxy.name) ?? []);
  const rows = [...results].map(([name, rounds]) => {
    const cpu = cpuOf(rounds);
    const { least, most } = spread(cpu);
    return {
      contestant: name,
      "CPU µs/request":
        cpu.length === 0 ? "-" : `${median(cpu).toFixed(1)} (${least.toFixed(1)}–${most.toFixed(1)})`,
      "× bare Bun": medianRatio(cpu, floor).toFixed(2),
      "× nginx": medianRatio(cpu, limit).toFixed(2),
      "requests/s": Math.round(median(rounds.map(({ requestsPerSecond }) => requestsPerSecond))),
      "p50 ms": median(rounds.map(({ p50Ms }) => p50Ms)).toFixed(2),
      "p99 ms": median(rounds.map(({ p99Ms }) => p99Ms)).toFixed(2),
    };
  });
  console.table(rows);
}

function cpuOf(rounds: readonly Round[]): number[] {
  return rounds.flatMap(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest ?? []);
}

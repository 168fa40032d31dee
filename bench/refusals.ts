// What it costs to refuse, beside what it costs to serve: strangers (401), callers without credit (402) and callers
// above their limit (429) ask as fast as they are answered.
//
//   node scripts/run.mjs bench/refusals.ts [rounds]

import { openTollgateFor, tollgate } from "./contestants/tollgate.ts";
import type { RunningContestant } from "./rig/contestant.ts";
import { load } from "./rig/wrk.ts";
import { runRounds } from "./rig/rounds.ts";
import { median, medianRatio } from "./rig/statistics.ts";
import { openUpstream } from "./rig/upstream.ts";
import { chat } from "./scenarios/chat.ts";

const strangers = ["tgk_0000000000000000000000000000000000"];

const upstream = await openUpstream(chat.answer);
const running = new Map<string, RunningContestant>();
try {
  const served = await tollgate.open(upstream);
  running.set("served", served);
  running.set("401", { ...(await tollgate.open(upstream)), keys: strangers, status: 401 });
  running.set("402", { ...(await openTollgateFor("poor", upstream)), status: 402 });
  const limited = await openTollgateFor("limited", upstream);
  // Everybody uses up the one request of the minute.
  await load({ ...limited, request: chat.request, connections: 1, seconds: 1 });
  running.set("429", { ...limited, status: 429 });

  const rounds = await runRounds(running, {
    request: chat.request,
    connections: 64,
    rounds: Number(process.argv[2] ?? 4),
    roundSeconds: 2,
    warmUpSeconds: 2,
  });
  const cpu = [...rounds].map(
    ([name, all]) => [name, all.flatMap(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest ?? [])] as const,
  );
  const cost = cpu[0]?.[1] ?? [];
  for (const [name, each] of cpu) {
    console.log(
      `${name.padEnd(8)} ${median(each).toFixed(1)} µs, × served ${medianRatio(each, cost).toFixed(2)}`,
    );
  }
} finally {
  for (const contestant of running.values()) await contestant.close();
  await upstream.close();
}

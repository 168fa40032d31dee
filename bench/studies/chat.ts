import { bareBun } from "../contestants/bare-bun.ts";
import { nginxProxy } from "../contestants/nginx-proxy.ts";
import { portkey } from "../contestants/portkey.ts";
import { tollgate } from "../contestants/tollgate.ts";
import type { Bar, Table } from "../report/chapter.ts";
import { cpuRatio, roundTable } from "../report/round-table.ts";
import { runRounds, type Round } from "../rig/rounds.ts";
import { openUpstream } from "../rig/upstream.ts";
import { withContestants } from "../rig/with-contestants.ts";
import { chat } from "../scenarios/chat.ts";
import type { Settings, Study } from "./study.ts";

/** Where the bars are set: enough callers to keep a process busy, few enough that nobody queues for long. */
const judgedConnections = 64;
const beside = { [bareBun.name]: "× bare", [nginxProxy.name]: "× nginx" };
/** Those to whom an idempotency key means something, and whom they are compared with. */
const withKeys = [bareBun.name, tollgate.name];

export const chatStudy: Study = {
  name: "chat",
  inShort: true,
  run: (settings) =>
    withContestants(openUpstream(chat.answer), settings.contestants, async (running) => {
      const tables: Table[] = [];
      const bars: Bar[] = [];
      // Bun compiles what is hot while it runs, so everybody is warmed up at length once, and briefly before each size.
      const request = chat.request;
      await runRounds(running, { ...settings, request, connections: judgedConnections, rounds: 0 });
      const warm = { ...settings, warmUpSeconds: 1 };
      for (const connections of settings.connections) {
        const results = await runRounds(running, { ...warm, request, connections });
        const judged = connections === judgedConnections;
        tables.push(
          table(`Chat, ${connections} ${connections === 1 ? "connection" : "connections"}`, results, judged),
        );
        if (judged) bars.push(...barsOf(results, settings));
      }
      if (settings.short) return { tables, bars };
      const chosen = new Map([...running].filter(([name]) => withKeys.includes(name)));
      for (const connections of settings.connections) {
        const results = await runRounds(chosen, {
          ...warm,
          request: { ...request, idempotent: true },
          connections,
        });
        tables.push(
          table(
            `Chat with idempotency keys, ${connections} ${connections === 1 ? "connection" : "connections"}`,
            results,
            connections === judgedConnections,
          ),
        );
      }
      return { tables, bars };
    }),
};

const table = (title: string, results: ReadonlyMap<string, readonly Round[]>, drawn: boolean): Table =>
  roundTable({
    title,
    note: "A JSON question and answer of ordinary size, asked as fast as answers come. The bare proxy parses both bodies and does nothing else; Tollgate has everything on.",
    results,
    beside,
    drawn,
  });

const barsOf = (results: ReadonlyMap<string, readonly Round[]>, { contestants }: Settings): Bar[] => [
  {
    promise: "Chat: CPU beside the bare Bun proxy",
    ratio: cpuRatio(results, tollgate.name, bareBun.name),
    atMost: 1.5,
    inShort: 8,
  },
  {
    promise: "Chat: CPU beside nginx as a proxy",
    ratio: cpuRatio(results, tollgate.name, nginxProxy.name),
    atMost: 6,
    inShort: 18,
  },
  ...(contestants.includes(portkey)
    ? [
        {
          promise: "Chat: Portkey's CPU beside ours",
          ratio: cpuRatio(results, portkey.name, tollgate.name),
          atLeast: 15,
          inShort: 5,
        },
      ]
    : []),
];

import { bars } from "../bars.ts";
import { bareBun } from "../contestants/bare-bun.ts";
import { nginxProxy } from "../contestants/nginx-proxy.ts";
import { portkey } from "../contestants/portkey.ts";
import { tollgate } from "../contestants/tollgate.ts";
import type { Table } from "../report/chapter.ts";
import { cpuRatios, roundTable, type Limit } from "../report/round-table.ts";
import { runRounds, warmUpUnder, type Results } from "../rig/rounds.ts";
import { openUpstream } from "../rig/upstream.ts";
import { briefly, notAtAll } from "../rig/warm-up.ts";
import { only, withContestants } from "../rig/with-contestants.ts";
import { chat } from "../scenarios/chat.ts";
import { expectedRounds, fewerRounds, usualWarmUp, type Settings, type Study } from "./study.ts";

/** Where the bars are set: enough callers to keep a process busy, few enough that nobody queues for long. */
const judgedConnections = 64;
/** Those to whom an idempotency key means something, and whom they are compared with. */
const withKeys = [bareBun.name, tollgate.name];

export const chatStudy: Study = {
  name: "chat",
  inShort: [nginxProxy, bareBun, tollgate],
  expectedSeconds: (settings) => {
    const { contestants, connections, short } = settings;
    const one = (count: number, size: number): number =>
      expectedRounds(count, roundsAt(size, settings), short ? 0 : briefly.secondsMax);
    const all = connections.map((size) => one(contestants.length, size) + (short ? 0 : one(2, size)));
    return contestants.length * usualWarmUp(settings) + all.reduce((sum, seconds) => sum + seconds, 0);
  },
  run: (settings) =>
    withContestants(openUpstream(chat.answer), chat, settings, async (running) => {
      const { request } = chat;
      // Everybody is warmed up at length once, and briefly before each size.
      const plan = { ...settings, request, connections: judgedConnections };
      const warm = await warmUpUnder(running, plan);
      const brief = { ...plan, warmUp: settings.short ? notAtAll : briefly };

      const measured = new Map<number, Results>();
      for (const connections of settings.connections) {
        const rounds = roundsAt(connections, settings);
        measured.set(connections, await runRounds(warm, { ...brief, ...rounds, connections }));
      }
      const keyed = new Map<number, Results>();
      for (const connections of settings.short ? [] : settings.connections) {
        const asked = { ...request, idempotent: true };
        const rounds = roundsAt(connections, settings);
        keyed.set(
          connections,
          await runRounds(only(warm, withKeys), { ...brief, ...rounds, request: asked, connections }),
        );
      }
      return {
        tables: [
          ...[...measured].map(([connections, results]) => table(plain, connections, results)),
          ...[...keyed].map(([connections, results]) => table(withKey, connections, results)),
        ],
        findings: findingsOf(measured.get(judgedConnections) ?? new Map()),
      };
    }),
};

const roundsAt = (connections: number, settings: Settings) =>
  connections === judgedConnections ? settings : fewerRounds(settings);

interface Kind {
  readonly name: string;
  readonly note: string;
  readonly limit?: Limit;
}

const plain: Kind = {
  name: "Chat",
  note: "What one JSON question and answer of ordinary size costs when asked as fast as answers come. The bare proxy parses both bodies and does nothing else; the metered one also holds and settles every call durably, and nothing more; Tollgate has everything on.",
  limit: { times: bars.chatBesideBare.atMost, of: bareBun.name },
};
const withKey: Kind = {
  name: "Chat with idempotency keys",
  note: "The same with a new idempotency key in every request, which Tollgate must remember durably and the bare proxy ignores: the distance to the table without keys is what a key costs.",
};

const table = ({ name, ...kind }: Kind, connections: number, results: Results): Table =>
  roundTable({
    ...kind,
    title: `${name}, ${connections} ${connections === 1 ? "connection" : "connections"}`,
    results,
    beside: { [bareBun.name]: "× bare", [nginxProxy.name]: "× nginx" },
    drawn: connections === judgedConnections,
  });

const findingsOf = (results: Results) => ({
  chatBesideBare: { ratios: cpuRatios(results, tollgate.name, bareBun.name) },
  chatBesideNginx: { ratios: cpuRatios(results, tollgate.name, nginxProxy.name) },
  portkeyBesideChat: { ratios: cpuRatios(results, portkey.name, tollgate.name) },
});

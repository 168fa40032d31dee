import { bars } from "../bars.ts";
import { bareBun } from "../contestants/bare-bun.ts";
import { nginxProxy } from "../contestants/nginx-proxy.ts";
import { nodeVersions, portkey, portkeyOnNewestNode } from "../contestants/portkey.ts";
import { tollgate } from "../contestants/tollgate.ts";
import { readable, type Table } from "../report/chapter.ts";
import { cpuOf, cpuRatios, ratesOf, roundTable, withSpread } from "../report/round-table.ts";
import type { Runners } from "../rig/in-turns.ts";
import { runRounds, warmUpUnder, type Results } from "../rig/rounds.ts";
import { median, ratiosOf } from "../rig/statistics.ts";
import { openUpstream } from "../rig/upstream.ts";
import { briefly, notAtAll } from "../rig/warm-up.ts";
import { withContestants } from "../rig/with-contestants.ts";
import { chat } from "../scenarios/chat.ts";
import { expectedRounds, fewerRounds, usualWarmUp, type Settings, type Study } from "./study.ts";

/** Where the bars are set: enough callers to keep a process busy, few enough that nobody queues for long. */
const judgedConnections = 64;
/** The same process as without, asked in the same rounds: what lies between the two is the key's price. */
const tollgateWithKeys = `${tollgate.name}, with keys`;

export const chatStudy: Study = {
  name: "chat",
  inShort: [nginxProxy, bareBun, tollgate],
  expectedSeconds: (settings) => {
    const { contestants, connections, short } = settings;
    const entries = contestants.length + (short ? 0 : 1);
    const all = connections.map((size) =>
      expectedRounds(entries, roundsAt(size, settings), short ? 0 : briefly.secondsMax),
    );
    return entries * usualWarmUp(settings) + all.reduce((sum, seconds) => sum + seconds, 0);
  },
  run: (settings) =>
    withContestants(openUpstream(chat.answer), chat, settings, async (running) => {
      const entries = settings.short ? running : enterWithKeys(running);
      // Everybody is warmed up at length once, and briefly before each size.
      const plan = { ...settings, request: chat.request, connections: judgedConnections };
      const warm = await warmUpUnder(entries, plan);
      const brief = { ...plan, warmUp: settings.short ? notAtAll : briefly };

      const measured = new Map<number, Results>();
      for (const connections of settings.connections) {
        const rounds = roundsAt(connections, settings);
        measured.set(connections, await runRounds(warm, { ...brief, ...rounds, connections }));
      }
      return {
        tables: [chatTable(measured), ...(settings.short ? [] : [keyTable(measured)])],
        findings: findingsOf(measured.get(judgedConnections) ?? new Map()),
      };
    }),
};

const roundsAt = (connections: number, settings: Settings) =>
  connections === judgedConnections ? settings : fewerRounds(settings);

function enterWithKeys(running: Runners): Runners {
  return new Map(
    [...running].flatMap((entry) => {
      const [name, contestant] = entry;
      return name === tollgate.name
        ? [entry, [tollgateWithKeys, { ...contestant, idempotent: true }]]
        : [entry];
    }),
  );
}

type Measured = ReadonlyMap<number, Results>;

const chatTable = (measured: Measured): Table =>
  roundTable({
    title: "Chat",
    note: "What one JSON question and answer of ordinary size costs when asked as fast as answers come. The bare proxy parses both bodies and does nothing else; the metered one also holds and settles every call durably, and nothing more; Tollgate has everything on.",
    groups: { column: "connections", results: measured },
    beside: { [bareBun.name]: "× bare", [nginxProxy.name]: "× nginx" },
    drawn: judgedConnections,
    limit: { times: bars.chatBesideBare.atMost, of: bareBun.name },
  });

const keyTable = (measured: Measured): Table => ({
  title: "The price of an idempotency key",
  note: "The same calls of the same Tollgate in the same rounds, without a key and with a new one in every request, which it must remember durably.",
  columns: ["connections", "CPU µs/request without", "with", "ratio", "requests/s without", "with", "ratio"],
  rows: [...measured].map(([connections, results]) => [
    String(connections),
    ...([cpuOf, ratesOf] as const).flatMap((figure) => {
      const [without, withKey] = [tollgate.name, tollgateWithKeys].map((name) =>
        figure(results.get(name) ?? []),
      );
      const ratios = ratiosOf(withKey ?? [], without ?? []);
      return [without ?? [], withKey ?? [], ratios].map(withSpread);
    }),
  ]),
});

/** Which Node runs it matters more than most of what we could do. */
function comparedPortkey(results: Results): { readonly compared: string } {
  const onNewest = readable(median(cpuRatios(results, portkeyOnNewestNode.name, tollgate.name)));
  return { compared: `on Node ${nodeVersions.usual()}; on Node ${nodeVersions.newest()}: ${onNewest}` };
}

const findingsOf = (results: Results) => ({
  chatBesideBare: { ratios: cpuRatios(results, tollgate.name, bareBun.name) },
  chatBesideNginx: { ratios: cpuRatios(results, tollgate.name, nginxProxy.name) },
  portkeyBesideChat: {
    ratios: cpuRatios(results, portkey.name, tollgate.name),
    ...(results.has(portkey.name) ? comparedPortkey(results) : {}),
  },
});

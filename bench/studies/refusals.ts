import { bars } from "../bars.ts";
import { tollgateAs } from "../contestants/tollgate.ts";
import { cpuRatios, roundTable } from "../report/round-table.ts";
import type { Contestant, RunningContestant } from "../rig/contestant.ts";
import { askOnce } from "../rig/probe.ts";
import { runRounds } from "../rig/rounds.ts";
import { plentyMicros, type AccountOptions } from "../rig/tollgate-server.ts";
import { openUpstream } from "../rig/upstream.ts";
import { withContestants } from "../rig/with-contestants.ts";
import { chat } from "../scenarios/chat.ts";
import { expectedRounds, usualWarmUp, type Settings, type Study } from "./study.ts";

const connections = 64;
const stranger = "tgk_0000000000000000000000000000000000";
const rich: AccountOptions = { creditMicros: plentyMicros, tier: "enterprise" };
const refusedWith = (status: number, code: string) => ({ status, told: { error: { code } } });

// Each kind of caller has a Tollgate of its own, so that nobody's caches are warmed by somebody else.
const served = tollgateAs("Tollgate, served", rich);
const strange = tollgateAs("Tollgate, 401", rich, () => ({
  keys: [stranger],
  ...refusedWith(401, "invalid_api_key"),
}));
const poor = tollgateAs("Tollgate, 402", { ...rich, creditMicros: 0n }, () =>
  refusedWith(402, "insufficient_balance"),
);
const hasty = usedUp(
  tollgateAs("Tollgate, 429", { ...rich, tier: "free" }, () => ({
    ...refusedWith(429, "rate_limit_exceeded"),
    // A minute later the hundred callers have one request each again.
    otherwiseShareMax: 0.02,
  })),
);
const curious = tollgateAs("Tollgate, quote", rich, () => ({
  headers: { "x-tollgate-cost-mode": "quote" },
  told: { object: "cost_estimate", operation_id: "chat.completions.create" },
}));

const contestantsOf = ({ short }: Settings): Contestant[] => [
  served,
  strange,
  poor,
  hasty,
  ...(short ? [] : [curious]),
];

/** The ratios are far from their bars, so the short form needs little here. */
const paceOf = (settings: Settings): Settings =>
  settings.short ? { ...settings, rounds: 2, warmUp: { secondsMin: 2, secondsMax: 2 } } : settings;

export const refusalStudy: Study = {
  name: "refusals",
  // All are Tollgate, before callers of its own.
  inShort: [],
  expectedSeconds: (settings) =>
    expectedRounds(
      contestantsOf(settings).length,
      paceOf(settings),
      settings.short ? 2 : usualWarmUp(settings),
    ),
  run: (settings) =>
    withContestants(
      openUpstream(chat.answer),
      chat,
      { ...settings, contestants: contestantsOf(settings) },
      async (running) => {
        const plan = { ...paceOf(settings), request: chat.request, connections };
        const results = await runRounds(running, plan);
        const ratios = ({ name }: Contestant) => ({ ratios: cpuRatios(results, name, served.name) });
        return {
          tables: [
            roundTable({
              title: "Refusals and quotes under flood, 64 connections",
              note: "How cheaply the gate says no: chat calls by strangers (401), by callers without credit (402), above their limit (429), and asked only for their price, beside served ones.",
              groups: { results: new Map([[connections, results]]) },
              beside: { [served.name]: "× served" },
              drawn: connections,
              notDrawn: curious.name,
              limit: { times: bars.refusal402.atMost, of: served.name },
            }),
          ],
          findings: { refusal401: ratios(strange), refusal402: ratios(poor), refusal429: ratios(hasty) },
        };
      },
    ),
};

/** Everybody's one request of the minute is spent when it opens. */
function usedUp(contestant: Contestant): Contestant {
  const spend = (running: RunningContestant, key: string) =>
    askOnce({ ...running, keys: [key] }, chat.request);
  return {
    ...contestant,
    open: async (upstream) => {
      const running = await contestant.open(upstream);
      await Promise.all(running.keys.map((key) => spend(running, key)));
      return running;
    },
  };
}

import { bars } from "../bars.ts";
import { tollgate, tollgateFor } from "../contestants/tollgate.ts";
import { cpuRatios, roundTable } from "../report/round-table.ts";
import type { RunningContestant } from "../rig/contestant.ts";
import { runRounds } from "../rig/rounds.ts";
import { openUpstream } from "../rig/upstream.ts";
import { withContestants } from "../rig/with-contestants.ts";
import { load } from "../rig/wrk.ts";
import { chat } from "../scenarios/chat.ts";
import { expectedRounds, usualWarmUp, type Settings, type Study } from "./study.ts";

const stranger = "tgk_0000000000000000000000000000000000";
const served = "served";
const strangers = { ...tollgate, name: "Tollgate, strangers" };
const poor = tollgateFor("poor");
const limited = tollgateFor("limited");

/** Each kind of caller has a Tollgate of its own, so that nobody's caches are warmed by somebody else. */
const contestants = [tollgate, strangers, poor, limited];
/** A minute later the hundred callers above their limit have one request each again. */
const servedAgainShareMax = 0.02;

/** The ratios are far from their bars, so the short form needs little here. */
const paceOf = (settings: Settings): Settings =>
  settings.short ? { ...settings, rounds: 2, warmUp: { secondsMin: 2, secondsMax: 2 } } : settings;

export const refusalStudy: Study = {
  name: "refusals",
  inShort: true,
  expectedSeconds: (settings) =>
    expectedRounds(settings.short ? 4 : 5, paceOf(settings), settings.short ? 2 : usualWarmUp(settings)),
  run: (settings) =>
    withContestants(openUpstream(chat.answer), { ...settings, contestants }, async (running) => {
      const entries = new Map<string, RunningContestant>();
      const enter = (name: string, from: string, change: Partial<RunningContestant>): void => {
        const contestant = running.get(from);
        if (contestant) entries.set(name, { ...contestant, ...change });
      };
      enter(served, tollgate.name, {});
      enter("401", strangers.name, { keys: [stranger], status: 401 });
      enter("402", poor.name, { status: 402 });
      enter("429", limited.name, { status: 429, otherwiseShareMax: servedAgainShareMax });
      if (!settings.short) enter("quote", tollgate.name, { headers: { "x-tollgate-cost-mode": "quote" } });
      // Everybody uses up the one request of the minute.
      const hasty = running.get(limited.name);
      if (hasty)
        await load({ ...hasty, request: chat.request, connections: 1, seconds: 1, otherwiseShareMax: 1 });

      const plan = { ...paceOf(settings), request: chat.request, connections: 64 };
      const results = await runRounds(entries, plan);
      const ratios = (status: string) => ({ ratios: cpuRatios(results, status, served) });
      return {
        tables: [
          roundTable({
            title: "Refusals and quotes under flood, 64 connections",
            note: "How cheaply the gate says no: chat calls by strangers (401), by callers without credit (402), above their limit (429), and asked only for their price, beside served ones.",
            results,
            beside: { [served]: "× served" },
            drawn: true,
            limit: { times: bars.refusal402.atMost, of: served },
          }),
        ],
        findings: { refusal401: ratios("401"), refusal402: ratios("402"), refusal429: ratios("429") },
      };
    }),
};

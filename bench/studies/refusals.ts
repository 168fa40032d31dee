import { tollgate, tollgateFor } from "../contestants/tollgate.ts";
import { cpuRatio, roundTable } from "../report/round-table.ts";
import type { RunningContestant } from "../rig/contestant.ts";
import { runRounds } from "../rig/rounds.ts";
import { openUpstream } from "../rig/upstream.ts";
import { withContestants } from "../rig/with-contestants.ts";
import { load } from "../rig/wrk.ts";
import { chat } from "../scenarios/chat.ts";
import type { Study } from "./study.ts";

const stranger = "tgk_0000000000000000000000000000000000";
const served = "served";
const poor = tollgateFor("poor");
const limited = tollgateFor("limited");

/** Each kind of caller has a Tollgate of its own, so that nobody's caches are warmed by somebody else. */
const contestants = [tollgate, { ...tollgate, name: "Tollgate, strangers" }, poor, limited];

export const refusalStudy: Study = {
  name: "refusals",
  inShort: true,
  run: (settings) =>
    withContestants(openUpstream(chat.answer), contestants, async (running) => {
      const entries = new Map<string, RunningContestant>();
      const enter = (name: string, from: string, change: Partial<RunningContestant>): void => {
        const contestant = running.get(from);
        if (contestant) entries.set(name, { ...contestant, ...change });
      };
      enter(served, tollgate.name, {});
      enter("401", "Tollgate, strangers", { keys: [stranger], status: 401 });
      enter("402", poor.name, { status: 402 });
      enter("429", limited.name, { status: 429 });
      if (!settings.short) enter("quote", tollgate.name, { headers: { "x-tollgate-cost-mode": "quote" } });
      // Everybody uses up the one request of the minute.
      const hasty = running.get(limited.name);
      if (hasty) await load({ ...hasty, request: chat.request, connections: 1, seconds: 1 });

      // The ratios are far from their bars, so the short form needs little here.
      const pace = settings.short ? { ...settings, rounds: 2, warmUpSeconds: 2 } : settings;
      const results = await runRounds(entries, { ...pace, request: chat.request, connections: 64 });
      const table = roundTable({
        title: "Refusals and quotes under flood, 64 connections",
        note: "Chat calls by strangers (401), by callers without credit (402), above their limit (429), and asked only for their price, beside served ones.",
        results,
        beside: { [served]: "× served" },
        drawn: true,
      });
      const bars = ["401", "402", "429"].map((status) => ({
        promise: `Refusal ${status}: CPU beside a served call`,
        ratio: cpuRatio(results, status, served),
        atMost: 0.5,
        inShort: 0.7,
      }));
      return { tables: [table], bars };
    }),
};

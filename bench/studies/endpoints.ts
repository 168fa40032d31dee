import { bareBun } from "../contestants/bare-bun.ts";
import { nginxProxy } from "../contestants/nginx-proxy.ts";
import { portkey } from "../contestants/portkey.ts";
import { roundTable } from "../report/round-table.ts";
import { runRounds } from "../rig/rounds.ts";
import type { Scenario } from "../rig/scenario.ts";
import { openUpstream } from "../rig/upstream.ts";
import { withContestants } from "../rig/with-contestants.ts";
import { rerank } from "../scenarios/rerank.ts";
import { reseller } from "../scenarios/reseller.ts";
import type { Study } from "./study.ts";

const endpointStudy = (name: string, title: string, note: string, { request, answer }: Scenario): Study => ({
  name,
  inShort: false,
  run: (settings) => {
    // Portkey serves neither.
    const contestants = settings.contestants.filter((contestant) => contestant !== portkey);
    return withContestants(openUpstream(answer), contestants, async (running) => {
      const results = await runRounds(running, { ...settings, request, connections: 64 });
      const beside = { [bareBun.name]: "× bare", [nginxProxy.name]: "× nginx" };
      return { tables: [roundTable({ title, note, results, beside, drawn: true })], bars: [] };
    });
  },
});

export const rerankStudy = endpointStudy(
  "rerank",
  "Rerank, 64 connections",
  "Ten documents; Tollgate attaches the caller's documents to the vendor's ranking.",
  rerank,
);

export const resellerStudy = endpointStudy(
  "reseller",
  "Reseller, 64 connections",
  "A paid GET. Tollgate gives each a connection of its own, because Bun repeats a GET when a kept-alive one closes under it; the others keep theirs.",
  reseller,
);

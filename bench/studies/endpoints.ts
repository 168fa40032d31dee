import { bareBun } from "../contestants/bare-bun.ts";
import { nginxProxy } from "../contestants/nginx-proxy.ts";
import { roundTable } from "../report/round-table.ts";
import { runRounds } from "../rig/rounds.ts";
import type { Scenario } from "../rig/scenario.ts";
import { openUpstream } from "../rig/upstream.ts";
import { withContestants } from "../rig/with-contestants.ts";
import { rerank } from "../scenarios/rerank.ts";
import { reseller } from "../scenarios/reseller.ts";
import { expectedRounds, fewerRounds, usualWarmUp, type Study, type StudyName } from "./study.ts";

const connections = 64;

const endpointStudy = (
  name: StudyName,
  title: string,
  note: string,
  { request, answer, told }: Scenario,
): Study => ({
  name,
  expectedSeconds: (settings) =>
    expectedRounds(settings.contestants.length, fewerRounds(settings), usualWarmUp(settings)),
  run: (settings) =>
    withContestants(openUpstream(answer), { request, told }, settings, async (running) => {
      const plan = { ...settings, ...fewerRounds(settings), request, connections };
      const results = await runRounds(running, plan);
      const beside = { [bareBun.name]: "× bare", [nginxProxy.name]: "× nginx" };
      return {
        tables: [
          roundTable({
            title,
            note,
            groups: { results: new Map([[connections, results]]) },
            beside,
            drawn: connections,
          }),
        ],
        findings: {},
      };
    }),
});

export const rerankStudy = endpointStudy(
  "rerank",
  "Rerank, 64 connections",
  "What one rerank of ten documents costs; Tollgate attaches the caller's documents to the vendor's ranking.",
  rerank,
);

export const resellerStudy = endpointStudy(
  "reseller",
  "Reseller, 64 connections",
  "What a paid GET costs: nothing to validate but a query, no tokens to count, a price by the call.",
  reseller,
);

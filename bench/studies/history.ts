import { readable, type Chapter } from "../report/chapter.ts";
import { ratioOf, withSpread } from "../report/round-table.ts";
import { openHistory, type History } from "../rig/history.ts";
import { serveTollgate } from "../rig/tollgate-server.ts";
import { load } from "../rig/wrk.ts";
import type { Settings, Study } from "./study.ts";

/** Nobody is asked: reports and start-ups need no upstream. */
const noUpstream = "http://127.0.0.1:9/v1";
const reportSeconds = 1;

/** Whether reports and start-ups stay quick as the books grow. */
export const historyStudy: Study = {
  name: "history",
  inShort: true,
  run: async (settings) => {
    const { few, many } = settings.history;
    const [short, long] = [await openHistory(few), await openHistory(many)];
    if (!short || !long) throw new Error("The disk has no room for the history.");
    const figures = { startUpMs: { few: [], many: [] }, reportMs: { few: [], many: [] } } as Record<
      "startUpMs" | "reportMs",
      { few: number[]; many: number[] }
    >;
    for (let round = 0; round < settings.rounds; round++) {
      for (const [size, history] of [
        ["few", short],
        ["many", long],
      ] as const) {
        const { startUpMs, reportMs } = await look(history);
        figures.startUpMs[size].push(startUpMs);
        figures.reportMs[size].push(reportMs);
      }
    }
    return chapterOf(figures, settings);
  },
};

async function look(history: History): Promise<{ startUpMs: number; reportMs: number }> {
  const startedMs = performance.now();
  const server = await serveTollgate(history.folder, noUpstream);
  const startUpMs = performance.now() - startedMs;
  try {
    const request = {
      method: "GET",
      path: `/v1/usage?start_time=${history.startSeconds}&end_time=${history.endSeconds}`,
      headers: {},
      body: undefined,
    } as const;
    const { statuses, p50Ms } = await load({
      ...server,
      keys: history.keys,
      request,
      connections: 1,
      seconds: reportSeconds,
    });
    if (statuses.size !== 1 || !statuses.has(200))
      throw new Error(`A report answered ${[...statuses.keys()].join(", ")}.`);
    return { startUpMs, reportMs: p50Ms };
  } finally {
    await server.close();
  }
}

function chapterOf(
  figures: Record<"startUpMs" | "reportMs", { few: number[]; many: number[] }>,
  { history, rounds }: Settings,
): Chapter {
  const [few, many] = [history.few, history.many].map((calls) => `${calls.toLocaleString("en-US")} calls`);
  const ratio = (of: keyof typeof figures): number | undefined => ratioOf(figures[of].many, figures[of].few);
  const row = (name: string, of: keyof typeof figures): string[] => [
    name,
    withSpread(figures[of].few),
    withSpread(figures[of].many),
    readable(ratio(of) ?? Number.NaN),
  ];
  return {
    tables: [
      {
        title: "As the books grow",
        note: `Settled calls of 100 accounts over 400 days, written through the ledger. A report is one account's usage by day over all of them, asked by one caller; start-up is from the command to the first healthy answer. ${rounds} starts each.`,
        columns: ["milliseconds", few ?? "", many ?? "", "ratio"],
        rows: [row("usage report over 400 days", "reportMs"), row("start-up", "startUpMs")],
      },
    ],
    bars: [
      { promise: `Usage report on ${many} beside ${few}`, ratio: ratio("reportMs"), atMost: 2, inShort: 3 },
      { promise: `Start-up on ${many} beside ${few}`, ratio: ratio("startUpMs"), atMost: 2, inShort: 3 },
    ],
  };
}

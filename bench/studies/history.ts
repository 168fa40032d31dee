import { readable, type Chapter, type Finding } from "../report/chapter.ts";
import { withSpread } from "../report/round-table.ts";
import { callsThatFit, openHistory, type History } from "../rig/history.ts";
import { median, ratiosOf } from "../rig/statistics.ts";
import { databaseIn, serveTollgate, type TollgateServer } from "../rig/tollgate-server.ts";
import { load } from "../rig/wrk.ts";
import type { Settings, Study } from "./study.ts";

/** Nobody is asked: reports and start-ups need no upstream. */
const noUpstream = "http://127.0.0.1:9/v1";
const reportSeconds = 1;
/** A history that is not many times the other one compares nothing. */
const timesFewMin = 5;
/** How many calls a second are written on a small machine. */
const writtenPerSecond = 70_000;

/** Whether reports and start-ups stay quick as the books grow. */
export const historyStudy: Study = {
  name: "history",
  // Only Tollgate keeps books.
  inShort: [],
  expectedSeconds: ({ history, rounds, short }) =>
    history.many / writtenPerSecond + 10 + rounds * 2 * (short ? 3 : 5),
  run: async (settings) => {
    const opened: History[] = [];
    try {
      const few = await openHistory(settings.history.few);
      opened.push(few);
      // What a call takes on disk is known by now, so a disk that is too small is known before it is full.
      const fit = callsThatFit(few);
      if (fit < timesFewMin * few.calls)
        throw new Error(`The disk has room for ${fit.toLocaleString("en-US")} calls only.`);
      const many = await openHistory(Math.min(settings.history.many, fit));
      opened.push(many);
      for (const history of opened) await checkReports(history);
      return chapterOf(await compare({ few, many }, settings), { few, many }, settings);
    } finally {
      for (const history of opened) history.remove();
    }
  },
};

type Size = "few" | "many";
type Figures = Record<Size, Seen[]>;

interface Seen {
  readonly coldStartMs: number | undefined;
  readonly startMs: number;
  readonly reportMs: number;
}

async function compare(histories: Record<Size, History>, settings: Settings): Promise<Figures> {
  const figures: Figures = { few: [], many: [] };
  for (let round = 0; round < settings.rounds; round++) {
    const order = ["few", "many"] as const;
    for (const size of round % 2 === 0 ? order : order.toReversed())
      figures[size].push(await look(histories[size], settings.short));
  }
  return figures;
}

/** One start without the file in memory, one with it, and reports from the second. */
async function look(history: History, short: boolean): Promise<Seen> {
  let coldStartMs: number | undefined;
  if (!short && (await dropFromMemory(databaseIn(history.folder)))) {
    const { server, startMs } = await start(history);
    await server.close();
    coldStartMs = startMs;
  }
  const { server, startMs } = await start(history);
  try {
    const ask = { ...server, keys: history.keys, request: heaviestReport(history), connections: 1 };
    if (!short) await load({ ...ask, seconds: reportSeconds });
    const { p50Ms } = await load({ ...ask, seconds: reportSeconds });
    return { coldStartMs, startMs, reportMs: p50Ms };
  } finally {
    await server.close();
  }
}

async function start(history: History): Promise<{ server: TollgateServer; startMs: number }> {
  const startedMs = performance.now();
  const server = await serveTollgate(history.folder, noUpstream);
  return { server, startMs: performance.now() - startedMs };
}

/** The longest window there is, a second short of whole days at both ends: days, minutes and seconds must be added up. */
const heaviestReport = ({ startSeconds, endSeconds }: History) =>
  ({
    method: "GET",
    path: `/v1/usage?start_time=${startSeconds + 1}&end_time=${endSeconds - 1}`,
    headers: {},
    body: undefined,
  }) as const;

/** What the accounts are told at the public door is all that was written: a quick report of nothing proves nothing. */
async function checkReports(history: History): Promise<void> {
  const { server } = await start(history);
  try {
    let told = 0;
    for (const key of history.keys) {
      const url = `${server.url}/v1/usage?start_time=${history.startSeconds}&end_time=${history.endSeconds}`;
      const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
      const { totals } = (await response.json()) as { totals: { requests: number } };
      told += totals.requests;
    }
    if (told !== history.calls) throw new Error(`Of ${history.calls} calls the reports tell ${told}.`);
  } finally {
    await server.close();
  }
}

/** Asks the system to forget what it keeps of a file; false where that cannot be asked for. */
async function dropFromMemory(file: string): Promise<boolean> {
  const words = ["dd", `if=${file}`, "iflag=nocache", "count=0"];
  return (await Bun.spawn(words, { stdout: "ignore", stderr: "ignore" }).exited) === 0;
}

function chapterOf(figures: Figures, histories: Record<Size, History>, { history }: Settings): Chapter {
  const values = (size: Size, of: keyof Seen): number[] => figures[size].flatMap((seen) => seen[of] ?? []);
  const ratios = (of: keyof Seen): number[] => ratiosOf(values("many", of), values("few", of));
  const row = (name: string, of: keyof Seen): string[] => [
    name,
    withSpread(values("few", of)),
    withSpread(values("many", of)),
    readable(median(ratios(of))),
  ];
  const { few, many } = histories;
  const [fewCalls, manyCalls] = [few, many].map(({ calls }) => `${calls.toLocaleString("en-US")} calls`);
  const isWhole = many.calls === history.many;
  const wanted = history.many.toLocaleString("en-US");
  const notShown = isWhole ? undefined : `the disk has no room for ${wanted} calls, only for ${manyCalls}`;
  const finding = (of: keyof Seen): Finding => ({
    ratios: ratios(of),
    notShown,
    compared: `${manyCalls} beside ${fewCalls}`,
  });
  return {
    tables: [
      {
        title: "As the books grow",
        note: `Whether the past slows the present: settled calls of 100 accounts over 400 days, ${readable(many.bytes / 1e9)} GB of them on the right. A report is one account's usage by day over all 400 days, asked by one caller of a warm server; start-up is from the command to the first healthy answer, with the file in the system's memory and without.${isWhole ? "" : ` The ${wanted} calls that were wanted did not fit on the disk.`}`,
        columns: ["milliseconds", fewCalls ?? "", manyCalls ?? "", "ratio"],
        rows: [
          row("usage report over 400 days", "reportMs"),
          row("start-up, file in memory", "startMs"),
          row("start-up, file not in memory", "coldStartMs"),
        ],
      },
    ],
    findings: { usageReport: finding("reportMs"), startUp: finding("startMs") },
  };
}

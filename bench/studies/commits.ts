import { readable, type Chapter } from "../report/chapter.ts";
import { withSpread } from "../report/round-table.ts";
import { countLedgerCycles, type LedgerCycles } from "../rig/ledger-cycles.ts";
import { openTemporaryFolder } from "../rig/leftovers.ts";
import { buildSlowFsync } from "../rig/slow-fsync.ts";
import { median, ratiosOf } from "../rig/statistics.ts";
import type { Settings, Study } from "./study.ts";

/** What a disk takes that is no fast one of this machine. */
const addedMs = 1;
const [alone, many] = [1, 256];

/** What callers gain by sharing commits where an fsync takes its time. */
export const commitStudy: Study = {
  name: "commits",
  // Only Tollgate keeps books.
  inShort: [],
  expectedSeconds: ({ rounds, roundSeconds }) => rounds * 2 * (roundSeconds + 1),
  run: async (settings) => {
    const folder = openTemporaryFolder("fsync");
    try {
      const slowFsync = buildSlowFsync(folder.path, addedMs);
      return chapterOf(await compare(slowFsync, settings), slowFsync !== undefined);
    } finally {
      folder.remove();
    }
  },
};

type Figures = Record<"one" | "shared", LedgerCycles[]>;

async function compare(
  slowFsync: string | undefined,
  { rounds, roundSeconds: seconds }: Settings,
): Promise<Figures> {
  const figures: Figures = { one: [], shared: [] };
  for (let round = 0; round < rounds; round++) {
    figures.one.push(await countLedgerCycles({ callers: alone, seconds, slowFsync }));
    figures.shared.push(await countLedgerCycles({ callers: many, seconds, slowFsync }));
  }
  return figures;
}

function chapterOf({ one, shared }: Figures, isSlow: boolean): Chapter {
  const cycles = (of: readonly LedgerCycles[]) => of.map(({ cyclesPerSecond }) => cyclesPerSecond);
  const row = (name: string, of: readonly LedgerCycles[]): string[] => [
    name,
    withSpread(cycles(of)),
    withSpread(of.map(({ commitsPerSecond }) => commitsPerSecond)),
    readable(median(ratiosOf(cycles(of), cycles(one)))),
  ];
  const disk = isSlow ? `takes ${addedMs} ms longer than it does here` : "takes what it takes here";
  return {
    tables: [
      {
        title: "Shared commits",
        note: `What the ledger alone holds and settles when an fsync ${disk}: one caller waits for a commit after each step, many share theirs.`,
        columns: ["", "calls/s", "commits/s", "× one caller"],
        rows: [row("one caller", one), row(`${many} callers`, shared)],
      },
    ],
    findings: {
      sharedCommits: {
        ratios: ratiosOf(cycles(shared), cycles(one)),
        notShown: isSlow ? undefined : "there is no C compiler, so fsync was not made slower",
      },
    },
  };
}

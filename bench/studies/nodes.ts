import { readable, type Chapter } from "../report/chapter.ts";
import { withSpread } from "../report/round-table.ts";
import { databaseHome } from "../rig/disk.ts";
import { openDistantPostgres, type Traffic } from "../rig/distant-postgres.ts";
import { openTemporaryFolder } from "../rig/leftovers.ts";
import { openPostgresServer, whyNoPostgres, type PostgresServer } from "../rig/postgres-server.ts";
import { median, ratiosOf } from "../rig/statistics.ts";
import type { Owner } from "../rig/ledger-pair.ts";
import { countPairs, openOwners, type Pairs, type StorePlace } from "../rig/store-pairs.ts";
import { databaseIn } from "../rig/tollgate-server.ts";
import { fewerRounds, type Settings, type Study } from "./study.ts";

const callersOf = [1, 16, 64, 256];
const [fewAccounts, manyAccounts] = [1, 100];
/** More than lies between two machines of one data centre. */
const distanceMs = 1;
/** A program, its store and its warm-up, besides a round itself. */
const secondsAround = 1.8;
const roundSeconds = 1;

/** What it costs to keep the books in Postgres, for one node and for two, beside the file. */
export const nodeStudy: Study = {
  name: "nodes",
  expectedSeconds: (settings) => {
    const stores = whyNoPostgres() === undefined ? 4 : 1;
    const rows = stores * 2 * callersOf.length;
    return rows * fewerRounds(settings).rounds * (roundSeconds + secondsAround);
  },
  run: async (settings) => {
    const folder = openTemporaryFolder("nodes", databaseHome);
    const why = whyNoPostgres();
    if (why !== undefined) settings.leaveOut("Postgres", why);
    const server = why === undefined ? await openPostgresServer() : undefined;
    try {
      const file = await openFile(folder.path);
      return await compare([file, ...(server ? await openNodes(server) : [])], settings);
    } finally {
      await server?.close();
      folder.remove();
    }
  },
};

/** Books, and who keeps them. */
interface Keeper {
  readonly name: string;
  readonly nodes: number;
  readonly place: StorePlace;
  readonly owners: readonly Owner[];
  readonly serverPid?: number;
  readonly traffic?: () => Traffic;
}

async function openFile(folder: string): Promise<Keeper> {
  const place = { path: databaseIn(folder) };
  return { name: "SQLite", nodes: 1, place, owners: await openOwners(place, manyAccounts) };
}

async function openNodes({ url, pid }: PostgresServer): Promise<Keeper[]> {
  const owners = await openOwners({ url }, manyAccounts);
  const postgres = { name: "Postgres", place: { url }, owners, serverPid: pid };
  const far = await openDistantPostgres(url, distanceMs);
  return [
    { ...postgres, nodes: 1 },
    { ...postgres, nodes: 2 },
    {
      ...postgres,
      name: `Postgres, ${distanceMs} ms away`,
      nodes: 1,
      place: { url: far.url },
      traffic: far.traffic,
    },
  ];
}

interface Row {
  readonly keeper: Keeper;
  readonly accounts: number;
  readonly callers: number;
  readonly rounds: Pairs[];
}

async function compare(keepers: readonly Keeper[], settings: Settings): Promise<Chapter> {
  const rows: Row[] = [fewAccounts, manyAccounts].flatMap((accounts) =>
    callersOf.flatMap((callers) => keepers.map((keeper) => ({ keeper, accounts, callers, rounds: [] }))),
  );
  for (let round = 0; round < fewerRounds(settings).rounds; round++)
    for (const { keeper, accounts, callers, rounds } of rows)
      rounds.push(
        await countPairs({
          places: Array.from({ length: keeper.nodes }, () => keeper.place),
          owners: keeper.owners.slice(0, accounts),
          // As many as are said, however many nodes they are spread over.
          callers: Math.max(1, callers / keeper.nodes),
          seconds: roundSeconds,
          serverPid: keeper.serverPid,
          traffic: keeper.traffic,
        }),
      );
  return chapterOf(rows);
}

function chapterOf(rows: readonly Row[]): Chapter {
  const paceOf = ({ rounds }: Row): number[] => rounds.map(({ pairsPerSecond }) => pairsPerSecond);
  const fileOf = (row: Row): Row =>
    rows.find(({ accounts, callers }) => accounts === row.accounts && callers === row.callers) ?? row;
  const figure = ({ rounds }: Row, of: (pairs: Pairs) => number | undefined): string =>
    readable(median(rounds.map((pairs) => of(pairs) ?? Number.NaN)));
  return {
    tables: [
      {
        title: "Several nodes",
        note: `What the store alone takes to hold and settle a call, with nothing around it: the file of one process, and a Postgres on this machine whose commits reach the disk. The callers are spread over the nodes, at least one for each. What is ${distanceMs} ms away goes through a program that adds so much to every way there and counts what passes.`,
        columns: [
          "",
          "nodes",
          "accounts",
          "callers",
          "pairs/s",
          "× SQLite",
          "CPU µs/pair",
          "the server's",
          "hold p50 ms",
          "p99 ms",
          "writes/commit",
          "statements/commit",
          "round trips/commit",
        ],
        rows: rows.map((row) => [
          row.keeper.name,
          String(row.keeper.nodes),
          String(row.accounts),
          String(row.callers),
          withSpread(paceOf(row)),
          readable(median(ratiosOf(paceOf(row), paceOf(fileOf(row))))),
          figure(row, ({ cpuMicros }) => cpuMicros),
          figure(row, ({ serverCpuMicros }) => serverCpuMicros),
          figure(row, ({ holdP50Ms }) => holdP50Ms),
          figure(row, ({ holdP99Ms }) => holdP99Ms),
          figure(row, ({ pairs, commits }) => (2 * pairs) / commits),
          figure(row, ({ traffic, commits }) => traffic && traffic.statements / commits),
          figure(row, ({ traffic, commits }) => traffic && traffic.roundTrips / commits),
        ]),
      },
    ],
    findings: {},
  };
}

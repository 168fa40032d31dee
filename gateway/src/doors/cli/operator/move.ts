import type { CliParts } from "../cli-parts.ts";
import { defineCommand, optional, toggle, type Answer } from "../command.ts";

export const move = defineCommand({
  words: ["move"],
  summary:
    "moves all data from the file of one server to the Postgres that TOLLGATE_STORE names, while no server runs",
  flags: {
    from: optional("FILE", "the file; that of the data folder when none is named"),
    undo: toggle("opens the file again after a move that broke off, if nothing of it has arrived"),
  },
  run: ({ flags }, parts) => (flags.undo ? undo(flags.from, parts) : moveFrom(flags.from, parts)),
});

async function moveFrom(file: string | undefined, parts: CliParts): Promise<Answer> {
  try {
    const moved = await parts.moveBooks(file, (rows) => parts.showProgress(`${grouped(rows)} rows`));
    const { from, to, rows } = moved;
    return {
      lines: [
        rows === undefined
          ? `The books of ${from} had arrived in ${to} before; the move is ended now.`
          : `The books of ${from} are in ${to}, and balance there: ${whatCame(rows)}.`,
        `Start every node with TOLLGATE_STORE set to it. ${from} takes no more writes; you can keep it as a record, or delete it.`,
      ],
      json: { from, to, rows: rows ?? null },
      exitCode: 0,
    };
  } finally {
    parts.showProgress(undefined);
  }
}

async function undo(file: string | undefined, parts: CliParts): Promise<Answer> {
  const opened = await parts.undoMove(file);
  return { lines: [`${opened} is open again.`], json: { file: opened }, exitCode: 0 };
}

const whatCame = (rows: Readonly<Record<string, number>>): string =>
  ["account", "key", "call", "task"]
    .map((table) => [table, rows[table] ?? 0] as const)
    .map(([table, count]) => `${grouped(count)} ${table}${count === 1 ? "" : "s"}`)
    .join(", ");

const grouped = (figure: number): string => figure.toLocaleString("en-US");

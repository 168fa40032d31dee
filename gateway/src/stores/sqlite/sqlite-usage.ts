import type { Database } from "bun:sqlite";
import type { DaySums, UsageBook, UsageScope, UsageSegment } from "../../usage/usage-report.ts";
import type { Books } from "./books.ts";
import { prepareUsage, sumsOf } from "./usage-statements.ts";

export function createSqliteUsage(db: Database, books: Books): UsageBook {
  const sql = prepareUsage(db);
  const readAll = db.transaction((scope: UsageScope, segments: readonly UsageSegment[]): DaySums[] =>
    segments.flatMap((segment) =>
      sql.byDay(scope, segment).map((row) => ({ daySeconds: Number(row.day), ...sumsOf(row) })),
    ),
  );

  return { sums: (scope, segments) => books.read(() => readAll(scope, segments)) };
}

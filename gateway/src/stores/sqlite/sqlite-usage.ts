import type { Database } from "bun:sqlite";
import {
  segmentsOf,
  type DaySums,
  type UsageBook,
  type UsageScope,
  type UsageSegment,
  type UsageWindow,
} from "../../usage/usage-report.ts";
import { dayStartSeconds } from "../../platform/utc-day.ts";
import { addUsage, groupNames, groupSumsOf, sumsOf, usageOf, type UsageGroups } from "../usage-rows.ts";
import type { PostedBooks } from "./journal/posted-books.ts";
import { createEndedCalls, type EndedCall } from "./ended-calls.ts";
import { prepareUsage } from "./usage-statements.ts";

export function createSqliteUsage(db: Database, books: PostedBooks): UsageBook {
  const sql = prepareUsage(db);
  const ended = createEndedCalls(db);
  const readAll = db.transaction((scope: UsageScope, segments: readonly UsageSegment[]): DaySums[] =>
    segments.flatMap((segment) =>
      sql.byDay(scope, segment).map((row) => ({ daySeconds: Number(row.day), ...sumsOf(row) })),
    ),
  );

  const byKey = ({ accountId, keyId }: UsageScope, window: UsageWindow): UsageGroups => {
    const groups: UsageGroups = new Map();
    for (const segment of segmentsOf(window))
      for (const row of sql.byKey(accountId, segment))
        if (keyId === undefined || row.key_id === keyId) addUsage(groups, row.key_id, sumsOf(row));
    return groups;
  };

  const byCalls = (
    scope: UsageScope,
    nameOf: (call: EndedCall) => string | undefined,
    { startSeconds, endSeconds }: UsageWindow,
    callsMax: number,
  ): UsageGroups | undefined => {
    const groups: UsageGroups = new Map();
    const { accountId, keyId } = scope;
    let left = ended.countIn(scope, { startSeconds, endSeconds });
    if (left === 0) return groups;
    if (left > callsMax) return undefined;
    let lookedAt = 0;
    for (const call of ended.newestFirst(accountId)) {
      if (++lookedAt > callsMax) return undefined;
      if (keyId !== undefined && call.key_id !== keyId) continue;
      const second = Math.floor(Number(call.settled_at_ms) / 1000);
      if (second < startSeconds || second >= endSeconds) continue;
      addUsage(groups, nameOf(call), usageOf(call));
      if (--left === 0) break;
    }
    return groups;
  };

  const wholeByDay = (segments: readonly UsageSegment[]): DaySums[] =>
    segments.flatMap((segment) =>
      sql
        .wholeByStart(segment)
        .map((row) => ({ daySeconds: dayStartSeconds(Number(row.start)), ...sumsOf(row) })),
    );

  const wholeByAccount = (window: UsageWindow): UsageGroups => {
    const groups: UsageGroups = new Map();
    for (const segment of segmentsOf(window))
      for (const row of sql.wholeByAccount(segment)) addUsage(groups, row.account_id, sumsOf(row));
    return groups;
  };

  const wholeByCalls = (
    nameOf: (call: EndedCall) => string | undefined,
    window: UsageWindow,
  ): UsageGroups => {
    const groups: UsageGroups = new Map();
    for (const call of ended.wholeIn(window)) addUsage(groups, nameOf(call), usageOf(call));
    return groups;
  };

  return {
    sums: (scope, segments) => books.read(() => readAll(scope, segments)),
    sumsBy: async (scope, by, window, callsMax) => {
      const groups = await books.readLong(() =>
        by === "key" ? byKey(scope, window) : byCalls(scope, groupNames[by], window, callsMax),
      );
      return groups && groupSumsOf(groups);
    },
    wholeSums: (segments) => books.readLong(() => wholeByDay(segments)),
    wholeSumsBy: async (by, window) =>
      groupSumsOf(
        await books.readLong(() =>
          by === "account" ? wholeByAccount(window) : wholeByCalls(groupNames[by], window),
        ),
      ),
  };
}

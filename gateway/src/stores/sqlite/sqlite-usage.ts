import type { Database } from "bun:sqlite";
import { tokenTotals, type Quantities } from "../../prices/quantities.ts";
import {
  addSums,
  noUsage,
  segmentsOf,
  type DaySums,
  type UsageBook,
  type UsageScope,
  type UsageSegment,
  type UsageSums,
  type UsageWindow,
} from "../../usage/usage-report.ts";
import type { PostedBooks } from "./posted-books.ts";
import { createEndedCalls, type EndedCall } from "./ended-calls.ts";
import { prepareUsage, sumsOf } from "./usage-statements.ts";

type Groups = Map<string | undefined, UsageSums>;

export function createSqliteUsage(db: Database, books: PostedBooks): UsageBook {
  const sql = prepareUsage(db);
  const ended = createEndedCalls(db);
  const readAll = db.transaction((scope: UsageScope, segments: readonly UsageSegment[]): DaySums[] =>
    segments.flatMap((segment) =>
      sql.byDay(scope, segment).map((row) => ({ daySeconds: Number(row.day), ...sumsOf(row) })),
    ),
  );

  const byKey = ({ accountId, keyId }: UsageScope, window: UsageWindow): Groups => {
    const groups: Groups = new Map();
    for (const segment of segmentsOf(window))
      for (const row of sql.byKey(accountId, segment))
        if (keyId === undefined || row.key_id === keyId) add(groups, row.key_id, sumsOf(row));
    return groups;
  };

  const byCalls = (
    scope: UsageScope,
    nameOf: (call: EndedCall) => string | undefined,
    { startSeconds, endSeconds }: UsageWindow,
    callsMax: number,
  ): Groups | undefined => {
    const groups: Groups = new Map();
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
      add(groups, nameOf(call), usageOf(call));
      if (--left === 0) break;
    }
    return groups;
  };

  return {
    sums: (scope, segments) => books.read(() => readAll(scope, segments)),
    sumsBy: async (scope, by, window, callsMax) => {
      const groups = await books.readLong(() =>
        by === "key" ? byKey(scope, window) : byCalls(scope, names[by], window, callsMax),
      );
      return groups && [...groups].map(([name, sums]) => ({ name, ...sums }));
    },
  };
}

const names = {
  model: ({ model }: EndedCall) => model ?? undefined,
  operation: ({ operation_id: operationId }: EndedCall) => operationId,
} as const;

function add(groups: Groups, name: string | undefined, more: UsageSums): void {
  groups.set(name, addSums(groups.get(name) ?? noUsage, more));
}

/** What the buckets count a call for. */
function usageOf(call: EndedCall): UsageSums {
  // Written by the ledger alone, from this very type.
  const tokens = tokenTotals(JSON.parse(call.used) as Quantities);
  return {
    requests: 1,
    failedRequests: call.outcome === "succeeded" ? 0 : 1,
    inputTokens: tokens.input,
    outputTokens: tokens.output,
    cacheReadTokens: tokens.cacheRead,
    cacheWriteTokens: tokens.cacheWrite,
    valueMicros: call.value_micros,
    chargedMicros: call.charged_micros,
  };
}

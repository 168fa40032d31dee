import {
  segmentsOf,
  widthsSeconds,
  type UsageBook,
  type UsageScope,
  type UsageSegment,
  type UsageWindow,
} from "../../usage/usage-report.ts";
import { bucketFigures } from "../usage-buckets.ts";
import {
  addUsage,
  groupNames,
  groupSumsOf,
  sumsOf,
  usageOf,
  type CountedCall,
  type SumsRow,
  type UsageGroups,
} from "../usage-rows.ts";
import type { Database } from "./server/database.ts";
import type { Query, Value } from "./server/query.ts";

export function createPostgresUsage(db: Database): UsageBook {
  return {
    sums: async (scope, segments) => {
      const rows = await sumsBy<{ day: bigint }>(
        db.readPatiently,
        "start - start % 86400 AS day",
        scope,
        segments,
      );
      return rows.map((row) => ({ daySeconds: Number(row.day), ...sumsOf(row) }));
    },
    sumsBy: async (scope, by, window, callsMax) => {
      const groups =
        by === "key"
          ? await byKey(db.readPatiently, scope, window)
          : await db.readMoment((query) => byCalls(query, scope, groupNames[by], window, callsMax), {
              isLong: true,
            });
      return groups && groupSumsOf(groups);
    },
    wholeSums: async (segments) => {
      const rows = await db.readMoment(
        (query) =>
          wholeSumsBy<{ day: bigint }>(query, "start_seconds - start_seconds % 86400 AS day", segments),
        { isLong: true },
      );
      return rows.map((row) => ({ daySeconds: Number(row.day), ...sumsOf(row) }));
    },
    wholeSumsBy: async (by, window) =>
      groupSumsOf(
        await db.readMoment(
          (query) =>
            by === "account" ? wholeByAccount(query, window) : wholeByCalls(query, groupNames[by], window),
          { isLong: true },
        ),
      ),
  };
}

async function byKey(query: Query, scope: UsageScope, window: UsageWindow): Promise<UsageGroups> {
  const rows = await sumsBy<{ key_id: string }>(query, "key_id", scope, segmentsOf(window));
  return new Map(rows.map((row) => [row.key_id, sumsOf(row)]));
}

async function byCalls(
  query: Query,
  scope: UsageScope,
  nameOf: (call: CountedCall) => string | undefined,
  window: UsageWindow,
  callsMax: number,
): Promise<UsageGroups | undefined> {
  const groups: UsageGroups = new Map();
  // Calls are found by their account and their end, so those of its other keys have to be looked at too.
  const { accountId, keyId } = scope;
  const inWindow = await byKey(query, { accountId, keyId: undefined }, window);
  if (keyId !== undefined && !inWindow.has(keyId)) return groups;
  const count = inWindow.values().reduce((sum, { requests }) => sum + requests, 0);
  if (count > callsMax) return undefined;
  for await (const call of endedIn(query, accountId, window)) {
    if (keyId === undefined || call.key_id === keyId) addUsage(groups, nameOf(call), usageOf(call));
  }
  return groups;
}

async function wholeByAccount(query: Query, window: UsageWindow): Promise<UsageGroups> {
  const rows = await wholeSumsBy<{ account_id: string }>(query, "account_id", segmentsOf(window));
  return new Map(rows.map((row) => [row.account_id, sumsOf(row)]));
}

/** Calls are found by their account and their end, so one account after another, of those that have any. */
async function wholeByCalls(
  query: Query,
  nameOf: (call: CountedCall) => string | undefined,
  window: UsageWindow,
): Promise<UsageGroups> {
  const groups: UsageGroups = new Map();
  for (const accountId of (await wholeByAccount(query, window)).keys()) {
    if (accountId === undefined) continue;
    for await (const call of endedIn(query, accountId, window)) addUsage(groups, nameOf(call), usageOf(call));
  }
  return groups;
}

interface EndedRow extends CountedCall {
  readonly id: string;
  readonly key_id: string;
  readonly settled_at_ms: bigint;
}

/** There may be millions, and they need not be in memory together. */
const readAtOnce = 1_000;

async function* endedIn(
  query: Query,
  accountId: string,
  { startSeconds, endSeconds }: UsageWindow,
): AsyncGenerator<EndedRow> {
  let after: readonly [settledAtMs: Value, id: string] = [startSeconds * 1_000, ""];
  for (;;) {
    const rows = await query<EndedRow>(ended, [accountId, ...after, endSeconds * 1_000, readAtOnce]);
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < readAtOnce) return;
    after = [last.settled_at_ms, last.id];
  }
}

const ended = `
  SELECT id, key_id, operation_id, model, outcome, used, value_micros, charged_micros, attempts, settled_at_ms
  FROM call
  WHERE account_id = $1 AND (settled_at_ms, id) > ($2, $3) AND settled_at_ms < $4
  ORDER BY settled_at_ms, id LIMIT $5`;

/** What the usage buckets sum to in all segments, read at one moment. */
function sumsBy<Group>(
  query: Query,
  group: string,
  { accountId, keyId }: UsageScope,
  segments: readonly UsageSegment[],
): Promise<readonly (SumsRow & Group)[]> {
  const values = [JSON.stringify(segments.flatMap(momentsOf)), accountId];
  return keyId === undefined
    ? query(summed(group, "true"), values)
    : query(summed(group, "key_id = $3"), [...values, keyId]);
}

// Each moment of a segment is looked up on its own, so that a key's buckets are found among those of all other keys; a
// segment has at most a few hundred days, or the hours of one day, the minutes of one hour, or the seconds of one minute.
function momentsOf({ width, fromSeconds, toSeconds }: UsageSegment): { width: number; start: number }[] {
  const seconds = widthsSeconds[width];
  return Array.from({ length: (toSeconds - fromSeconds) / seconds }, (_, at) => ({
    width: seconds,
    start: fromSeconds + at * seconds,
  }));
}

const sums = bucketFigures.map((figure) => `sum(${figure})::bigint AS ${figure}`).join(", ");

// The offset keeps Postgres from turning this around into a walk over all buckets of the account.
const summed = (group: string, filter: string): string => `
  SELECT ${group}, ${sums}
  FROM json_to_recordset($1::text::json) AS moment (width bigint, start bigint)
  CROSS JOIN LATERAL (
    SELECT * FROM usage_bucket
    WHERE account_id = $2 AND width_seconds = width AND start_seconds = start AND ${filter} OFFSET 0
  ) AS bucket
  GROUP BY 1`;

/** The same of all accounts. An account's buckets of a segment stand together, so there is one look for each of the two. */
const wholeSumsBy = <Group>(
  query: Query,
  group: string,
  segments: readonly UsageSegment[],
): Promise<readonly (SumsRow & Group)[]> =>
  query(wholeSummed(group), [
    JSON.stringify(
      segments.map(({ width, fromSeconds, toSeconds }) => ({
        width: widthsSeconds[width],
        first: fromSeconds,
        behind: toSeconds,
      })),
    ),
  ]);

// The offset keeps Postgres from reading the buckets of all times for the sake of those of one segment.
const wholeSummed = (group: string): string => `
  SELECT ${group}, ${sums}
  FROM json_to_recordset($1::text::json) AS segment (width bigint, first bigint, behind bigint)
  CROSS JOIN account CROSS JOIN LATERAL (
    SELECT * FROM usage_bucket
    WHERE account_id = account.id AND width_seconds = width AND start_seconds >= first AND start_seconds < behind OFFSET 0
  ) AS bucket
  GROUP BY 1`;

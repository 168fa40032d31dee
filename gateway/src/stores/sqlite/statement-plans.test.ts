import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "./sqlite-store.ts";

/** They have a row for each call, link or question there ever was. */
const growing = [
  "call",
  "account_call",
  "usage_bucket",
  "link",
  "link_attempt",
  "task",
  "approval",
  "kept_answer",
];

/** Every row, or a span of calls, whose order is no account's own. */
const isWalk = (detail: string): boolean =>
  growing.some((table) => detail === `SCAN ${table}`) ||
  /^SEARCH call USING PRIMARY KEY \(id[<>]/.test(detail);

test("whoever looks for some rows of a growing table does not walk through all of them", async () => {
  const plans = await planStatements();
  const walks = [...plans]
    .filter(([sql]) => /\bWHERE\b/.test(sql))
    .filter(([sql]) => !isOfSpan(sql))
    .flatMap(([sql, details]) => details.filter(isWalk).map((detail) => `${detail}: ${sql}`));
  expect(walks).toEqual([]);
  expect(plans.size).toBeGreaterThan(100);
});

// Which calls of all accounts ended in some days is asked by the operator alone, and all of them are wanted.
const isOfSpan = (sql: string): boolean => /\bFROM call\s+WHERE id >= \?1 AND id < \?2\b/.test(sql);

test("the report of all accounts looks at the calls and the buckets of its days, in the order in which they stand", async () => {
  const plans = await planStatements();
  expect([...plans].filter(([sql]) => isOfSpan(sql)).map(([, details]) => details)).toEqual([
    ["SEARCH call USING PRIMARY KEY (id>? AND id<?)"],
  ]);
  const ofBuckets = [...plans].filter(([sql]) =>
    /\bFROM usage_bucket\s+WHERE width_seconds = \?1\b/.test(sql),
  );
  const inOrder =
    "SEARCH usage_bucket USING PRIMARY KEY (width_seconds=? AND start_seconds>? AND start_seconds<?)";
  expect(ofBuckets.map(([, details]) => details)).toEqual([[inOrder], [inOrder]]);
});

// All attempts of a day may be one key's, so that a search by the key alone is a walk as well.
test("whoever begins a link looks past attempts that are over and wait for nothing but the end of their idempotency key", async () => {
  const searches = [...(await planStatements())]
    .filter(([sql]) => /\bFROM link_attempt\s+WHERE key_id = /.test(sql))
    .flatMap(([, details]) => details)
    .filter((detail) => detail.includes("key_id="));
  expect(searches.toSorted()).toEqual([
    "SEARCH link_attempt USING INDEX link_attempt_open (key_id=? AND expires_at_ms>?)",
    "SEARCH link_attempt USING INDEX link_attempt_unkeyed (key_id=?)",
  ]);
});

/** Every statement of the store, and what SQLite would do for it. */
async function planStatements(): Promise<ReadonlyMap<string, readonly string[]>> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-plans-"));
  const path = join(folder, "tollgate.db");
  const prepared = spyOn(Database.prototype, "query");
  const store = openSqliteStore({ path });
  const statements = new Set(prepared.mock.calls.map(([sql]) => sql));
  prepared.mockRestore();
  await store.close();

  const db = new Database(path);
  const planOf = (sql: string): string[] =>
    db
      .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail);
  const plans = new Map([...statements].map((sql) => [sql, planOf(sql)]));
  db.close();
  rmSync(folder, { recursive: true });
  return plans;
}

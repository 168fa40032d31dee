import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "./sqlite-store.ts";

/** They have a row for each call, link or question there ever was. */
const growing = ["call", "account_call", "usage_bucket", "link", "link_attempt", "task", "approval"];

/** Every row, or a span of calls, whose order is no account's own. */
const isWalk = (detail: string): boolean =>
  growing.some((table) => detail === `SCAN ${table}`) ||
  /^SEARCH call USING PRIMARY KEY \(id[<>]/.test(detail);

test("whoever looks for some rows of a growing table does not walk through all of them", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-plans-"));
  const path = join(folder, "tollgate.db");
  const prepared = spyOn(Database.prototype, "query");
  const store = openSqliteStore({ path });
  const statements = new Set(prepared.mock.calls.map(([sql]) => sql));
  prepared.mockRestore();
  await store.close();

  const db = new Database(path);
  const walks = [...statements]
    .filter((sql) => /\bWHERE\b/.test(sql))
    .flatMap((sql) =>
      db
        .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .filter(({ detail }) => isWalk(detail))
        .map(({ detail }) => `${detail}: ${sql}`),
    );
  db.close();
  rmSync(folder, { recursive: true });
  expect(walks).toEqual([]);
  expect(statements.size).toBeGreaterThan(100);
});

import { expect, test } from "bun:test";
import { openTestDatabase } from "../../../../test/services/postgres.ts";
import { openDatabase, type Database } from "./server/database.ts";
import { migrate } from "./schema/migrate.ts";
import { createPostgresCalls } from "./postgres-calls.ts";
import { createPostgresTasks } from "./postgres-tasks.ts";
import type { Query } from "./server/query.ts";

const open = (url: string): Database => openDatabase({ url, monotonicMs: () => performance.now() });

async function migrated(url: string): Promise<void> {
  const db = open(url);
  await migrate(db, 0);
  await db.close();
}

async function withNodes(use: (one: Database, two: Database) => Promise<void>): Promise<void> {
  const { url, drop } = await openTestDatabase({ template: migrated });
  const [one, two] = [open(url), open(url)];
  try {
    await use(one, two);
  } finally {
    await Promise.all([one.close(), two.close()]);
    await drop();
  }
}

test("two nodes that ask for due tasks again and again get each of them once", () =>
  withNodes(async (one, two) => {
    await one.write(async (query) => {
      await openAccounts(query, ["acct_1"]);
      await query(
        insertCalls(
          "SELECT 'call_' || n, 'acct_1', 'dispatched', NULL::bigint FROM generate_series(1, 200) AS n",
        ),
      );
      await query(`
        INSERT INTO task (call_id, id, account_id, key_id, state, upstream, upstream_task_id, expected, created_at_ms,
                          asked_at_ms, next_poll_at_ms, deadline_at_ms)
        SELECT 'call_' || n, 'task_' || n, 'acct_1', 'key_of_acct_1', 'RUNNING', 'vendor', 'v' || n, '{}', 0, 0, n, 9999
        FROM generate_series(1, 200) AS n`);
    });
    const nodes = [one, two, one, two, one, two].map((db) => createPostgresTasks(db, () => undefined));
    const claimed = await Promise.all(
      nodes.map(async (tasks) => {
        const own: string[] = [];
        for (;;) {
          const due = await tasks.claimDue({ upstream: "vendor", nowMs: 1_000, leaseMs: 30_000, limit: 7 });
          if (due.length === 0) return own;
          const waitedSince = due.map(({ nextPollAtMs }) => nextPollAtMs);
          expect(waitedSince).toEqual(waitedSince.toSorted((a, b) => a - b));
          own.push(...due.map(({ id }) => id));
        }
      }),
    );
    expect(claimed.flat()).toHaveLength(200);
    expect(new Set(claimed.flat()).size).toBe(200);
    const again = { taskId: "task_7", nowMs: 31_000, leaseMs: 30_000, notAskedSinceMs: 1_000 };
    const won = await Promise.all(nodes.map((tasks) => tasks.claim(again)));
    expect(won.filter((task) => task !== undefined)).toHaveLength(1);
  }));

test("a page of calls does not walk through what other accounts called since, nor open ones through ended ones", () =>
  withNodes(async (db) => {
    await db.write(async (query) => {
      await openAccounts(query, ["acct_old", "acct_busy"]);
      await query(
        insertCalls(`
          SELECT 'call_' || lpad(n::text, 6, '0'), CASE WHEN n <= 3000 THEN 'acct_old' ELSE 'acct_busy' END,
                 CASE WHEN n % 1000 = 0 THEN 'dispatched' ELSE 'settled' END, CASE WHEN n % 1000 <> 0 THEN n END
          FROM generate_series(1, 30000) AS n`),
      );
      await query("ANALYZE");
    });
    let walked = 0;
    const read: Query = async (text, values) => {
      const plan = await db.read<{ "QUERY PLAN": string }>(`EXPLAIN (ANALYZE) ${text}`, values);
      for (const { "QUERY PLAN": line } of plan)
        walked = Math.max(walked, Number(/Rows Removed by Filter: (\d+)/.exec(line)?.[1] ?? 0));
      return db.read(text, values);
    };
    const calls = createPostgresCalls({ ...db, read }, 100);
    const any = { limit: 50, before: undefined, operationId: undefined, status: undefined, keyId: undefined };
    expect((await calls.list("acct_old", any)).calls).toHaveLength(50);
    const none = await calls.list("acct_busy", { ...any, operationId: "never" });
    expect(none).toEqual({ calls: [], nextBefore: "call_029901" });
    expect((await calls.list("acct_busy", { ...any, status: "dispatched" })).calls).toHaveLength(27);
    expect(walked).toBeLessThanOrEqual(100);
  }));

async function openAccounts(query: Query, ids: readonly string[]): Promise<void> {
  await query("INSERT INTO run (started_at_ms) VALUES (0)");
  await query("INSERT INTO price VALUES ('prices', 'sold', NULL, '{}')");
  await query(
    `INSERT INTO account (id, name, tier, plan_multiplier_ppm, created_at_ms)
     SELECT id, id, 'free', 1000000, 0 FROM unnest($1::text[]) AS id`,
    [ids],
  );
  await query(
    `INSERT INTO key (id, account_id, name, scope, created_at_ms)
     SELECT 'key_of_' || id, id, id, 'key', 0 FROM unnest($1::text[]) AS id`,
    [ids],
  );
}

/** From rows of id, account, state and end. */
const insertCalls = (rows: string): string => `
  INSERT INTO call (id, account_id, state, settled_at_ms, key_id, operation_id, held_micros, price_version,
                    multiplier_ppm, run_id, created_at_ms)
  SELECT id, account_id, state, settled_at_ms, 'key_of_' || account_id, 'sold', 0, 'prices', 1000000, 1, 0
  FROM (${rows}) AS made (id, account_id, state, settled_at_ms)`;

import { expect, test } from "bun:test";
import { openTestDatabase } from "../../../../test/services/postgres.ts";
import { attemptOf } from "../../links/test-link-attempt.ts";
import { middayMs } from "../../ledger/conformance/shared-conformance.ts";
import { openDatabase, type Database } from "./server/database.ts";
import { migrate } from "./schema/migrate.ts";
import { createPostgresLinks } from "./postgres-links.ts";
import type { Query } from "./server/query.ts";

const caller = { accountId: "acct_1", keyId: "key_1" };

test.each(["has counted them", "knows nothing of them"])(
  "whoever begins a link looks past the key's attempts that are over, where the server %s",
  async (knowledge) => {
    const { url, drop } = await openTestDatabase();
    const db = openDatabase({ url, monotonicMs: () => performance.now() });
    try {
      await migrate(db, 0);
      await db.write(async (query) => {
        await query(
          `INSERT INTO account (id, name, tier, plan_multiplier_ppm, created_at_ms)
           VALUES ('acct_1', 'one', 'free', 1000000, 0)`,
        );
        await query(
          `INSERT INTO key (id, account_id, name, scope, created_at_ms)
           VALUES ('key_1', 'acct_1', 'k', 'key', 0)`,
        );
        await query(endedAttempts, [middayMs - hourMs]);
        if (knowledge === "has counted them") await query("ANALYZE");
      });
      const looks: Look[] = [];
      const links = createPostgresLinks(noting(looks, db));
      // The server may plan a statement anew when it has run it five times.
      for (let at = 0; at < 8; at++) {
        const idempotency = { keyHash: Uint8Array.of(at), fingerprint: Uint8Array.of(at) };
        const attempt = attemptOf(caller, `s${at}`, at % 2 === 0 ? { idempotency } : {});
        expect(await links.begin(attempt)).toEqual({ kind: "begun" });
      }
      expect(looks.filter(({ rows }) => rows > 50)).toEqual([]);
      expect(looks.length).toBeGreaterThan(8 * 4);
    } finally {
      await db.close();
      await drop();
    }
  },
);

const hourMs = 3_600_000;

/** Each keeps an idempotency key; of every four, three were used, and one was left. */
const endedAttempts = `
  INSERT INTO link_attempt (state_hash, id, key_id, account_id, upstream, scopes, salt, verifier, confirm, key_hash,
                            fingerprint, created_at_ms, expires_at_ms, used_at_ms)
  SELECT sha256(n::text::bytea), 'attempt_' || n, 'key_1', 'acct_1', 'platform', '[]', '', '', false,
         sha256(n::text::bytea), '', $1::bigint, $1::bigint + n, CASE WHEN n % 4 <> 0 THEN $1::bigint END
  FROM generate_series(1, 8000) AS n`;

/** A step of a statement, and how many rows it found or passed. */
interface Look {
  readonly step: string;
  readonly rows: number;
}

/** The same database, with every look of whoever writes noted. */
function noting(looks: Look[], db: Database): Database {
  const explained =
    (query: Query): Query =>
    async (text, values) => {
      // What explains a statement runs it, and only an insert cannot be run again.
      const isRepeatable = !/^\s*INSERT/.test(text);
      const plan = isRepeatable
        ? await query<{ "QUERY PLAN": string }>(`EXPLAIN (ANALYZE) ${text}`, values)
        : [];
      for (const { "QUERY PLAN": step } of plan) {
        const rows = /(?:Rows Removed by [\w ]+: |actual .*rows=)(\d+)/.exec(step)?.[1];
        if (rows !== undefined) looks.push({ step, rows: Number(rows) });
      }
      return query(text, values);
    };
  return {
    ...db,
    write: (work, ...rest) => db.write((query) => work(explained(query)), ...rest),
    writePatiently: (work, ...rest) => db.writePatiently((query) => work(explained(query)), ...rest),
  };
}

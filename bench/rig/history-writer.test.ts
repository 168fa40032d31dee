import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { unbound } from "../../gateway/src/ledger/test-unbound.ts";
import { valuePico } from "../../gateway/src/prices/terms.ts";
import { backUp } from "../../gateway/src/stores/sqlite/file/backup.ts";
import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { answeredAfterMs, historyHold, historyPrice, writeHistory } from "./history-writer.ts";
import { openTemporaryFolder } from "./leftovers.ts";
import { openAccount, plentyMicros, type OpenedAccount } from "./tollgate-server.ts";

const folder = openTemporaryFolder("history");
afterAll(() => folder.remove());

const startMs = Date.UTC(2026, 0, 1);
const options = { creditMicros: plentyMicros, tier: "enterprise" } as const;

test("a written history is, row by row, what the ledger books for the same calls", async () => {
  const [written, booked] = [join(folder.path, "written.db"), join(folder.path, "booked.db")];
  const store = openSqliteStore({ path: booked });
  await store.ledger.beginRun(startMs);
  await store.ledger.recordPrices([historyPrice]);
  const owners: OpenedAccount[] = [];
  for (let number = 0; number < 3; number++) owners.push(await openAccount(store, options, startMs));
  await backUp(booked, written);

  writeHistory(written, { calls: 500, startMs, owners }, () => {});
  for (const call of callsOf(written)) {
    const held = await store.ledger.hold({
      ...historyPrice,
      ...historyHold,
      ...call,
      ...unbound,
      budget: { limitMicros: plentyMicros, window: "day" },
    });
    expect(held.kind).toBe("held");
    await store.ledger.settle({
      callId: call.callId,
      outcome: "succeeded",
      used: call.used,
      usageSource: "provider",
      valuePico: valuePico(call.used, historyPrice.terms),
      httpStatus: 200,
      attempts: [],
      settledAtMs: call.createdAtMs + answeredAfterMs,
    });
  }
  await store.close();

  const [ours, theirs] = [contentOf(written), contentOf(booked)];
  expect(ours.get("call")).toHaveLength(500);
  for (const [table, rows] of theirs) expect([table, ours.get(table)]).toEqual([table, rows]);
  expect([...ours.keys()]).toEqual([...theirs.keys()]);
});

test("the audit finds nothing in a written history, in which days hold many calls of many accounts", async () => {
  const path = join(folder.path, "audited.db");
  const store = openSqliteStore({ path });
  await store.ledger.beginRun(startMs);
  await store.ledger.recordPrices([historyPrice]);
  const owners: OpenedAccount[] = [];
  for (let number = 0; number < 5; number++) owners.push(await openAccount(store, options, startMs));
  await store.close();
  writeHistory(path, { calls: 40_000, startMs, owners }, () => {});

  const again = openSqliteStore({ path });
  const { calls, findings } = await again.auditor.audit();
  await again.close();
  expect(findings).toEqual([]);
  expect(calls).toBe(40_000);
}, 30_000);

function callsOf(path: string) {
  const db = new Database(path, { readonly: true });
  const rows = db
    .query<{ id: string; account_id: string; key_id: string; used: string; created_at_ms: number }, []>(
      "SELECT id, account_id, key_id, used, created_at_ms FROM call ORDER BY id",
    )
    .all();
  db.close();
  return rows.map((row) => ({
    callId: row.id,
    accountId: row.account_id,
    keyId: row.key_id,
    used: JSON.parse(row.used) as { input_tokens: number; output_tokens: number },
    createdAtMs: row.created_at_ms,
  }));
}

/** Every table, so that one which is added later is not forgotten; of lists what they say, wherever it stands. */
function contentOf(path: string): Map<string, unknown[]> {
  const db = new Database(path, { readonly: true });
  const tables = db
    .query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    .all()
    .map(({ name }) => name)
    .filter((name) => name !== "account_call" && name !== "unlisted");
  const content = new Map(
    [...tables, "listed_call"].map((name) => [name, db.query(`SELECT * FROM "${name}"`).all()]),
  );
  db.close();
  return content;
}

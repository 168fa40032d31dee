// What memory has of the keys of links and applications: never less than the file.

import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { earlierIn, applicationKind, callKind, linkKind } from "../../../store/test-keyed-requests.ts";
import {
  claimOf,
  createTestBooks,
  middayMs,
  operationId,
  terms,
  type TestBooks,
} from "../../../ledger/conformance/shared-conformance.ts";
import { openDatabase } from "../file/database.ts";
import { openSqliteStore } from "../sqlite-store.ts";
import { createUnpaidClaims } from "./unpaid-claims.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-unpaid-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "tollgate.db");
}

async function openServer(path: string): Promise<TestBooks> {
  const store = openSqliteStore({ path });
  closers.push(() => store.close());
  await store.ledger.beginRun(middayMs);
  await store.ledger.recordPrices([{ operationId, model: undefined, terms }]);
  return createTestBooks(
    () => store,
    () => Promise.reject(new Error("It is not opened twice.")),
  );
}

test.each([linkKind, applicationKind])(
  "a key of $name that another process wrote down is taken, for whoever knew the others",
  async (kind) => {
    const path = newPath();
    const server = await openServer(path);
    const caller = await server.openCaller();
    await kind.ask(server, caller, { id: "first", claim: claimOf("first") });
    await server.held(caller, { idempotency: claimOf("a call's") });
    const other = openSqliteStore({ path });
    closers.push(() => other.close());
    const besideServer = createTestBooks(() => other, server.reopen);
    await kind.ask(besideServer, caller, { id: "theirs", claim: claimOf("k") });
    const answer = await callKind.ask(server, caller, { id: "mine", claim: claimOf("k") });
    expect(earlierIn(answer)?.callId).toBe("theirs");
  },
);

test("marks of rows that are gone do not pile up: memory is read anew when there are many", () => {
  const db = openDatabase(newPath());
  closers.push(() => db.close());
  db.run("PRAGMA foreign_keys = OFF");
  const claims = createUnpaidClaims(db, 12_345);
  const isFound = () => claims.find("acc_1", claimOf("k"), middayMs) !== undefined;
  expect(isFound()).toBe(false);
  db.query(
    `INSERT INTO quota_application (id, account_id, key_id, expected_rpm, expected_tpm, models, endpoints, use_case,
                                    key_hash, fingerprint, state, created_at_ms)
     VALUES ('app', 'acc_1', 'key', 1, 1, '[]', '[]', '', ?1, ?1, 'open', ?2)`,
  ).run(claimOf("k").keyHash, middayMs);
  // Nobody said so: what memory was told of is all that it has, until it looks again.
  expect(isFound()).toBe(false);
  for (let gone = 0; gone <= 1_000; gone++) claims.note("acc_1", claimOf(`${gone} is gone`).keyHash);
  expect(isFound()).toBe(true);
});

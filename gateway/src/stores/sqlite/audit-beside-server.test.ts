import { afterAll, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { callsOn, day, rerank, startMs } from "../test-audited-books.ts";
import { openAuditedBooks } from "./test-audited-books.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const { folder, sound, remove } = await openAuditedBooks();
afterAll(remove);

test("an audit sees one moment of the books while another connection writes", async () => {
  const busy = join(folder, "busy.db");
  copyFileSync(sound, busy);
  const server = openSqliteStore({ path: busy });
  await server.ledger.beginRun(startMs + day);
  const auditing = openSqliteStore({ path: busy });
  const { hold, settle } = callsOn(server);
  for (let n = 0; n < 20; n++) {
    const writing = Array.from({ length: 20 }, async (_, m) => {
      await hold(`busy_${n}_${m}`, "key_a", rerank, 10n);
      await settle(`busy_${n}_${m}`, rerank, { input_tokens: n * m }, startMs + day + n * 1_000);
    });
    expect((await auditing.auditor.audit()).findings).toEqual([]);
    await Promise.all(writing);
  }
  expect((await auditing.auditor.audit()).findings).toEqual([]);
  await auditing.close();
  await server.close();
});

test("an audit beside a server keeps it from writing for a moment only, however long the audit takes", async () => {
  const large = join(folder, "large.db");
  copyFileSync(sound, large);
  const db = new Database(large);
  // Corrections that cancel each other out take long to read and change no balance.
  db.run(`
    WITH RECURSIVE fix (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM fix WHERE n < 300000)
    INSERT INTO payment
    SELECT 'many_' || n, 'adjustment', party, sign * (n % 2 * 2 - 1), NULL, ${startMs}
    FROM fix, (SELECT 'acc_a' AS party, 1 AS sign UNION ALL SELECT 'house:adjustments', -1)`);
  db.close();
  const server = openSqliteStore({ path: large });
  await server.ledger.beginRun(startMs + day);
  const { hold } = callsOn(server);
  await hold("running", "key_a", rerank, 10n);
  const program = `import { openSqliteStore } from ${JSON.stringify(join(import.meta.dir, "sqlite-store.ts"))};
    const store = openSqliteStore({ path: process.argv[1], patienceMs: 20_000 });
    const startedMs = performance.now();
    const { findings } = await store.auditor.audit();
    console.log(JSON.stringify({ findings, tookMs: performance.now() - startedMs }));
    await store.close();`;
  const child = Bun.spawn([process.execPath, "-e", program, large], { stdout: "pipe", stderr: "inherit" });
  let ended = false;
  child.exited.then(() => (ended = true)).catch(() => {});
  let slowestMs = 0;
  for (let n = 0; !ended; n++) {
    const startedMs = performance.now();
    await hold(`beside_${n}`, "key_a", rerank, 10n);
    slowestMs = Math.max(slowestMs, performance.now() - startedMs);
    await Bun.sleep(5);
  }
  const { findings, tookMs } = JSON.parse(await new Response(child.stdout).text()) as {
    readonly findings: readonly object[];
    readonly tookMs: number;
  };
  expect(findings).toEqual([]);
  expect(slowestMs).toBeLessThan(tookMs / 2);
  await server.close();
});

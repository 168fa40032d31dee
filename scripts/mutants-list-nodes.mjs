// The same for several nodes on one Postgres. `only` is part of the name of the very test that must notice: each of them
// begins with databases of its own, so nobody waits for the others. What the tables themselves refuse, such as two calls
// with one idempotency key, needs no bug here: it would be decided anew, and rightly.

const stores = "gateway/src/stores";
const postgres = `${stores}/postgres`;
const facts = `${postgres}/ledger-facts.ts`;
const wishes = `${postgres}/decide-wishes.ts`;
const nodes = [`${postgres}/postgres-nodes.services.test.ts`];
const faults = [`${postgres}/postgres-faults.services.test.ts`];
const conformance = [`${postgres}/postgres-store.services.test.ts`];
const moves = [`${stores}/move-books.services.test.ts`];

export const mutants = [
  {
    name: "nodes: accounts are decided by without being locked",
    file: `${postgres}/fact-rows.ts`,
    find: 'const forUpdate = lock === "none" ? "" : "FOR NO KEY UPDATE";',
    replace: 'const forUpdate = "";',
    tests: nodes,
    only: "exactly as many are held as the key's budget allows",
  },
  {
    name: "nodes: what a batch holds is forgotten for the rest of it",
    file: facts,
    find: "        bound.heldMicros += heldMicros;\n",
    replace: "",
    tests: nodes,
    only: "exactly as many are held as the key's budget allows",
  },
  {
    name: "nodes: a grant's day does not count what is held",
    file: facts,
    find: "      if (call.grantId !== null) bounds.push(grantDay(call.grantId, dayStartMs(call.createdAtMs)));\n",
    replace: "",
    tests: nodes,
    only: "exactly as many are held as the day of a grant allows",
  },
  {
    name: "nodes: tasks that a batch opens are not counted",
    file: facts,
    find: "openTask: (keyId) => void open.set(keyId, (open.get(keyId) ?? 0) + 1),",
    replace: "openTask: () => {},",
    tests: nodes,
    only: "exactly as many begin a task as the key may have open",
  },
  {
    name: "nodes: a call is ended without looking whether it has ended",
    file: wishes,
    find: "    if (call.settledAtMs !== undefined) return earlier(call);\n",
    replace: "",
    tests: nodes,
    only: "a call that several nodes end at once ends once",
  },
  {
    name: "nodes: whoever lost the claim on a task ends it all the same",
    file: wishes,
    find: " || task.fence !== ending.task.fence",
    replace: "",
    tests: conformance,
    only: "is not ended by whoever lost the claim on it",
  },
  {
    name: "nodes: a dead node's open tasks are released with its calls",
    file: `${postgres}/left-behind.ts`,
    find: "\n    AND NOT EXISTS (SELECT 1 FROM task WHERE call_id = call.id AND task.ended_at_ms IS NULL)`;",
    replace: "`;",
    tests: conformance,
    only: "keeps its hold when the process dies",
  },
  {
    name: "nodes: what a stream delivered just before its end is lost is free",
    file: wishes,
    find: "    if (call) call.progress = JSON.stringify(used);\n",
    replace: "    void [call, used];\n",
    tests: conformance,
    only: "a stream whose end nobody could tell",
  },
  {
    name: "nodes: calls are held under a run that others have ended",
    file: `${postgres}/ledger-batch.ts`,
    find: "  if (run?.ended !== false) throw new RunEnded(runId);\n",
    replace: "  void run;\n",
    tests: faults,
    only: "in the eyes of another, and lives, goes on as somebody new",
  },
  {
    name: "nodes: a hold that others have given back is told as held",
    file: wishes,
    find: "  if (runId !== currentRunId) throw new Error(`The call ${callId} was held by a run that has ended.`);\n",
    replace: "  void [runId, callId, currentRunId];\n",
    tests: faults,
    only: "was the hold of a node that was taken for dead meanwhile lets nothing be sent",
  },
  {
    name: "nodes: a release does not wait for a hold that may still come",
    file: `${postgres}/ledger-batch.ts`,
    find: "if (whole.length === 0) return new Set(missing);",
    replace: "if (whole.length === 0) return new Set();",
    tests: faults,
    only: "arrives when its caller has given up leaves nothing held",
  },
  {
    name: "nodes: a process that stood still believes that it holds",
    file: `${postgres}/wish-queue.ts`,
    find: "        if (deadlineMs <= monotonicMs()) return waiting.reject(new InDoubt());\n",
    replace: "        void deadlineMs;\n",
    tests: faults,
    only: "a process that stood still is not told that it holds",
  },
  {
    name: "nodes: who could not look takes the others for dead",
    file: `${postgres}/runs.ts`,
    find: "    if (nowMs - lookedAtMs > deadAfterMs / 2) watched.clear();\n",
    replace: "",
    tests: [`${postgres}/runs.services.test.ts`],
    only: "whoever could not look for a while",
  },
  {
    name: "nodes: a node that shows itself at the last moment is taken for dead",
    file: `${postgres}/runs.ts`,
    find: " AND run.beats = given.beats AND",
    replace: " AND",
    tests: [`${postgres}/runs.services.test.ts`],
    only: "shows itself while somebody is about to end it",
  },
  {
    name: "nodes: the schema is changed under nodes that serve",
    file: `${postgres}/migrations.ts`,
    find: "if (version > 0) await endRuns(query, runs);",
    replace: "void runs;",
    tests: [`${postgres}/migrations.services.test.ts`],
    only: "under a node that serves nothing is changed",
  },
  {
    name: "nodes: a person is asked the same once for each node",
    file: `${postgres}/postgres-approvals.ts`,
    find: "  await query(sql.lockAccount, [accountId]);\n  const waiting",
    replace: "  const waiting",
    tests: [`${postgres}/postgres-books.services.test.ts`],
    only: "asks the same at two nodes at once has one question open",
  },
  {
    name: "nodes: a commit does not wait for the disk where the server's default is not to",
    file: `${postgres}/database.ts`,
    find: 'query(waitForDisk, ["on"])',
    replace: 'query(waitForDisk, ["off"])',
    tests: faults,
    only: "loses nothing that was told when it crashes",
  },
  {
    name: "a move in doubt opens the old books again",
    file: `${stores}/move-books.ts`,
    find: "const mayArrive = old.begun !== undefined || error instanceof InDoubt;",
    replace: "const mayArrive = !(error instanceof Error);",
    tests: moves,
    only: "after everything arrived is ended by the next one",
  },
  {
    name: "whoever has moved books open goes on writing to them",
    file: `${stores}/sqlite/moved-mark.ts`,
    find: 'const changes = ["INSERT", "UPDATE", "DELETE"] as const;',
    replace: "const changes: readonly string[] = [];",
    tests: moves,
    only: "takes nothing from whoever had it open before",
  },
  {
    name: "moved books are not proved where they arrive",
    file: `${postgres}/new-books.ts`,
    find: "    const { findings } = await auditBooks(query);\n",
    replace: '    const findings: Awaited<ReturnType<typeof auditBooks>>["findings"] = [];\n',
    tests: moves,
    only: "when what arrives does not balance",
  },
  {
    name: "of two calls that had an idempotency key the older one moves with it",
    file: `${stores}/sqlite/old-books.ts`,
    find: "settled_at_ms IS NULL DESC, settled_at_ms DESC",
    replace: "settled_at_ms",
    tests: moves,
    only: "goes on where it was",
  },
];

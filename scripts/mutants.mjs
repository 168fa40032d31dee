// Proves that the tests would notice: each mutant is a bug of a kind that cost others money, put into a copy
// of the sources; the tests named beside it must fail. The product itself has no switches for this.
//
//   node scripts/mutants.mjs [part of a name]
//   node scripts/mutants.mjs --short            a third of them, another one with each commit

import "./require-node.mjs";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bunEnv, openBun } from "./bun.mjs";
import { root } from "./install.mjs";

const ledger = "gateway/src/stores/sqlite/sqlite-ledger.ts";
const statements = "gateway/src/stores/sqlite/ledger-statements.ts";
const journal = "gateway/src/stores/sqlite/journal.ts";
const ledgerTests = ["gateway/src/stores/sqlite/sqlite-ledger.test.ts"];
const clientTests = ["client/src/send-call.test.ts"];

const mutants = [
  {
    name: "a write is acknowledged before it is committed",
    file: "gateway/src/stores/sqlite/group-commit.ts",
    find: "      parts.beforeCommit();\n      commit.run();",
    replace:
      "      parts.beforeCommit();\n      batch.forEach((queued, index) => queued.resolve(results[index] as never));\n      setTimeout(() => commit.run(), 50);",
    tests: ["gateway/src/stores/sqlite/group-commit.test.ts"],
  },
  {
    name: "a call is settled without looking whether it has ended",
    file: ledger,
    find: 'if (call.state === "settled" || call.state === "released") return earlier(call);',
    replace: "",
    tests: ledgerTests,
  },
  {
    name: "what another process has written is not noticed",
    file: journal,
    find: "if (now === dataVersion) return false;",
    replace: "if (dataVersion !== undefined) return false;",
    tests: ledgerTests,
  },
  {
    name: "calls that another process put down for the lists are forgotten",
    file: journal,
    find: "      lists.forget();\n",
    replace: "",
    tests: ["gateway/src/stores/sqlite/call-lists.test.ts"],
  },
  {
    name: "the balance is not guarded",
    file: ledger,
    find: "if (!account || availableMicros < amountMicros)",
    replace: "if (!account)",
    tests: ["test/spending.test.ts"],
  },
  {
    name: "a budget is not guarded",
    file: ledger,
    find: "if (!fits(use, amountMicros, budget.limitMicros))",
    replace: "if (budget.limitMicros < 0n)",
    tests: ledgerTests,
  },
  {
    name: "the day of a grant is not guarded",
    file: ledger,
    find: "if (!fits(use, amountMicros, grant.perDayMicros))",
    replace: "if (grant.perDayMicros < 0n)",
    tests: ledgerTests,
  },
  {
    name: "a grant that ended since authentication still holds",
    file: ledger,
    find: 'if (grant && !sql.grantLives.get(grant.id, createdAtMs)) return { kind: "grant_ended" };',
    replace: "",
    tests: ["test/access-tokens.test.ts"],
  },
  {
    name: "what a grant's call held never comes back to its day",
    file: ledger,
    find: "      bound.heldMicros -= call.heldMicros;",
    replace: "      if (charge.chargedMicros > 0n) bound.heldMicros -= call.heldMicros;",
    tests: ledgerTests,
  },
  {
    name: "an approval is looked at, not used up",
    file: ledger,
    find: "if (request.approval) approvals.use(request.approval, request.callId);",
    replace: "",
    tests: ledgerTests,
  },
  {
    name: "an approval of another key is as good",
    file: "gateway/src/stores/sqlite/sqlite-approvals.ts",
    find: "row.key_id !== use.keyId || ",
    replace: "",
    tests: ledgerTests,
  },
  {
    name: "an access token for somebody else is taken",
    file: "gateway/src/stores/sqlite/sqlite-grants.ts",
    find: "AND audience = ?2 AND",
    replace: "AND ?2 <> '' AND",
    tests: ["test/access-tokens.test.ts"],
  },
  {
    name: "a token that may only read spends",
    file: "gateway/src/call/admit.ts",
    find: "  checkMaySpend(caller);",
    replace: "",
    tests: ["test/access-tokens.test.ts"],
  },
  {
    name: "two who redeem a code at the same moment both get tokens",
    file: "gateway/src/doors/oauth/record-adapter.ts",
    find: 'if (!first && kind === "AuthorizationCode") throw parts.ended();',
    replace: "",
    tests: ["gateway/src/doors/oauth/record-adapter.test.ts"],
  },
  {
    name: "what is posted stays in the journal",
    file: journal,
    find: "    sql.clear.run();\n",
    replace: "",
    tests: ledgerTests,
  },
  {
    name: "the books are read before the journal is posted",
    file: "gateway/src/stores/sqlite/books.ts",
    find: "      journal.isPosted()\n",
    replace: "      journal.isPosted() || commits\n",
    tests: ledgerTests,
  },
  {
    name: "money that comes from elsewhere is not noticed by those who hold",
    file: "gateway/src/stores/sqlite/books.ts",
    find: "        standings.forget();\n",
    replace: "",
    tests: ledgerTests,
  },
  {
    name: "a transaction that was rolled back is remembered",
    file: journal,
    find: "    distrust: () => {\n      dataVersion = undefined;",
    replace: "    distrust: () => {",
    tests: ledgerTests,
  },
  {
    name: "what an account carries on is not written down",
    file: "gateway/src/stores/sqlite/journal-line.ts",
    find: "    String(carry.chargeAtto),\n",
    replace: '    "0",\n',
    tests: ledgerTests,
  },
  {
    name: "what was held on the same sheet is given back to the sums",
    file: "gateway/src/stores/sqlite/sheet.ts",
    find: "if (!call.isNew) sums.addHeld(held, -held.heldMicros);",
    replace: "sums.addHeld(held, -held.heldMicros);",
    tests: ledgerTests,
  },
  {
    name: "a repeated hold takes a second time",
    file: ledger,
    find: 'if (journal.knows(request.callId)) return { kind: "held" };',
    replace: "",
    tests: ledgerTests,
  },
  {
    name: "a negative hold is accepted",
    file: ledger,
    find: 'if (request.amountMicros < 0n) throw new Error("A hold cannot be negative.");',
    replace: "",
    tests: ledgerTests,
  },
  {
    name: "one kind of operation is sent without a hold",
    file: "gateway/src/call/admit.ts",
    find: "    return await gate.ledger.hold(",
    replace:
      '    if (paid.operation.category === "data") return { kind: "held" };\n    return await gate.ledger.hold(',
    tests: ["test/spending.test.ts"],
  },
  {
    name: "a follow is charged although the platform did not confirm it",
    file: "catalogue/link.ts",
    find: "price: fixed(followPriceUsd, followed),",
    replace: "price: fixed(followPriceUsd),",
    tests: ["test/linked-calls.test.ts"],
  },
  {
    name: "a token that may only read cancels paid work",
    file: "gateway/src/call/run-call.ts",
    find: "checkMayChange(operation, caller);",
    replace: "",
    tests: ["test/access-tokens.test.ts"],
  },
  {
    name: "a call without a usable link is held before it is refused",
    file: "gateway/src/call/admit.ts",
    find: "checkHeld(await wouldHold(paid, gate), paid);",
    replace: "checkHeld(await hold(paid, gate), paid);",
    tests: ["test/linked-calls.test.ts"],
  },
  {
    name: "a renewed token is used and not stored",
    file: "gateway/src/links/renew-link.ts",
    find: "if (await parts.book.replaceTokens(seen.id, tokens, scopes)) {",
    replace: "if (tokens.version > 0) {",
    tests: ["test/linked-calls.test.ts"],
  },
  {
    name: "a state links twice",
    file: "gateway/src/stores/sqlite/sqlite-links.ts",
    find: 'if (row.used_at_ms !== null) return { kind: "used" };',
    replace: "",
    tests: ["test/links.test.ts"],
  },
  {
    name: "the idempotency key is not written with the hold",
    file: ledger,
    find: "  claim: request.idempotency,",
    replace: "  claim: undefined,",
    tests: ["test/idempotency.test.ts"],
  },
  {
    name: "a price passes through a float",
    file: "gateway/src/ledger/charge.ts",
    find: "const exactAtto = call.carry.chargeAtto + call.valuePico * call.multiplierPpm;",
    replace:
      "const exactAtto = BigInt(Math.round(Number(call.carry.chargeAtto + call.valuePico * call.multiplierPpm) * 1.0000001));",
    tests: ["gateway/src/ledger/charge.test.ts"],
  },
  {
    name: "the remainder of a charge is dropped",
    file: "gateway/src/ledger/charge.ts",
    find: "chargeAtto: exactAtto % attoPerMicro",
    replace: "chargeAtto: 0n",
    tests: ["gateway/src/ledger/charge.test.ts"],
  },
  {
    name: "a charge may exceed its hold",
    file: "gateway/src/ledger/charge.ts",
    find: "const chargedMicros = dueMicros < call.heldMicros ? dueMicros : call.heldMicros;",
    replace: "const chargedMicros = dueMicros;",
    tests: ["gateway/src/ledger/charge.test.ts", ...ledgerTests],
  },
  {
    name: "recovery forgets calls that were dispatched",
    file: statements,
    find: "WHERE settled_at_ms IS NULL AND run_id < ?1",
    replace: "WHERE state = 'held' AND settled_at_ms IS NULL AND run_id < ?1",
    tests: ledgerTests,
  },
  {
    name: "a call is settled after it was answered",
    file: "gateway/src/call/settle.ts",
    find: "const resolved = await bookEnd(paid, attempted, metered, gate);\n  paid.call",
    replace:
      'bookEnd(paid, attempted, metered, gate).catch(() => {});\n  const resolved = { chargedMicros: 0n, writtenOffMicros: 0n, valueMicros: 0n, state: "settled", first: true } as const;\n  paid.call',
    tests: ["test/spending.test.ts"],
  },
  {
    name: "an answer without evidence is charged",
    file: "gateway/src/call/meter.ts",
    find: "if (delivered === undefined) return { ...nothing, succeeded: false };",
    replace:
      'if (delivered === undefined) return { succeeded: true, used: { [operation.price.unit]: 1 }, source: "provider" };',
    tests: ["test/upstream-faults.test.ts"],
  },
  {
    name: "a slot is not returned when its call ends",
    file: "gateway/src/call/admit.ts",
    find: "const hasSlot = takesSlot(operation, priced);",
    replace: "const hasSlot = false;",
    tests: ["test/limits.test.ts"],
  },
  {
    name: "a slot is granted without being counted",
    file: "gateway/src/stores/memory-limiter.ts",
    find: "holdersOf(want.name).set(want.holder, nowMs + want.leaseMs);",
    replace: "",
    tests: ["test/limits.test.ts"],
  },
  {
    name: "a limit that a body names is taken without its bound",
    file: "gateway/src/operation/plainly-valid.ts",
    find: "isNumber(value) && value >= bounds.min && value <= bounds.max;",
    replace: "isNumber(value) && value >= bounds.min;",
    tests: ["gateway/src/operation/plainly-valid.test.ts"],
  },
  {
    name: "what one caller was charged stays on the next one's answer",
    file: "gateway/src/doors/http/answer-headers.ts",
    find: "if (value === undefined) sheet.delete(name);",
    replace: "if (value === undefined) return;",
    tests: ["gateway/src/doors/http/answer-headers.test.ts"],
  },
  {
    name: "the minute has sixty seconds' counters, not sixty-one",
    file: "gateway/src/limits/sliding-minute.ts",
    find: "const secondsKept = 61;",
    replace: "const secondsKept = 60;",
    tests: ["gateway/src/limits/sliding-minute.test.ts"],
  },
  {
    name: "another upstream is asked although the first may have done the work",
    file: "gateway/src/call/forward.ts",
    find: "  if (neverSent(exchanged)) return true;",
    replace: '  if (exchanged.kind === "no_answer") return true;',
    tests: ["test/routing.test.ts"],
  },
  {
    name: "a stream whose caller left is never settled",
    file: "gateway/src/call/stream-answer.ts",
    find: "      .then(() => this.#end())\n",
    replace: "",
    tests: ["test/streams.test.ts"],
  },
  {
    name: "what a stream has delivered is not noted",
    file: "gateway/src/call/stream-answer.ts",
    find: "    if (this.#hasPassed) this.#noteProgress();\n",
    replace: "",
    tests: ["test/failpoints.test.ts"],
  },
  {
    name: "a caller who does not read fills the memory",
    file: "gateway/src/call/stream-answer.ts",
    find: "    this.#isBehind = true;\n    this.#relay.pause();\n",
    replace: "    this.#isBehind = true;\n",
    tests: ["test/streams.test.ts"],
  },
  {
    name: "callers see the usage that only the gateway asked for",
    file: "gateway/src/upstreams/protocols/openai.ts",
    find: "(includeUsage ? undefined : withoutUsage(frame))",
    replace: "(includeUsage ? undefined : frame.text)",
    tests: ["test/streams.test.ts"],
  },
  {
    name: "output that passes unread is not counted",
    file: "gateway/src/upstreams/stream-meter.ts",
    find: "    this.#outputBytes += bytes;\n",
    replace: "",
    tests: ["gateway/src/upstreams/stream-relay.test.ts"],
  },
  {
    name: "cached tokens are counted as input too",
    file: "gateway/src/upstreams/stream-meter.ts",
    find: "  input_tokens: usage.input,\n",
    replace: "  input_tokens: usage.input + usage.cacheRead,\n",
    tests: ["test/dialect-matrix.test.ts"],
  },
  {
    name: "a redirect is taken for an answer",
    file: "gateway/src/upstreams/http/exchange.ts",
    find: 'if (status >= 300 && status < 400) this.#giveUp("redirect");',
    replace: 'if (status === 300) this.#giveUp("redirect");',
    tests: ["test/upstream-faults.test.ts"],
  },
  {
    name: "request headers are logged whole",
    file: "gateway/src/doors/http/http-door.ts",
    find: "        return respond(call, await runCall(call, gate));",
    replace:
      '        process.stderr.write(JSON.stringify(Object.fromEntries(request.headers)) + "\\n");\n        gate.log.debug("headers", { all: [...request.headers.values()].join(" ").split("").join("\\u200b") });\n        return respond(call, await runCall(call, gate));',
    tests: ["test/secrets.test.ts"],
  },
  {
    name: "a task that cannot be asked about is released",
    file: "gateway/src/tasks/task-rules.ts",
    find: 'if (report.kind === "no_verdict") return silence(task, asked);',
    replace:
      'if (report.kind === "no_verdict") return { kind: "end", used: undefined, end: { taskId: task.id, fence: task.fence, state: "FAILED", report: undefined, forgetAtMs: asked.nowMs } };',
    tests: ["test/task-verdicts.test.ts"],
  },
  {
    name: "a task that its vendor forgot is taken for failed",
    file: "gateway/src/tasks/task-rules.ts",
    find: 'case "UNKNOWN":\n      return silence(task, { ...asked, missing: true });',
    replace:
      'case "UNKNOWN":\n      return { kind: "end", used: undefined, end: { taskId: task.id, fence: task.fence, state: "FAILED", report, forgetAtMs: asked.nowMs } };',
    tests: ["test/task-verdicts.test.ts"],
  },
  {
    name: "a task is ended without looking at the claim",
    file: "gateway/src/stores/sqlite/task-rows.ts",
    find: "WHERE id = ?5 AND fence = ?6 AND ended_at_ms IS NULL`",
    replace: "WHERE id = ?5 AND ?6 >= 0`",
    tests: ledgerTests,
  },
  {
    name: "a task is ended in another transaction than its call",
    file: ledger,
    find: "    if (ending.task && !tasks.end(ending.task, ending.settledAtMs)) return earlier(call);",
    replace:
      "    const { task: endingTask } = ending;\n    if (endingTask) commits.ride(() => void tasks.end(endingTask, ending.settledAtMs));",
    tests: [...ledgerTests, "test/task-races.test.ts", "test/task-kills.test.ts"],
  },
  {
    name: "recovery releases the holds of open tasks",
    file: statements,
    find: "\n         AND NOT EXISTS (SELECT 1 FROM task WHERE call_id = call.id AND ended_at_ms IS NULL)`",
    replace: "`",
    tests: ledgerTests,
  },
  {
    name: "open tasks are counted before the hold, not with it",
    file: ledger,
    find: "const open = tasks.countOpen(keyId);",
    replace: "const open = 0;",
    tests: ["test/video-tasks.test.ts"],
  },
  {
    name: "a creation in doubt gives its hold back",
    file: "gateway/src/call/begin-task.ts",
    find: "  if (saysNo(exchanged)) {",
    replace: '  if (exchanged.kind !== "streaming") {',
    tests: ["test/task-verdicts.test.ts"],
  },
  {
    name: "a failed task is charged",
    file: "gateway/src/tasks/task-rules.ts",
    find: 'case "FAILED":\n      return end(task, report, asked, undefined);',
    replace: 'case "FAILED":\n      return end(task, report, asked, usedBySuccess(task, report));',
    tests: ["test/video-tasks.test.ts"],
  },
  {
    name: "another account's task can be seen",
    file: "gateway/src/stores/sqlite/sqlite-tasks.ts",
    find: 'find: ask<[string, string]>("WHERE task.account_id = ?1 AND task.id = ?2")',
    replace: "find: ask<[string, string]>(\"WHERE task.account_id >= '' AND ?1 = ?1 AND task.id = ?2\")",
    tests: ["test/video-tasks.test.ts"],
  },
  {
    name: "every client that polls asks the vendor",
    file: "gateway/src/tasks/task-desk.ts",
    find: "    const notAskedSinceMs = nowMs - pollPauseMs;",
    replace: "    const notAskedSinceMs = nowMs + pollPauseMs;",
    tests: ["test/task-verdicts.test.ts"],
  },
  {
    name: "a paid request may be sent twice",
    file: "gateway/src/upstreams/http/exchange.ts",
    find: "    else this.#giveUp(this.#hasWritten()",
    replace: "    else if (!head) this.#begin();\n    else this.#giveUp(this.#hasWritten()",
    tests: ["test/upstream-faults.test.ts", "gateway/src/upstreams/http-client.test.ts"],
  },
  {
    name: "a request that was read by a vendor who closed is called never sent",
    file: "gateway/src/upstreams/http/exchange.ts",
    find: '? "cut_off" : "unreachable"',
    replace: '? "unreachable" : "unreachable"',
    tests: ["gateway/src/upstreams/http-client.test.ts"],
  },
  {
    name: "what a vendor says unasked is taken for the next call's answer",
    file: "gateway/src/upstreams/http-client.ts",
    find: "if (hasExcess || connection.hasUnsent",
    replace: "if (connection.hasUnsent",
    tests: ["gateway/src/upstreams/http-client.test.ts"],
  },
  {
    name: "an agent's cap does not bind",
    file: "gateway/src/doors/mcp/run-operation.ts",
    find: "maxPriceUsd: usdFromMicros(wanted.capMicros)",
    replace: "maxPriceUsd: undefined",
    tests: ["test/agent-spending.test.ts"],
  },
  {
    name: "a cap given as a number is rounded up",
    file: "gateway/src/platform/money.ts",
    find: "digits / 10n ** BigInt(-places)",
    replace: "digits / 10n ** BigInt(-places) + 1n",
    tests: ["gateway/src/platform/money.test.ts"],
  },
  {
    name: "a batch forgets what it has spent",
    file: "gateway/src/doors/mcp/batch-tool.ts",
    find: "leftMicros -= exposureOf(told);",
    replace: "",
    tests: ["test/agent-spending.test.ts"],
  },
  {
    name: "a request that a transport repeats is bought again",
    file: "gateway/src/doors/mcp/answer-memory.ts",
    find: "if (earlier) return earlier.answer;",
    replace: "",
    tests: ["test/agent-spending.test.ts"],
  },
  {
    name: "idempotency keys of agents hold for writes only",
    file: "gateway/src/doors/mcp/run-operation.ts",
    find: "keysHoldForAll: true,",
    replace: "",
    tests: ["test/agent-spending.test.ts"],
  },
  {
    name: "an approval is believed without being used up",
    file: "gateway/src/doors/mcp/use-tool.ts",
    find: "coveredMicros: caller.grant ? undefined : parts.settings().autoApproveMicros,\n      claim,",
    replace:
      "coveredMicros: claim || caller.grant ? undefined : parts.settings().autoApproveMicros,\n      claim: undefined,",
    tests: ["test/agent-approval.test.ts"],
  },
  {
    name: "an approval allows any arguments",
    file: "gateway/src/doors/mcp/approval-item.ts",
    find: "sorted(call.arguments), ",
    replace: "",
    tests: ["test/agent-approval.test.ts"],
  },
  {
    name: "the cheap calls of an approved batch are bought again when it is played back",
    file: "gateway/src/doors/mcp/batch-tool.ts",
    find: "wanted.idempotencyKey ?? keyUnder(approvalId, index)",
    replace: "wanted.idempotencyKey",
    tests: ["test/agent-approval.test.ts"],
  },
  {
    name: "a client that was to open a page answers for its person",
    file: "gateway/src/doors/mcp/ask-approval.ts",
    find: 'if (state.mode === "form") ',
    replace: "",
    tests: ["test/agent-approval.test.ts"],
  },
  {
    name: "a session opens to whoever knows its id",
    file: "gateway/src/doors/mcp/sessions.ts",
    find: " || session.principal !== introduced.clientId",
    replace: "",
    tests: ["test/agent-door.test.ts"],
  },
  {
    name: "the client sends a paid call again without asking what became of it",
    file: "client/src/retry-rules.ts",
    find: 'const inDoubt: Verdict = billed ? "look_up" : "send_again";',
    replace: 'const inDoubt: Verdict = "send_again";',
    tests: clientTests,
  },
  {
    name: "the client lets Bun send a paid GET again by itself",
    file: "client/src/transport.ts",
    find: "{ keepalive: false }",
    replace: "{}",
    tests: ["client/src/transport.test.ts"],
  },
  {
    name: "the client makes a new key for each attempt",
    file: "client/src/transport.ts",
    find: '{ "idempotency-key": idempotencyKey }',
    replace: '{ "idempotency-key": crypto.randomUUID() }',
    tests: clientTests,
  },
  {
    name: "the client asks again for a paid GET whose upstream may have answered",
    file: "client/src/retry-rules.ts",
    find: 'return keyed || !found.failed ? "ended_unpaid"',
    replace: 'return keyed ? "ended_unpaid"',
    tests: clientTests,
  },
  {
    name: "the client gives up in doubt and says that nothing was paid",
    file: "client/src/send-call.ts",
    find: "throw doubted ? await lastWord(tried, transport, signal) : giveUp();",
    replace: "throw errorOf(tried, paid(0));",
    tests: clientTests,
  },
  {
    name: "the client says that a stream that broke off cost nothing",
    file: "client/src/relay-stream.ts",
    find: "return errorOf(failure, moneyOf(await chargedInTheEnd(failure, transport, signal)));",
    replace: "return errorOf(failure, moneyOf(0));",
    tests: ["client/src/client.test.ts"],
  },
];

const [wanted = ""] = process.argv.slice(2);
const chosen = wanted === "--short" ? thirdOf(mutants) : mutants.filter(({ name }) => name.includes(wanted));
const bun = await openBun();
let survived = 0;
// Without a bug the same tests must pass in the same copy, or a failure would prove nothing.
const sound = await run({
  name: "no bug at all",
  tests: [...new Set(chosen.flatMap(({ tests }) => tests))],
});
console.log(`${sound === "SURVIVED" ? "passes" : "FAILS"}    the sources as they are`);
if (sound !== "SURVIVED") process.exit(1);
for (const mutant of chosen) {
  const outcome = await run(mutant);
  if (outcome !== "killed") survived++;
  console.log(`${outcome.padEnd(9)} ${mutant.name}`);
}
console.log(survived === 0 ? "Every mutant was killed." : `${survived} not killed.`);
process.exitCode = survived === 0 ? 0 : 1;

/** Another third with each commit, so that CI meets them all in time; `npm run prove` meets them all at once. */
function thirdOf(all) {
  const commit = spawnSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).stdout ?? "";
  const turn = Number.parseInt(commit.slice(0, 6), 16) || 0;
  return all.filter((_, index) => index % 3 === turn % 3);
}

async function run(mutant) {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-mutant-"));
  try {
    for (const part of [
      "catalogue",
      "client",
      "gateway",
      "sandbox",
      "site",
      "contract",
      "test",
      "scripts",
      "package.json",
      "tsconfig.json",
      "README.md",
    ]) {
      cpSync(join(root, part), join(folder, part), {
        recursive: true,
        filter: (source) => !source.includes("node_modules"),
      });
    }
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    if (mutant.file !== undefined && !plant(mutant, folder)) return "misplaced";
    return (await testsPass(folder, mutant.tests)) ? "SURVIVED" : "killed";
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** False when the place for the bug is not there exactly once: the sources moved on and the mutant must follow. */
function plant({ file, find, replace }, folder) {
  const path = join(folder, file);
  const text = readFileSync(path, "utf8");
  if (text.split(find).length !== 2) return false;
  writeFileSync(
    path,
    text.replace(find, () => replace),
  );
  return true;
}

function testsPass(folder, tests) {
  return new Promise((resolve) => {
    const args = ["test", "--timeout", "60000", "--bail", ...tests];
    const child = spawn(bun, args, {
      cwd: folder,
      stdio: "ignore",
      env: { ...bunEnv, TOLLGATE_PROPERTY_RUNS: "100" },
    });
    child.on("close", (code) => resolve(code === 0));
  });
}

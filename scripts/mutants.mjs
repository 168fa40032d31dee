// Proves that the tests would notice: each mutant is a bug of a kind that cost others money, put into a copy
// of the sources; the tests named beside it must fail. The product itself has no switches for this.
//
//   node scripts/mutants.mjs [part of a name]

import "./require-node.mjs";
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bunEnv, openBun } from "./bun.mjs";
import { root } from "./install.mjs";

const ledger = "gateway/src/stores/sqlite/sqlite-ledger.ts";
const statements = "gateway/src/stores/sqlite/ledger-statements.ts";
const ledgerTests = ["gateway/src/stores/sqlite/sqlite-ledger.test.ts"];

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
    name: "the balance is checked, then taken in another step",
    file: statements,
    find: "WHERE id = ?2 AND suspended = 0 AND posted_micros - held_micros >= ?1`",
    replace: "WHERE id = ?2 AND suspended = 0 AND ?1 >= 0`",
    tests: ["test/spending.test.ts"],
  },
  {
    name: "a budget is not guarded",
    file: statements,
    find: "AND spent_micros + held_micros + ?1 <= ?4`",
    replace: "AND ?4 >= 0`",
    tests: ledgerTests,
  },
  {
    name: "ended calls are filed and stay in the daybook",
    file: "gateway/src/stores/sqlite/daybook.ts",
    find: "    sql.clear.run();\n",
    replace: "",
    tests: ledgerTests,
  },
  {
    name: "usage forgets what is not filed yet",
    file: "gateway/src/stores/sqlite/sqlite-usage.ts",
    find: "      ...sql.unfiled.all(accountId, fromSeconds, toSeconds, keyId),\n",
    replace: "",
    tests: ledgerTests,
  },
  {
    name: "a repeated hold takes a second time",
    file: ledger,
    find: "    if (inserted.changes === 0) {",
    replace: "    if (inserted.changes < 0) {",
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
    find: "    return await gate.ledger.hold({",
    replace:
      '    if (operation.category === "data") return { kind: "held" };\n    return await gate.ledger.hold({',
    tests: ["test/spending.test.ts"],
  },
  {
    name: "the idempotency key is written after the call, not with the hold",
    file: ledger,
    find: "    if (request.idempotency) {\n      const { keyHash",
    replace:
      '    if (request.idempotency && sql.callState.get(request.callId)?.state === "settled") {\n      const { keyHash',
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
    find: "if (takesSlot(operation, priced)) await gate.limiter.freeSlot(slotsName(caller.keyId), call.id);",
    replace: "",
    tests: ["test/limits.test.ts"],
  },
  {
    name: "a slot is granted without being counted",
    file: "gateway/src/stores/memory-limiter.ts",
    find: "else holdersOf(taken.name).set(taken.holder, nowMs + taken.leaseMs);",
    replace: "",
    tests: ["test/limits.test.ts"],
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
    find: "          .then(end)\n",
    replace: "",
    tests: ["test/streams.test.ts"],
  },
  {
    name: "callers see the usage that only the gateway asked for",
    file: "gateway/src/upstreams/protocols/openai.ts",
    find: "(asksForUsage(dispatch.input.body) ? undefined : withoutUsage(frame))",
    replace: "(asksForUsage(dispatch.input.body) ? undefined : frame.text)",
    tests: ["test/streams.test.ts"],
  },
  {
    name: "cached tokens are counted as input too",
    file: "gateway/src/upstreams/stream-relay.ts",
    find: "  input_tokens: usage.input,\n",
    replace: "  input_tokens: usage.input + usage.cacheRead,\n",
    tests: ["test/dialect-matrix.test.ts"],
  },
  {
    name: "redirects are followed with the vendor's key",
    file: "gateway/src/upstreams/http-client.ts",
    find: 'redirect: "manual"',
    replace: 'redirect: "follow"',
    tests: ["test/upstream-faults.test.ts"],
  },
  {
    name: "request headers are logged whole",
    file: "gateway/src/doors/http/http-door.ts",
    find: "        return respond(call, await runCall(call, gate), {});",
    replace:
      '        process.stderr.write(JSON.stringify(Object.fromEntries(request.headers)) + "\\n");\n        gate.log.debug("headers", { all: [...request.headers.values()].join(" ").split("").join("\\u200b") });\n        return respond(call, await runCall(call, gate), {});',
    tests: ["test/secrets.test.ts"],
  },
  {
    name: "a paid GET may be sent twice",
    file: "gateway/src/upstreams/http-client.ts",
    find: 'request.method !== "GET"',
    replace: "true",
    tests: ["test/upstream-faults.test.ts", "gateway/src/upstreams/http-client.test.ts"],
  },
];

const wanted = process.argv[2] ?? "";
const bun = await openBun();
let survived = 0;
// Without a bug the same tests must pass in the same copy, or a failure would prove nothing.
const sound = await run({
  name: "no bug at all",
  tests: [...new Set(mutants.flatMap(({ tests }) => tests))],
});
console.log(`${sound === "SURVIVED" ? "passes" : "FAILS"}    the sources as they are`);
if (sound !== "SURVIVED") process.exit(1);
for (const mutant of mutants.filter(({ name }) => name.includes(wanted))) {
  const outcome = await run(mutant);
  if (outcome !== "killed") survived++;
  console.log(`${outcome.padEnd(9)} ${mutant.name}`);
}
console.log(survived === 0 ? "Every mutant was killed." : `${survived} not killed.`);
process.exitCode = survived === 0 ? 0 : 1;

async function run(mutant) {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-mutant-"));
  try {
    for (const part of [
      "catalogue",
      "gateway",
      "sandbox",
      "test",
      "scripts",
      "package.json",
      "tsconfig.json",
      "README.md",
    ]) {
      cpSync(join(root, part), join(folder, part), { recursive: true });
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

// An installation that outgrew one server: its data moves from the file to Postgres, and its callers notice nothing.

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Balance } from "../../client/src/operations.ts";
import { createSecrets } from "../../gateway/src/keys/secrets.ts";
import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { migrate, schemaVersion } from "../../gateway/src/stores/sqlite/schema/migrate.ts";
import { openGatewayProcess, type GatewayProcess } from "../support/gateway-process.ts";
import { runTollgate, type Ran } from "../support/run-tollgate.ts";
import { openSandboxProgram, type SandboxControl } from "../support/sandbox.ts";
import type { TestAccount } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { awayFromMidnight } from "../support/wall-clock.ts";
import { storePassword, withPassword } from "../support/real-nodes.ts";
import { openTestDatabase, type TestDatabase } from "../services/postgres.ts";
import { callerAt, type Caller } from "../support/caller.ts";
import { snapshotMicros, snapshotPath } from "../support/purchases.ts";
import { createTask, poll, quick, video, videoMicros } from "../tasks/task-caller.ts";

const chat = { model: "gpt-4o", messages: [{ role: "user", content: "Tell me a story." }], max_tokens: 50 };
await awayFromMidnight();
const today = Math.floor(Date.now() / 86_400_000) * 86_400;
const usagePath = `/v1/usage?start_time=${today - 86_400}&end_time=${today + 2 * 86_400}`;
/** A task may be asked about twice a second. */
const pollEveryMs = 510;
const withKey = { "idempotency-key": "order-1" };

let database: TestDatabase;
let sandbox: SandboxControl;
let folder: string;
const running: GatewayProcess[] = [];

beforeAll(async () => {
  database = await openTestDatabase();
  sandbox = await openSandboxProgram();
  folder = mkdtempSync(join(tmpdir(), "tollgate-moving-"));
});
afterAll(async () => {
  for (const gateway of running) gateway.signal("SIGKILL");
  await Promise.all(running.map((gateway) => gateway.exited));
  sandbox.stop();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

test("keys, balances, usage, receipts, idempotency keys and open tasks go on in Postgres, and the file is closed", async () => {
  const inFile = await start({});
  const account = await openAccount();
  const before = callerAt(inFile.url);
  const paid = await before.post(account, "/v1/chat/completions", chat, withKey);
  expect(paid.status).toBe(200);
  const requestId = paid.headers.get("x-request-id") ?? "";
  for (let n = 0; n < 3; n++) expect((await before.call(account, snapshotPath)).status).toBe(200);
  const task = await createTask(before, account, video(quick));
  // However long the move takes here, the video is being made until it is over.
  await sandbox.fault({ vendor: "dashscope", json_patch: { output: { task_status: "RUNNING" } } });
  // That the vendor was asked is noted a moment later.
  await until(async () => (await (await before.call(account, "/v1/requests")).text()).includes("dispatched"));
  const told = await whatIsTold(before, account, requestId);

  const postgres = {
    TOLLGATE_STORE: withPassword(database.url),
    TOLLGATE_SECRET: readFileSync(join(folder, "secret"), "utf8").trim(),
    TOLLGATE_BASE_URL: inFile.url,
  };
  const nowhere = await tollgate(["move"], {});
  expect([nowhere.code, nowhere.errors]).toMatchObject([1, expect.stringContaining("Set TOLLGATE_STORE")]);
  const whileServing = await tollgate(["move"], postgres);
  expect([whileServing.code, whileServing.errors]).toMatchObject([1, expect.stringContaining("is serving")]);
  await stop(inFile);

  const moved = await tollgate(["move"], postgres);
  expect([moved.code, moved.errors]).toEqual([0, ""]);
  expect(moved.out).toMatch(/2 accounts, 2 keys, 5 calls, 1 task\./);
  expect(moved.out).not.toContain(storePassword);
  const onFile = await tollgate(["account", "list"], {});
  expect([onFile.code, onFile.errors]).toMatchObject([
    1,
    expect.stringContaining("were moved to postgres://"),
  ]);

  const inDatabase = await start(postgres);
  const after = callerAt(`http://${/It listens on (\S+)/.exec(inDatabase.greeting)?.[1]}`);
  expect(await whatIsTold(after, account, requestId)).toEqual(told);
  await sandbox.clear();
  const repeated = await after.post(account, "/v1/chat/completions", chat, withKey);
  expect([repeated.status, await repeated.text()]).toMatchObject([409, expect.stringContaining(requestId)]);
  await until(async () => {
    await Bun.sleep(pollEveryMs);
    return (await poll(after, account, task.output.task_id)).output.task_status === "SUCCEEDED";
  }, 20_000);
  expect((await after.call(account, snapshotPath)).status).toBe(200);
  const audit = await tollgate(["audit", "--json"], postgres);
  expect(JSON.parse(audit.out)).toMatchObject({ balanced: true, calls: 6 });
  const { balance } = await whatIsTold(after, account, requestId);
  expect(told.balance.balance_micros_usd - balance.balance_micros_usd).toBe(videoMicros + snapshotMicros);
}, 60_000);

test("a file of an earlier version is brought forward before it moves, and that is said once", async () => {
  const earlier = mkdtempSync(join(folder, "earlier-"));
  const file = new Database(join(earlier, "tollgate.db"), { create: true, safeIntegers: true });
  migrate(file, schemaVersion - 1);
  file.close();
  const elsewhere = await openTestDatabase();
  const environment = {
    TOLLGATE_DATA: earlier,
    TOLLGATE_STORE: elsewhere.url,
    TOLLGATE_SECRET: "of an installation that is to move",
    TOLLGATE_BASE_URL: "https://tollgate.example",
  };
  const moved = await runTollgate(["move"], { folder: earlier, environment });
  await elsewhere.drop();
  expect([moved.code, moved.errors]).toEqual([
    0,
    `the data was brought forward from schema ${schemaVersion - 1} to ${schemaVersion}.\n`,
  ]);
}, 30_000);

test("books that were written under a secret with a line break at its end move with it alone, and go on under it", async () => {
  const mounted = "of an installation with a mounted secret\n";
  const old = mkdtempSync(join(folder, "mounted-"));
  const store = openSqliteStore({ path: join(old, "tollgate.db") });
  await store.claimSecret(createSecrets(mounted).fingerprint);
  await store.close();
  const elsewhere = await openTestDatabase();
  const run = (word: readonly string[], secret: string): Promise<Ran> =>
    runTollgate(word, {
      folder: old,
      environment: {
        TOLLGATE_DATA: old,
        TOLLGATE_STORE: elsewhere.url,
        TOLLGATE_SECRET: secret,
        TOLLGATE_BASE_URL: "https://tollgate.example",
      },
    });
  try {
    expect((await run(["move"], mounted.trim())).errors).toContain("Is there a line break at its end?");
    expect(await run(["move"], mounted)).toMatchObject({ code: 0, errors: "" });
    expect(await run(["account", "list"], mounted)).toMatchObject({ code: 0, errors: "" });
  } finally {
    await elsewhere.drop();
  }
}, 30_000);

interface Told {
  readonly balance: Balance;
  readonly others: readonly unknown[];
}

/** What callers are told of themselves, which must be the same wherever the books are. */
async function whatIsTold(caller: Caller, account: TestAccount, requestId: string): Promise<Told> {
  const read = async (path: string): Promise<unknown> => {
    const answer = await caller.call(account, path);
    expect([path, answer.status]).toEqual([path, 200]);
    return answer.json();
  };
  const paths = [usagePath, "/v1/requests", `/v1/requests/${requestId}`];
  return {
    balance: (await read("/v1/credits/balance")) as Balance,
    others: await Promise.all(paths.map(read)),
  };
}

const start = async (environment: Readonly<Record<string, string>>): Promise<GatewayProcess> => {
  const gateway = await openGatewayProcess({
    dataFolder: folder,
    config: `sandbox: ${sandbox.url}\n`,
    environment,
  });
  running.push(gateway);
  return gateway;
};

async function stop(gateway: GatewayProcess): Promise<void> {
  gateway.signal("SIGTERM");
  expect(await gateway.exited).toBe(0);
}

const tollgate = (words: readonly string[], environment: Readonly<Record<string, string>>): Promise<Ran> =>
  runTollgate(words, { folder, environment: { TOLLGATE_DATA: folder, ...environment } });

async function openAccount(): Promise<TestAccount> {
  const ask = async (...words: string[]): Promise<Record<string, unknown>> =>
    JSON.parse((await tollgate([...words, "--json"], {})).out) as Record<string, unknown>;
  const made = await ask("account", "create", "--name", "Ada", "--credit-usd", "5");
  const accountId = String(made["account_id"]);
  const issued = await ask("key", "issue", "--account", accountId);
  return { accountId, keyId: String(issued["key_id"]), key: String(issued["key"]) };
}

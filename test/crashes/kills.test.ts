import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { failureOf } from "../../gateway/src/ledger/conformance/shared-conformance.ts";
import { migrate, schemaVersion, versionOf } from "../../gateway/src/stores/sqlite/schema/migrate.ts";
import { takeServerLock } from "../../gateway/src/stores/sqlite/file/server-lock.ts";
import { openGatewayProcess } from "../support/gateway-process.ts";
import { toldIn } from "../support/run-tollgate.ts";
import { takeWriteLock } from "../support/write-lock.ts";
import { bookedCalls, leftoversOf, sentTwiceOrNever } from "./compare-books.ts";
import { openInstallation, type Installation } from "./installation.ts";
import { runKillLoop } from "./kill-loop.ts";
import { startLoad } from "./load.ts";

let installation: Installation | undefined;
afterEach(async () => {
  await installation?.close();
  installation = undefined;
});

describe("a gateway that dies", () => {
  test("loses no charge it told, invents none, sends nothing twice and leaves no hold, in 12 kills", async () => {
    const report = await runKillLoop({ kills: 12 });
    expect(report).toMatchObject({ kills: 12, lost: [], duplicated: [], invented: [], leftovers: [] });
    expect(report.audit).toContain("The books balance.");
    expect(report.answered).toBeGreaterThan(100);
    expect(report.released).toBeGreaterThan(0);
  });
});

describe("a gateway that is told to stop", () => {
  test("ends the calls it has, settles each, and exits 0 within 30 s", async () => {
    installation = await openInstallation();
    const gateway = await installation.start();
    await installation.sandbox.fault({ latency_ms: 400, times: 1_000_000 });
    const load = startLoad(gateway.url, installation.key(), 24);
    await Bun.sleep(1_000);
    const startedAt = performance.now();
    gateway.signal("SIGTERM");
    expect(await gateway.exited).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    await load.stop();

    // No restart in between: it cleaned up after itself.
    expect(await leftoversOf(installation)).toEqual([]);
    expect(load.told.size).toBeGreaterThanOrEqual(24);
    const bookedFor = bookedCalls(installation);
    for (const [id, cost] of load.told) {
      expect([id, bookedFor(id).charged]).toEqual([id, cost]);
    }
    const unanswered = installation.read<{ id: string }>("SELECT id FROM call WHERE state = 'settled'");
    expect(unanswered.filter(({ id }) => !load.told.has(id))).toEqual([]);
    expect(await sentTwiceOrNever(installation)).toEqual({ twice: [], never: [] });
    expect((await installation.tollgate("audit")).code).toBe(0);
  });
});

describe("one data folder", () => {
  test("has one server: a second is refused in a sentence while the first serves on", async () => {
    installation = await openInstallation();
    const first = await installation.start();
    const second = openGatewayProcess({ dataFolder: installation.dataFolder });
    const sentence = /exit 1: Another Tollgate is serving .*tollgate\.db; one file has one server/;
    expect(await failureOf(second)).toMatch(sentence);
    const headers = { authorization: `Bearer ${installation.key()}` };
    expect((await fetch(`${first.url}/v1/credits/balance`, { headers })).status).toBe(200);

    // The lock dies with its process, however it dies.
    first.signal("SIGKILL");
    await first.exited;
    const third = await installation.start();
    expect((await fetch(`${third.url}/v1/credits/balance`, { headers })).status).toBe(200);
  });

  test("is not brought forward by a newer command while a server of an earlier version works there", async () => {
    installation = await openInstallation();
    const { dataFolder } = installation;
    const file = join(dataFolder, "tollgate.db");
    const versionNow = (): number => {
      const db = new Database(file, { safeIntegers: true });
      const version = versionOf(db);
      db.close();
      return version;
    };
    const earlier = new Database(file, { create: true, safeIntegers: true });
    migrate(earlier, schemaVersion - 1);
    earlier.close();
    const serving = takeServerLock(`${file}.lock`);
    const refused = await installation.tollgate("account", "list");
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.errors).toContain("An earlier version of Tollgate is serving");
    const backup = join(dataFolder, "before.db");
    expect((await installation.tollgate("backup", backup)).code).toBe(0);
    expect(versionNow()).toBe(schemaVersion - 1);
    serving?.release();
    const forward = await installation.tollgate("account", "list");
    expect([forward.code, forward.errors]).toEqual([
      0,
      `the data was brought forward from schema ${schemaVersion - 1} to ${schemaVersion}.\n`,
    ]);
    expect(versionNow()).toBe(schemaVersion);
    expect(await installation.tollgate("account", "list")).toMatchObject({ code: 0, errors: "" });
  });

  test("lets who types a command wait longer for a busy file than a caller waits", async () => {
    installation = await openInstallation();
    const gateway = await installation.start();
    gateway.signal("SIGTERM");
    await gateway.exited;
    const unlock = takeWriteLock(join(installation.dataFolder, "tollgate.db"));
    const typed = installation.tollgate("account", "create", "--name", "patient");
    // A caller is told after two seconds.
    await Bun.sleep(3_000);
    unlock();
    expect(await typed).toMatchObject({ code: 0, errors: "" });
  });

  test("takes payments and revocations from the command line while the server works", async () => {
    installation = await openInstallation();
    const gateway = await installation.start();
    const { tollgate: run } = installation;
    const tollgate = async (...words: string[]): Promise<Record<string, unknown>> =>
      toldIn(await run(...words, "--json"));
    const load = startLoad(gateway.url, installation.key(), 16);
    const account = await tollgate("account", "create", "--name", "paying");
    const accountId = String(account["account_id"]);
    const issued = await tollgate("key", "issue", "--account", accountId, "--scope", "account");
    const headers = { authorization: `Bearer ${String(issued["key"])}` };
    const balance = () => fetch(`${gateway.url}/v1/credits/balance`, { headers });
    expect(await (await balance()).json()).toMatchObject({ balance_micros_usd: 0 });
    await tollgate("topup", "--account", accountId, "--usd", "3");
    expect(await (await balance()).json()).toMatchObject({ balance_micros_usd: 3_000_000 });

    await tollgate("key", "revoke", String(issued["key_id"]));
    const revokedAt = performance.now();
    let { status } = await balance();
    while (status === 200 && performance.now() - revokedAt < 5_000) {
      await Bun.sleep(50);
      ({ status } = await balance());
    }
    expect(status).toBe(401);
    expect(performance.now() - revokedAt).toBeLessThan(5_000);

    await load.stop();
    expect(load.told.size).toBeGreaterThan(100);
    const bookedFor = bookedCalls(installation);
    for (const [id, cost] of load.told) {
      expect([id, bookedFor(id).charged]).toEqual([id, cost]);
    }
    expect((await installation.tollgate("audit")).code).toBe(0);
    expect(await leftoversOf(installation)).toEqual([]);
  });
});

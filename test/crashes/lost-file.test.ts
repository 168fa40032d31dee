// A file that somebody takes away from a running server: it sells nothing that it could not prove afterwards.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json, type Refused } from "../support/answers.ts";
import { callerAt } from "../support/caller.ts";
import { openGatewayProcess, type GatewayProcess } from "../support/gateway-process.ts";
import { snapshotPath } from "../support/purchases.ts";
import { runTollgate, type Ran } from "../support/run-tollgate.ts";

let folder: string;
let file: string;
let server: GatewayProcess;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-lost-"));
  mkdirSync(join(folder, "data"));
  file = join(folder, "data/tollgate.db");
  server = await openGatewayProcess({ dataFolder: join(folder, "data") });
});
afterEach(async () => {
  server.signal("SIGKILL");
  await server.exited;
  rmSync(folder, { recursive: true, force: true });
});

const call = (path = snapshotPath): Promise<Response> => callerAt(server.url).call(server, path);
const tollgate = (...words: string[]): Promise<Ran> =>
  runTollgate(words, { folder, environment: { PORT: "0" } });

test.each([
  ["moved", () => {}],
  ["replaced", () => copyFileSync(`${file}.away`, file)],
])("a file that was %s keeps calls from being sold until it is back", async (_, replace) => {
  expect((await call()).status).toBe(200);
  renameSync(file, `${file}.away`);
  replace();
  const refused = await call();
  expect(refused.status).toBe(503);
  expect((await json<Refused>(refused)).error.code).toBe("billing_unavailable");
  expect(server.stderr()).toContain(`${file} was moved, removed or replaced under the server.`);

  renameSync(`${file}.away`, file);
  expect((await call()).status).toBe(200);
  expect(await (await call("/v1/credits/balance")).json()).toMatchObject({
    balance_micros_usd: 2_000_000 - 2 * 48_000,
  });
});

test("a server whose file was moved is not ready until it is back, also while nobody calls", async () => {
  const readiness = async () => (await fetch(`${server.url}/readyz`)).json();
  renameSync(file, `${file}.away`);
  expect(await readiness()).toEqual({ status: "not ready", failing: "store" });
  renameSync(`${file}.away`, file);
  expect(await readiness()).toMatchObject({ status: "ready" });
});

test("a file that was removed is not begun anew in silence, and a backup brings it back", async () => {
  expect((await tollgate("backup", "backup.db")).code).toBe(0);
  expect((await call()).status).toBe(200);
  rmSync(file);
  server.signal("SIGKILL");
  await server.exited;

  const told = `${file} is missing, but the log of what was written to it last is there.`;
  const looked = await tollgate("doctor");
  expect([looked.code, looked.out.includes(`Store: ${told}`)]).toEqual([1, true]);
  const served = await tollgate("serve");
  expect([served.code, served.errors.includes(told)]).toEqual([1, true]);
  expect(existsSync(file)).toBe(false);

  expect((await tollgate("restore", "backup.db")).code).toBe(0);
  const sound = await tollgate("audit");
  expect([sound.code, sound.out.includes("The books balance.")]).toEqual([0, true]);
});

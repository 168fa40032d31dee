// What an operator meets who starts the program: its first words, its data, and what it refuses to start with.

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { migrate, schemaVersion } from "../../gateway/src/stores/sqlite/schema/migrate.ts";
import { json } from "../support/answers.ts";
import { callerAt } from "../support/caller.ts";
import { programEnvironment } from "../support/program-environment.ts";
import { projectFolder } from "../support/project-folder.ts";
import { snapshotPath, tagPath } from "../support/purchases.ts";
import { runProgram, runTollgate } from "../support/run-tollgate.ts";
import { until } from "../support/until.ts";
import { nextSecond } from "../support/wall-clock.ts";
import { allToldBy, useStarts } from "./operator-starts.ts";

const starts = useStarts();
const { start, complaint } = starts;
/** For starts at which nobody asks a vendor for anything. */
const config = "sandbox: off";

describe("a command", () => {
  const withoutRoom = existsSync("/dev/full");
  test.skipIf(!withoutRoom)("whose words could not be written fails, though it was done", async () => {
    const program = `"${process.execPath}" "${join(projectFolder, "gateway/src/main.ts")}"`;
    for (const flag of ["", "--json"]) {
      const command = `${program} account create --name a ${flag} > /dev/full`;
      const { code, errors } = await runProgram(["bash", "-c", command], { folder: starts.folder });
      expect(code).toBe(1);
      expect(errors).toContain("could not be written: ENOSPC");
      const last = errors.trimEnd().split("\n").at(-1) ?? "";
      if (flag === "--json") expect(Object.keys(JSON.parse(last) as object)).toEqual(["error"]);
    }
  });

  test("in an environment that is wrong keeps to --json, and helps all the same", async () => {
    const run = (...words: string[]) =>
      runTollgate(words, { folder: starts.folder, environment: { PORT: "abc" } });
    const sentence = "PORT must be a number from 0 to 65535.";
    expect(await run("account", "list")).toMatchObject({ code: 1, out: "", errors: `${sentence}\n` });
    const { code, errors } = await run("account", "list", "--json");
    expect([code, JSON.parse(errors)]).toEqual([1, { error: sentence }]);
    expect(await run("help")).toMatchObject({ code: 0, errors: "" });
    expect(await run("account", "lost")).toMatchObject({ code: 2 });
  });
});

test("a log that nobody reads stops neither calls nor the stop", async () => {
  const pipe = join(starts.folder, "log");
  Bun.spawnSync(["mkfifo", pipe]);
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const stderr = openSync(pipe, "w");
  const child = Bun.spawn([process.execPath, join(projectFolder, "gateway/src/main.ts"), "serve", "--json"], {
    cwd: starts.folder,
    env: { ...programEnvironment, PORT: "0", TOLLGATE_DATA: starts.folder, TOLLGATE_LOG: "debug" },
    stdin: "ignore",
    stdout: "pipe",
    stderr,
  });
  try {
    const greeting = new TextDecoder().decode((await child.stdout.getReader().read()).value);
    const { address, key } = JSON.parse(greeting) as { address: string; key: string };
    // Many times what a pipe holds.
    for (let calls = 0; calls < 1_000; calls++) {
      const { status } = await fetch(`${address}/v1/credits/balance`, {
        headers: { authorization: `Bearer ${key}` },
      });
      expect([200, 429]).toContain(status);
    }
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
  } finally {
    child.kill("SIGKILL");
    for (const fd of [reader, stderr]) closeSync(fd);
  }
}, 60_000);

describe("the first start", () => {
  test("greets with a key once, and the three commands it prints work as pasted", async () => {
    const first = await start();
    await until(() => first.greeting.includes("Documentation"));
    const commands = first.greeting.split("\n").filter((line) => line.startsWith("curl "));
    expect(commands).toHaveLength(3);
    const answers = commands.map((command) => {
      const ran = Bun.spawnSync(["bash", "-c", `${command} --fail`]);
      expect(ran.exitCode).toBe(0);
      return JSON.parse(ran.stdout.toString()) as Record<string, unknown>;
    });
    expect(answers[0]).toMatchObject({ object: "chat.completion" });
    expect(answers[1]).toMatchObject({ totals: { requests: 1, failed_requests: 0 } });
    expect(answers[2]).toMatchObject({ currency: "USD", held_micros_usd: 0 });
    expect(answers[2]?.["balance_micros_usd"]).toBeLessThan(2_000_000);

    expect(first.key).toStartWith("tgk_");
    expect(first.stderr()).not.toContain(first.key);
    first.signal("SIGTERM");
    expect(await first.exited).toBe(0);
    const second = await start();
    expect(second.greeting).not.toContain("tgk_");
    const again = await callerAt(second.url).call(first, "/v1/credits/balance");
    expect(again.status).toBe(200);
  });

  test("tells a program in one line of JSON where it is open, and of a new key once", async () => {
    const first = await start({ config, flags: ["--json"] });
    const told = JSON.parse(first.greeting) as Record<string, string>;
    expect(first.greeting.split("\n")).toHaveLength(2);
    expect(Object.keys(told)).toEqual(["address", "account_id", "key_id", "key"]);
    expect(told["key"]).toMatch(/^tgk_[0-9A-Za-z]{36}$/);
    expect(first.stderr()).not.toContain(told["key"] ?? "tgk_");
    const limits = await fetch(`${told["address"]}/v1/limits`, {
      headers: { authorization: `Bearer ${told["key"]}` },
    });
    expect(await limits.json()).toMatchObject({
      workspace_id: told["account_id"] ?? "",
      key_id: told["key_id"] ?? "",
    });
    first.signal("SIGTERM");
    expect(await first.exited).toBe(0);
    const second = await start({ config, flags: ["--json"] });
    expect(Object.keys(JSON.parse(second.greeting) as object)).toEqual(["address"]);
  });

  test("after an upgrade says once that the data was brought forward", async () => {
    const earlier = new Database(join(starts.folder, "tollgate.db"), { create: true, safeIntegers: true });
    migrate(earlier, schemaVersion - 1);
    earlier.close();
    const sentence = `the data was brought forward from schema ${schemaVersion - 1} to ${schemaVersion}`;
    expect((await allToldBy(await start({ config }))).split(sentence)).toHaveLength(2);
    expect(await allToldBy(await start({ config }))).not.toContain("brought forward");
  });

  test("says which version serves, in the log and in the metrics", async () => {
    const { version } = JSON.parse(readFileSync(join(projectFolder, "package.json"), "utf8")) as {
      version: string;
    };
    const gateway = await start({ config });
    await until(() => gateway.stderr().includes('"event":"serving"'));
    expect(gateway.stderr()).toMatch(new RegExp(`"event":"serving",.*"version":"${RegExp.escape(version)}"`));
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toContain(`\ntollgate_build_info{version="${version}"} 1\n`);
  });

  test("counts from zero what is rare, so that whoever watches it hears of the first time", async () => {
    const { url } = await start({ config });
    const lines = (await (await fetch(`${url}/metrics`)).text()).split("\n");
    for (const counter of [
      'tollgate_refusals_total{code="billing_unavailable"}',
      'tollgate_config_reloads_total{result="kept_old"}',
      "tollgate_written_off_micros_usd_total",
      "tollgate_limits_outages_total",
      "tollgate_log_lines_lost_total",
    ])
      expect(lines).toContain(`${counter} 0`);
  });

  test("shows no call that is not offered", async () => {
    const upstream = 'upstreams: { f: { protocol: financialdatasets, url: "http://127.0.0.1:9" } }';
    const some = await start({ config: `sandbox: off\n${upstream}` });
    expect(some.greeting).toContain(`curl -s '${some.url}${snapshotPath}' -H 'Authorization: Bearer tgk_`);
    expect(some.greeting).not.toContain("/v1/rerank");
    const other = join(starts.folder, "other");
    mkdirSync(other);
    const none = await start({ dataFolder: other, config: "sandbox: off" });
    expect(none.greeting.split("\n").filter((line) => line.startsWith("curl "))).toHaveLength(2);
  });

  test("shows no call that the new account cannot pay for", async () => {
    const { greeting } = await start({ config: "signup_credit_usd: 0" });
    const commands = greeting.split("\n").filter((line) => line.startsWith("curl "));
    expect(commands).toHaveLength(2);
    expect(commands.join("\n")).not.toContain("/v1/chat/completions");
  });

  test("makes its secret for the owner's eyes only, and another secret is a clear error", async () => {
    const first = await start({ config });
    expect(statSync(join(starts.folder, "secret")).mode & 0o777).toBe(0o600);
    expect(readdirSync(starts.folder)).toContain("tollgate.db");
    first.signal("SIGTERM");
    await first.exited;
    expect(await complaint({ TOLLGATE_SECRET: "quite another secret" })).toContain(
      "The data was written under another secret",
    );
  });

  test("makes the folder its data goes to, wherever it is told to put them", async () => {
    const secret = { TOLLGATE_SECRET: "a secret from the environment" };
    for (const [place, environment] of [
      ["a/data/tollgate.db", { TOLLGATE_DATA: join(starts.folder, "a/data"), ...secret }],
      ["b/store/t.db", { TOLLGATE_STORE: `sqlite:${join(starts.folder, "b/store/t.db")}` }],
    ] as const) {
      const gateway = await start({ config, environment });
      expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
      expect(existsSync(join(starts.folder, place))).toBe(true);
    }
  });

  test("can be that of a backup, on a machine that has no data yet", async () => {
    const first = await start({ config });
    const backup = join(starts.folder, "backup.db");
    const backedUp = await runTollgate(["backup", backup], {
      folder: starts.folder,
      environment: { TOLLGATE_DATA: starts.folder },
    });
    // Whoever keeps the backup alone is told before it is too late.
    expect(backedUp.out).toContain(`Without the secret in ${join(starts.folder, "secret")} no key`);
    const withSecret = { TOLLGATE_DATA: starts.folder, TOLLGATE_SECRET: "a secret from the environment" };
    const another = await runTollgate(["backup", join(starts.folder, "another.db")], {
      folder: starts.folder,
      environment: withSecret,
    });
    expect(another.out).toContain("Without the secret in TOLLGATE_SECRET no key");
    first.signal("SIGTERM");
    await first.exited;
    const elsewhere = join(starts.folder, "new machine");
    mkdirSync(elsewhere);
    const restored = await runTollgate(["restore", backup], { folder: elsewhere });
    expect([restored.code, restored.errors]).toEqual([0, ""]);
    expect(restored.out).toContain("It belongs to a secret that is not here.");
    expect(existsSync(join(elsewhere, "data/secret"))).toBe(false);
    copyFileSync(join(starts.folder, "secret"), join(elsewhere, "data/secret"));
    const beside = await runTollgate(["restore", backup], { folder: elsewhere });
    expect([beside.code, beside.out.includes("secret")]).toEqual([0, false]);
    const again = await start({ environment: { TOLLGATE_DATA: join(elsewhere, "data") } });
    expect(again.greeting).not.toContain("tgk_");
  });

  test("is backed up into a folder while it is served, and the newest backups stay", async () => {
    const gateway = await start({ config });
    const safe = join(starts.folder, "safe");
    mkdirSync(safe);
    const backUp = () =>
      runTollgate(["backup", safe, "--keep", "1", "--json"], {
        folder: starts.folder,
        environment: { TOLLGATE_DATA: starts.folder },
      });
    const first = JSON.parse((await backUp()).out) as { file: string };
    await nextSecond();
    const second = JSON.parse((await backUp()).out) as { file: string };
    expect(second).toMatchObject({ deleted: [first.file] });
    expect(readdirSync(safe).map((name) => join(safe, name))).toEqual([second.file]);
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
    gateway.signal("SIGTERM");
    await gateway.exited;
    const restored = await runTollgate(["restore", second.file], {
      folder: starts.folder,
      environment: { TOLLGATE_DATA: starts.folder },
    });
    expect(restored).toMatchObject({ code: 0, errors: "" });
  });

  test("is not that of another installation's backup, whose keys nobody could use here", async () => {
    const [ours, theirs] = ["ours", "theirs"].map((name) => join(starts.folder, name));
    for (const place of [ours, theirs]) {
      mkdirSync(place ?? "");
      const made = await runTollgate(["account", "create", "--name", "Ada"], { folder: place ?? "" });
      expect(made.code).toBe(0);
    }
    const backup = join(starts.folder, "theirs.db");
    await runTollgate(["backup", backup], { folder: theirs ?? "" });
    const refused = await runTollgate(["restore", backup], { folder: ours ?? "" });
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.errors).toContain("was written under another secret than this installation has");
    expect((await runTollgate(["audit"], { folder: ours ?? "" })).code).toBe(0);
    copyFileSync(join(theirs ?? "", "data/secret"), join(ours ?? "", "data/secret"));
    const taken = await runTollgate(["restore", backup], { folder: ours ?? "" });
    expect([taken.code, taken.errors]).toEqual([0, ""]);
    expect(taken.out).toContain("tollgate.db.before-restore-");
  });

  test("names the folder that it cannot make or use", async () => {
    const file = join(starts.folder, "a file");
    writeFileSync(file, "");
    const environment = { TOLLGATE_SECRET: "a secret from the environment" };
    expect(await complaint({ ...environment, TOLLGATE_DATA: file })).toContain(file);
    const sealed = join(starts.folder, "a folder in the way of the lock");
    mkdirSync(join(sealed, "tollgate.db.lock"), { recursive: true });
    expect(await complaint({ ...environment, TOLLGATE_DATA: sealed })).toContain(
      `${join(sealed, "tollgate.db.lock")} cannot be opened`,
    );
  });

  test("refuses a public address while the sandbox is on, unless told so", async () => {
    expect(await complaint({ HOST: "0.0.0.0" })).toContain("sandbox");
    const closed = await start({ environment: { HOST: "0.0.0.0" }, config: "sandbox: off" });
    expect((await fetch(`${closed.url}/healthz`)).status).toBe(200);
  });

  test("counts as public what others know by an address, also when a proxy on this machine stands in front", async () => {
    for (const name of ["TOLLGATE_BASE_URL", "TOLLGATE_SITE_URL", "TOLLGATE_MCP_URL"]) {
      const said = await complaint({ [name]: "https://api.example.com" });
      expect(said).toContain("Being known as https://api.example.com with the sandbox on");
      expect(said).toContain("--allow-sandbox-public");
    }
    const environment = { TOLLGATE_BASE_URL: "https://api.example.com" };
    for (const meant of [{ flags: ["--allow-sandbox-public"] }, { config: "sandbox: off" }]) {
      const gateway = await start({ environment, ...meant });
      expect(gateway.url).toBe("https://api.example.com");
      gateway.signal("SIGTERM");
      await gateway.exited;
    }
    const local = await start({
      environment: {
        TOLLGATE_BASE_URL: "http://localhost:8787",
        TOLLGATE_SITE_URL: "http://[::1]:8787",
        TOLLGATE_MCP_URL: "http://127.0.0.1:1",
      },
    });
    expect(local.url).toBe("http://localhost:8787");
  });

  test("warns when others can reach it and nobody said by which address", async () => {
    const told = "set TOLLGATE_BASE_URL";
    const flags = ["--allow-sandbox-public"];
    const nameless = await start({ flags, environment: { HOST: "0.0.0.0" } });
    expect(await allToldBy(nameless)).toContain(told);
    const known = { HOST: "0.0.0.0", TOLLGATE_BASE_URL: "https://gate.example" };
    for (const meant of [{ flags, environment: known }, {}]) {
      expect(await allToldBy(await start(meant))).not.toContain(told);
    }
  });

  test("says where it listens when it is known by another address", async () => {
    const gateway = await start({ config, environment: { TOLLGATE_BASE_URL: "http://localhost:1" } });
    const listensOn = /^It listens on (127\.0\.0\.1:\d+)$/m.exec(gateway.greeting)?.[1] ?? "nowhere";
    expect((await fetch(`http://${listensOn}/readyz`)).status).toBe(200);
    await until(() => gateway.stderr().includes(`"listens_on":"${listensOn}"`));
  });

  test("names a setting that cannot be used, and no password in it", async () => {
    const store = await complaint({ TOLLGATE_STORE: "mysql://me:some-secret@localhost/x" });
    expect(store).toContain("TOLLGATE_STORE must be sqlite:PATH or postgres://");
    expect(store).not.toContain("some-secret");
    expect(await complaint({ PORT: "eighty" })).toContain("PORT");
    const limits = await complaint({ TOLLGATE_LIMITS: "redis://:some-secret@localhost/x" });
    expect(limits).toContain("TOLLGATE_LIMITS must be memory: or redis://");
    expect(limits).not.toContain("some-secret");
  });

  test("that is to stop says so for a while, and serves whoever comes nevertheless", async () => {
    const gateway = await start({ environment: { TOLLGATE_STOP_DELAY_SECONDS: "2" } });
    const readyz = async () => (await fetch(`${gateway.url}/readyz`)).json();
    expect(await readyz()).toEqual({ status: "ready" });
    const toldMs = performance.now();
    gateway.signal("SIGTERM");
    await until(async () => Bun.deepEquals(await readyz(), { status: "not ready", failing: "stopping" }));
    expect((await callerAt(gateway.url).call(gateway, snapshotPath)).status).toBe(200);
    expect(await gateway.exited).toBe(0);
    expect(performance.now() - toldMs).toBeGreaterThan(1_900);
    expect(await complaint({ TOLLGATE_STOP_DELAY_SECONDS: "1.5" })).toContain("a whole number from 0 to 600");
  });

  test("with Postgres wants what all nodes must have in common, and says which server it cannot reach", async () => {
    const store = { TOLLGATE_STORE: "postgres://me:some-secret@127.0.0.1:1/x" };
    const address = { TOLLGATE_BASE_URL: "http://127.0.0.1:8787" };
    const secret = { TOLLGATE_SECRET: "of all nodes together" };
    expect(await complaint({ ...store, ...secret })).toContain("the same TOLLGATE_BASE_URL");
    expect(await complaint({ ...store, ...address })).toContain("the same TOLLGATE_SECRET");
    const said = await complaint({ ...store, ...secret, ...address });
    expect(said).toContain("postgres://127.0.0.1:1/x cannot be used");
    expect(said).not.toContain("some-secret");
  });

  test("with the sandbox off serves only what has a real upstream", async () => {
    const gateway = await start({
      config: `
sandbox: off
upstreams: { findata: { protocol: financialdatasets, url: "http://127.0.0.1:9", key: some-vendor-key } }
`,
    });
    const caller = callerAt(gateway.url);
    expect((await caller.post(gateway, "/v1/rerank", {})).status).toBe(404);
    expect((await caller.call(gateway, snapshotPath)).status).toBe(502);
  });
});

describe("a command in a folder without data", () => {
  test("says where it looked and what to set, and leaves nothing behind", async () => {
    const nowhere = join(starts.folder, "nowhere");
    const id = ["--account", "acc_1"];
    const places = [
      [join(starts.folder, "data"), {}],
      [nowhere, { TOLLGATE_DATA: nowhere }],
    ] as const;
    // All look in the same way, so each looks in one of the two.
    for (const [at, words] of [
      ["backup", join(starts.folder, "backup.db")],
      ["audit"],
      ["account", "list"],
      ["account", "ledger", "acc_1"],
      ["account", "usage", "acc_1"],
      ["topup", ...id, "--usd", "1"],
      ["key", "list"],
      ["key", "issue", ...id],
      ["quota", "list"],
      ["grant", "list"],
      ["link", "list"],
    ].entries()) {
      const [place, environment] = at % 2 === 0 ? places[0] : places[1];
      const { code, out, errors } = await runTollgate(words, { folder: starts.folder, environment });
      expect([words, code, out]).toEqual([words, 1, ""]);
      expect(errors).toContain(`There is no data at ${join(place, "tollgate.db")}.`);
      expect(errors).toContain("TOLLGATE_DATA");
    }
    expect(readdirSync(starts.folder)).toEqual([]);
  });

  test("begins an installation when it opens its first account", async () => {
    const ran = await runTollgate(["account", "create", "--name", "Ada"], { folder: starts.folder });
    expect(ran.code).toBe(0);
    expect(ran.errors).toMatch(
      /^There was no data at \/\S+\/tollgate\.db yet; it begins with this account\.\n$/,
    );
    const second = await runTollgate(["account", "create", "--name", "Eve"], { folder: starts.folder });
    expect(second).toMatchObject({ code: 0, errors: "" });
    const listed = await runTollgate(["account", "list", "--json"], { folder: starts.folder });
    expect(JSON.parse(listed.out)).toMatchObject({ accounts: [{ name: "Ada" }, { name: "Eve" }] });
  });
});

test("the reseller's cache_url is readable under our own address, free of charge", async () => {
  const gateway = await start();
  const { call } = callerAt(gateway.url);
  const answer = await json<{ cache_url: string; data: unknown }>(call(gateway, tagPath));
  expect(answer.cache_url).toStartWith(`${gateway.url}/sandbox/`);
  const cached = await json<{ data: unknown }>(fetch(answer.cache_url));
  expect(cached.data).toEqual(answer.data);
  const balance = await json<object>(call(gateway, "/v1/credits/balance"));
  expect(balance).toMatchObject({ balance_micros_usd: 2_000_000 - 1_450 });
  expect((await fetch(`${gateway.url}/sandbox/_control/book`)).status).toBe(404);
  expect((await fetch(`${gateway.url}/sandbox/..%2f_control/book`)).status).toBe(404);
});

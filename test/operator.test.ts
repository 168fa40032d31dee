import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "../gateway/src/config/load-config.ts";
import { ConfigError } from "../gateway/src/platform/config-error.ts";
import { migrate, schemaVersion } from "../gateway/src/stores/sqlite/migrations.ts";
import { specifiedTiers } from "../gateway/src/limits/tiers.ts";
import {
  openGatewayProcess,
  openTestGateway,
  projectFolder,
  runTollgate,
  type GatewayProcess,
  until,
} from "./harness.ts";

let folder: string;
let running: GatewayProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-operator-"));
  running = [];
});
afterEach(async () => {
  for (const process of running) {
    process.signal("SIGKILL");
    await process.exited;
  }
  rmSync(folder, { recursive: true, force: true });
});

/** What a start that fails says. */
const complaint = (environment: Record<string, string>): Promise<string> =>
  start({ environment }).then(
    () => "it started",
    (error: unknown) => String(error),
  );

const start = async (options: Omit<Parameters<typeof openGatewayProcess>[0], "dataFolder"> = {}) => {
  const process = await openGatewayProcess({ dataFolder: folder, ...options });
  running.push(process);
  return process;
};

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

    const key = /tgk_[0-9A-Za-z]{36}/.exec(first.greeting)?.[0] ?? "none";
    expect(first.stderr()).not.toContain(key);
    first.signal("SIGTERM");
    expect(await first.exited).toBe(0);
    const second = await start();
    expect(second.greeting).not.toContain("tgk_");
    const again = await fetch(`${second.url}/v1/credits/balance`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(again.status).toBe(200);
  });

  test("after an upgrade says once that the data was brought forward", async () => {
    const earlier = new Database(join(folder, "tollgate.db"), { create: true, safeIntegers: true });
    migrate(earlier, schemaVersion - 1);
    earlier.close();
    const sentence = `the data was brought forward from schema ${schemaVersion - 1} to ${schemaVersion}`;
    const first = await start();
    expect(first.stderr().split(sentence)).toHaveLength(2);
    first.signal("SIGTERM");
    await first.exited;
    expect((await start()).stderr()).not.toContain("brought forward");
  });

  test("says which version serves, in the log and in the metrics", async () => {
    const { version } = JSON.parse(readFileSync(join(projectFolder, "package.json"), "utf8")) as {
      version: string;
    };
    const gateway = await start();
    await until(() => gateway.stderr().includes('"event":"serving"'));
    expect(gateway.stderr()).toMatch(new RegExp(`"event":"serving",.*"version":"${RegExp.escape(version)}"`));
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toContain(`\ntollgate_build_info{version="${version}"} 1\n`);
  });

  test("shows no call that is not offered", async () => {
    const upstream = 'upstreams: { f: { protocol: financialdatasets, url: "http://127.0.0.1:9" } }';
    const some = await start({ config: `sandbox: off\n${upstream}` });
    const target = "/apis/v1/financial/financial-metrics/snapshot?ticker=AAPL";
    expect(some.greeting).toContain(`curl -s '${some.url}${target}' -H 'Authorization: Bearer tgk_`);
    expect(some.greeting).not.toContain("/v1/rerank");
    const other = join(folder, "other");
    mkdirSync(other);
    const none = await openGatewayProcess({ dataFolder: other, config: "sandbox: off" });
    running.push(none);
    expect(none.greeting.split("\n").filter((line) => line.startsWith("curl "))).toHaveLength(2);
  });

  test("makes its secret for the owner's eyes only, and another secret is a clear error", async () => {
    const first = await start();
    expect(statSync(join(folder, "secret")).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toContain("tollgate.db");
    first.signal("SIGTERM");
    await first.exited;
    expect(await complaint({ TOLLGATE_SECRET: "quite another secret" })).toContain(
      "The data was written under another secret",
    );
  });

  test("makes the folder its data goes to, wherever it is told to put them", async () => {
    const secret = { TOLLGATE_SECRET: "a secret from the environment" };
    for (const [place, environment] of [
      ["a/data/tollgate.db", { TOLLGATE_DATA: join(folder, "a/data"), ...secret }],
      ["b/store/t.db", { TOLLGATE_STORE: `sqlite:${join(folder, "b/store/t.db")}` }],
    ] as const) {
      const gateway = await start({ environment });
      expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
      expect(existsSync(join(folder, place))).toBe(true);
    }
  });

  test("can be that of a backup, on a machine that has no data yet", async () => {
    const first = await start();
    const backup = join(folder, "backup.db");
    await runTollgate(["backup", backup], { folder, environment: { TOLLGATE_DATA: folder } });
    first.signal("SIGTERM");
    await first.exited;
    const elsewhere = join(folder, "new machine");
    mkdirSync(elsewhere);
    const restored = await runTollgate(["restore", backup], { folder: elsewhere });
    expect([restored.code, restored.errors]).toEqual([0, ""]);
    expect(restored.out).toContain("It belongs to a secret that is not here.");
    expect(existsSync(join(elsewhere, "data/secret"))).toBe(false);
    copyFileSync(join(folder, "secret"), join(elsewhere, "data/secret"));
    const beside = await runTollgate(["restore", backup], { folder: elsewhere });
    expect([beside.code, beside.out.includes("secret")]).toEqual([0, false]);
    const again = await start({ environment: { TOLLGATE_DATA: join(elsewhere, "data") } });
    expect(again.greeting).not.toContain("tgk_");
  });

  test("is backed up into a folder while it is served, and the newest backups stay", async () => {
    const gateway = await start();
    const safe = join(folder, "safe");
    mkdirSync(safe);
    const backUp = () =>
      runTollgate(["backup", safe, "--keep", "1", "--json"], {
        folder,
        environment: { TOLLGATE_DATA: folder },
      });
    const first = JSON.parse((await backUp()).out) as { file: string };
    await Bun.sleep(1_000);
    const second = JSON.parse((await backUp()).out) as { file: string };
    expect(second).toMatchObject({ deleted: [first.file] });
    expect(readdirSync(safe).map((name) => join(safe, name))).toEqual([second.file]);
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
    gateway.signal("SIGTERM");
    await gateway.exited;
    const restored = await runTollgate(["restore", second.file], {
      folder,
      environment: { TOLLGATE_DATA: folder },
    });
    expect(restored).toMatchObject({ code: 0, errors: "" });
  });

  test("is not that of another installation's backup, whose keys nobody could use here", async () => {
    const [ours, theirs] = ["ours", "theirs"].map((name) => join(folder, name));
    for (const place of [ours, theirs]) {
      mkdirSync(place ?? "");
      const made = await runTollgate(["account", "create", "--name", "Ada"], { folder: place ?? "" });
      expect(made.code).toBe(0);
    }
    const backup = join(folder, "theirs.db");
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
    const file = join(folder, "a file");
    writeFileSync(file, "");
    const environment = { TOLLGATE_SECRET: "a secret from the environment" };
    expect(await complaint({ ...environment, TOLLGATE_DATA: file })).toContain(file);
    const sealed = join(folder, "a folder in the way of the lock");
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
    for (const local of ["http://localhost:8787", "http://[::1]:8787", "http://127.0.0.1:1"]) {
      const gateway = await start({ environment: { TOLLGATE_BASE_URL: local } });
      expect(gateway.url).toBe(local);
      gateway.signal("SIGTERM");
      await gateway.exited;
    }
  });

  test("warns when others can reach it and nobody said by which address", async () => {
    const told = "set TOLLGATE_BASE_URL";
    const flags = ["--allow-sandbox-public"];
    const open = await start({ flags, environment: { HOST: "0.0.0.0" } });
    await until(() => open.stderr().includes(told));
    open.signal("SIGTERM");
    await open.exited;
    const known = { HOST: "0.0.0.0", TOLLGATE_BASE_URL: "https://gate.example" };
    const named = await start({ flags, environment: known });
    expect(named.stderr()).not.toContain(told);
    named.signal("SIGTERM");
    await named.exited;
    expect((await start()).stderr()).not.toContain(told);
  });

  test("says where it listens when it is known by another address", async () => {
    const gateway = await start({ environment: { TOLLGATE_BASE_URL: "http://localhost:1" } });
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
    const key = /tgk_[0-9A-Za-z]{36}/.exec(gateway.greeting)?.[0] ?? "none";
    const call = await fetch(`${gateway.url}/apis/v1/financial/financial-metrics/snapshot?ticker=A`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(call.status).toBe(200);
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
    const headers = { authorization: `Bearer ${/tgk_\w{36}/.exec(gateway.greeting)?.[0]}` };
    const rerank = await fetch(`${gateway.url}/v1/rerank`, { method: "POST", headers, body: "{}" });
    expect(rerank.status).toBe(404);
    const snapshot = await fetch(`${gateway.url}/apis/v1/financial/financial-metrics/snapshot?ticker=A`, {
      headers,
    });
    expect(snapshot.status).toBe(502);
  });
});

describe("a command in a folder without data", () => {
  test("says where it looked and what to set, and leaves nothing behind", async () => {
    const nowhere = join(folder, "nowhere");
    const id = ["--account", "acc_1"];
    for (const words of [
      ["backup", join(folder, "backup.db")],
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
    ]) {
      const elsewhere = { TOLLGATE_DATA: nowhere };
      for (const [place, environment] of [
        [join(folder, "data"), {}],
        [nowhere, elsewhere],
      ] as const) {
        const { code, out, errors } = await runTollgate(words, { folder, environment });
        expect([words, code, out]).toEqual([words, 1, ""]);
        expect(errors).toContain(`There is no data at ${join(place, "tollgate.db")}.`);
        expect(errors).toContain("TOLLGATE_DATA");
      }
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  test("begins an installation when it opens its first account", async () => {
    const ran = await runTollgate(["account", "create", "--name", "Ada"], { folder });
    expect(ran).toMatchObject({ code: 0, errors: "" });
    const listed = await runTollgate(["account", "list", "--json"], { folder });
    expect(JSON.parse(listed.out)).toMatchObject({ accounts: [{ name: "Ada" }] });
  });
});

describe("the configuration", () => {
  test("is read again when the file changes and on SIGHUP; a bad file keeps the old one and says so", async () => {
    const gateway = await start({
      config: "operations: { financial.metrics.snapshot: { price_usd: 0.01 } }",
    });
    const file = join(folder, "tollgate.yaml");
    const headers = {
      authorization: `Bearer ${/tgk_\w{36}/.exec(gateway.greeting)?.[0]}`,
      "x-tollgate-cost-mode": "quote",
    };
    const price = async (): Promise<number> => {
      const url = `${gateway.url}/apis/v1/financial/financial-metrics/snapshot?ticker=A`;
      const quote = (await (await fetch(url, { headers })).json()) as { max_cost_micros_usd: number };
      return quote.max_cost_micros_usd;
    };
    expect(await price()).toBe(10_000);
    writeFileSync(file, "operations: { financial.metrics.snapshot: { price_usd: 0.02 } }");
    await until(async () => (await price()) === 20_000);
    writeFileSync(file, "operations: { financial.metrics.snapshot: { price_usd: cheap } }");
    await until(() => gateway.stderr().includes("the old one stays"));
    expect(gateway.stderr()).toContain("operations.financial.metrics.snapshot.price_usd");
    // A mistake in a file is told once, by its place there and not by ours.
    expect(gateway.stderr().split("snapshot.price_usd")).toHaveLength(2);
    expect(gateway.stderr()).not.toContain('"stack"');
    expect(await price()).toBe(20_000);
    writeFileSync(file, "operations: { financial.metrics.snapshot: { price_usd: 0.03 } }");
    gateway.signal("SIGHUP");
    await until(async () => (await price()) === 30_000);
  });

  test("that sells something at a doubtful price is warned of in the log, once at the start and at each reload", async () => {
    const configWith = (input: string): string =>
      `models: { pasted: { price: { input: ${input}, output: 2 } } }\n`;
    const gateway = await start({ config: configWith("3e-06"), environment: { TOLLGATE_LOG: "warn" } });
    const warnings = (): number => gateway.stderr().split("USD per million tokens").length - 1;
    expect(gateway.stderr()).toContain("pasted (input: 0.000003)");
    expect(warnings()).toBe(1);
    // Whoever answers has begun to watch the file.
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    writeFileSync(join(folder, "tollgate.yaml"), configWith("4e-06"));
    await until(() => gateway.stderr().includes("pasted (input: 0.000004)"));
    expect(warnings()).toBe(2);
  });

  test("names folders of one's own from where it lies, and the file in them that cannot be used", async () => {
    const etc = join(folder, "etc");
    const file = join(etc, "mine/broken.ts");
    mkdirSync(join(etc, "mine"), { recursive: true });
    writeFileSync(join(etc, "tollgate.yaml"), "catalogue_folders: [mine]");
    writeFileSync(join(etc, "mine/empty.ts"), "export {};");
    const doctor = (): ReturnType<typeof runTollgate> =>
      runTollgate(["doctor"], { folder, environment: { TOLLGATE_CONFIG: join(etc, "tollgate.yaml") } });
    expect(await doctor()).toMatchObject({ code: 0, errors: "" });
    for (const [text, said] of [
      ["export const broken = {", `${file} cannot be used: Expected identifier`],
      ["export const broken = {", `(${file}:1:`],
      ["const a = 1;\nconst a = 2;\nlet b; let b;", `already been declared (${file}:3:`],
      ['throw new Error("no such price");', `${file} cannot be used: no such price`],
      ['import "./nowhere.ts";', `${file} cannot be used: Cannot find module './nowhere.ts'`],
    ] as const) {
      writeFileSync(file, text);
      const { code, errors } = await doctor();
      expect(code).toBe(1);
      expect(errors).toContain(said);
    }
    const define = JSON.stringify(join(projectFolder, "gateway/src/operation/define-operation.ts"));
    writeFileSync(
      file,
      `import { defineOperation } from ${define};\nexport const weather = defineOperation({ id: "Weather Now" });`,
    );
    const { code, out } = await doctor();
    expect(code).toBe(1);
    expect(out).toContain(`${file} cannot be used:\n  weather.id: expected`);
    expect(out).toContain('weather.price: expected a price, such as fixed("0.01") or free');
    rmSync(join(etc, "mine"), { recursive: true });
    expect((await doctor()).errors).toContain(`catalogue_folders: ${join(etc, "mine")} cannot be read`);
  });

  test("loads operations of one's own anew with it, and what they import from their folder", async () => {
    const mine = join(folder, "mine");
    mkdirSync(join(mine, "lib"), { recursive: true });
    const write = (path: string, summary: string, priceUsd: string): void => {
      writeFileSync(join(mine, "lib/price.ts"), `export const priceUsd = "${priceUsd}";`);
      writeFileSync(
        join(mine, "weather.ts"),
        `import { defineOperation, fixed } from ${JSON.stringify(join(projectFolder, "gateway/src/operation/define-operation.ts"))};
         import { priceUsd } from "./lib/price.ts";
         export const weather = defineOperation({
           id: "weather.today", title: "Weather", summary: "${summary}", category: "data",
           method: "GET", path: "/apis/v1/${path}", price: fixed(priceUsd),
           servedBy: { financialdatasets: { exchange: "forward_query", path: "/weather" } },
         });`,
      );
    };
    write("weather", "How it is.", "0.01");
    const gateway = await start({
      config:
        'catalogue_folders: [mine]\nupstreams: { f: { protocol: financialdatasets, url: "http://127.0.0.1:9" } }',
    });
    const headers = {
      authorization: `Bearer ${/tgk_\w{36}/.exec(gateway.greeting)?.[0]}`,
      "x-tollgate-cost-mode": "quote",
    };
    const price = async (path: string): Promise<number | undefined> => {
      const response = await fetch(`${gateway.url}/apis/v1/${path}`, { headers });
      return ((await response.json()) as { max_cost_micros_usd?: number }).max_cost_micros_usd;
    };
    expect(await price("weather")).toBe(10_000);
    write("weather", "How it is.", "0.02");
    gateway.signal("SIGHUP");
    await until(async () => (await price("weather")) === 20_000);
    writeFileSync(join(mine, "weather.ts"), "export const weather = {");
    gateway.signal("SIGHUP");
    await until(() => gateway.stderr().includes("the old one stays"));
    expect(await price("weather")).toBe(20_000);
    write("forecast", "How it will be.", "0.03");
    gateway.signal("SIGHUP");
    await until(async () => (await price("forecast")) === 30_000);
    expect(await price("weather")).toBeUndefined();
    rmSync(join(mine, "weather.ts"));
    gateway.signal("SIGHUP");
    await until(async () => (await price("forecast")) === undefined);
  });

  const upstreamWith = (more: string, below = ""): string =>
    `upstreams: { a: { protocol: openai, url: "http://x", ${more} } }\n${below}`;
  const wrong: readonly (readonly [yaml: string, complaint: RegExp])[] = [
    ["upstreams: { a: { protocol: smtp, url: 'http://x' } }", /upstreams\.a\.protocol: .*"openai"/],
    [
      "upstreams: { a: { protocol: openai, url: 'ftp://x' } }",
      /upstreams\.a\.url: expected an http\(s\) address/,
    ],
    [
      "upstreams: { a: { protocol: openai, url: 'http://x', key: '${NO_SUCH_NAME}' } }",
      /upstreams\.a\.key: .*NO_SUCH_NAME is not set/,
    ],
    [upstreamWith('key: "${KEY:-sk-usual}"'), /upstreams\.a\.key: only \$\{NAME\} is understood/],
    [upstreamWith('key: "${KEY-NAME}"'), /upstreams\.a\.key: only \$\{NAME\} is understood/],
    [upstreamWith('key: "${KEY"'), /upstreams\.a\.key: only \$\{NAME\} is understood/],
    [upstreamWith('key: "$SOME_KEY"'), /upstreams\.a\.key: .*write it as \$\{NAME\}/],
    [upstreamWith('key: "sk-usual\\n"'), /upstreams\.a\.key: has characters .*line break at its end/],
    [upstreamWith('key: "sk-us\\u0007ual"'), /upstreams\.a\.key: has characters that cannot be sent/],
    [upstreamWith('key: "sk-usuäl"'), /upstreams\.a\.key: has characters that cannot be sent/],
    [upstreamWith('key: "sk-usual "'), /upstreams\.a\.key: begins or ends with a space/],
    [upstreamWith('client_secret: "sk-usual\\n"'), /upstreams\.a\.client_secret: .*line break at its end/],
    [
      "upstreams: { a: { protocol: openai, url: 'https://x/v1?api-version=1' } }",
      /upstreams\.a\.url: expected an address without \? or #/,
    ],
    [upstreamWith("models: [a model]"), /upstreams\.a\.models\.0: expected a model name/],
    ["models: { m: on }", /models\.m: expected object/],
    ["models: { m: { colour: red } }", /models\.m: unknown setting colour/],
    ["models: { m: { price: { input: -1 } } }", /models\.m\.price\.input: expected USD per 1,000,000/],
    ["models: { m: { price: { input: 0.1234567 } } }", /models\.m\.price\.input: expected USD/],
    [
      "models: { m: { via: [nobody], price: { input: 1 } } }",
      /models\.m\.via: there is no upstream "nobody"/,
    ],
    [
      "models: { m: { via: [{ nobody: x }], price: { input: 1 } } }",
      /models\.m\.via: there is no upstream "nobody"/,
    ],
    [
      upstreamWith("weight: 1", "models: { m: { via: [{ a: x, b: y }] } }"),
      /models\.m\.via\.0: expected the name/,
    ],
    [
      upstreamWith("weight: 1", "models: { m: { via: [{ a: 'a b' }] } }"),
      /models\.m\.via\.0: expected the name/,
    ],
    [
      upstreamWith("weight: 1", "models: { m: { via: [a, { a: x }] } }"),
      /models\.m\.via: names an upstream twice/,
    ],
    ["upstreams: { 'my up': { protocol: openai, url: 'http://x' } }", /upstreams\.my up: expected letters/],
    ["models: { 'a model': { price: { input: 1 } } }", /models\.a model: expected a model name: letters/],
    ["mcp: { clients: { 'a client': { name: A } } }", /mcp\.clients\.a client: expected a client id/],
    ["tiers: { gold: { rpm: 1, tpm: 1, concurrency: 1 } }", /tiers/],
    ["tiers: { free: { rpm: 0, tpm: 1, concurrency: 1 } }", /tiers\.free\.rpm/],
    ["signup_credit_usd: lots", /signup_credit_usd: expected USD/],
    ["colour: red", /unknown setting colour/],
    ["sandbox: maybe", /sandbox: expected on, off/],
    ["names: { social_a: 'a/b' }", /names\.social_a: expected letters/],
    ["a: [", /not valid YAML/],
    ["sandbox: on\n\ntiers:\n  free: { rpm: 1\nmodels:\n", /not valid YAML: .*; look from line 4 on/],
    ["sandbox: on\n# fine\nmodels:\n  a: b: c\nlinks:\n", /not valid YAML: .*; look from line 4 on/],
    ["names: {\n social_a: a,\n social_b: b: c }", /not valid YAML: .*; look from line 1 on/],
    [
      "models:\n  m: { price: { input: 1 } }\n  m: { price: { input: 9 } }",
      /models\.m: written twice, in lines 2 and 3/,
    ],
    ["models:\n  m: {}\nsandbox: on\nmodels:\n  n: {}", /models: written twice, in lines 1 and 4/],
  ];
  for (const [yaml, complaint] of wrong) {
    test(`names what is wrong in ${yaml}`, () => {
      let error: unknown;
      try {
        parseConfig(yaml, "tollgate.yaml", {});
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toBeInstanceOf(ConfigError);
      expect(String(error)).toMatch(complaint);
      expect(String(error)).toContain("tollgate.yaml");
      // Nothing that may be a key is repeated, not even one in the wrong form.
      expect(String(error)).not.toContain("sk-us");
    });
  }

  test("may have sections in which everything is a comment", () => {
    const sections = "names upstreams models operations tiers mcp links catalogue_folders trusted_proxies";
    const text = sections.split(" ").map((name) => `${name}:\n  # nothing yet\n`);
    expect(parseConfig(text.join(""), "tollgate.yaml", {})).toEqual(parseConfig("", "tollgate.yaml", {}));
  });

  test("changes only those figures of a tier that it has", () => {
    const { tiers } = parseConfig("tiers: { free: { rpm: 5 }, growth: {} }", "tollgate.yaml", {});
    expect(tiers).toEqual({ ...specifiedTiers, free: { ...specifiedTiers.free, rpm: 5 } });
  });

  test("names models as their vendors do", () => {
    const names = ["@cf/meta/llama-3.1-8b", "llama:8b", "org/model_x"];
    const models = names.map((name) => `"${name}": { price: { input: 1, output: 2 } }`).join(", ");
    expect([...parseConfig(`models: { ${models} }`, "tollgate.yaml", {}).models.keys()]).toEqual(names);
  });

  test("takes a key from the environment as it is, whatever characters of a header it has", () => {
    const key = "sk ${OTHER} $X {}\"'~";
    const yaml = upstreamWith('key: "${KEY}"');
    expect(parseConfig(yaml, "tollgate.yaml", { KEY: key }).upstreams.get("a")?.key).toBe(key);
    expect(() => parseConfig(yaml, "tollgate.yaml", { KEY: "sk-mounted\n" })).toThrow(
      "line break at its end",
    );
  });

  test("the commented example in the repository is valid as it is, and valid uncommented", async () => {
    const text = await Bun.file(join(projectFolder, "tollgate.yaml")).text();
    expect(parseConfig(text, "tollgate.yaml", {}).sandbox).toBe("on");
    const uncommented = text
      .split("\n")
      .map((line) => (/^# ( |\w+:)/.test(line) ? line.slice(2) : line))
      .join("\n");
    const vendors =
      "OPENAI ANTHROPIC GEMINI DEEPSEEK JINA DASHSCOPE COHERE VOYAGE TIKHUB FINDATA SCRAPECREATORS TWITTERAPI SIMILARWEB PERPLEXITY TAVILY EXA AZURE_OPENAI OPENROUTER".split(
        " ",
      );
    const keys = Object.fromEntries(vendors.map((vendor) => [`${vendor}_API_KEY`, "some-vendor-key"]));
    const environment = { ...keys, X_CLIENT_ID: "app", X_CLIENT_SECRET: "some-client-secret" };
    const config = parseConfig(uncommented, "tollgate.yaml", environment);
    // The platform and a server of one's own have no key.
    expect(config.upstreams.size).toBe(vendors.length + 2);
    expect(config.upstreams.get("vllm")?.key).toBe("");
    expect(config.upstreams.get("azure")).toMatchObject({
      keyHeader: "api-key",
      query: { text: "api-version=2024-10-21" },
    });
    expect(config.upstreams.get("router")?.headers).toEqual({
      "http-referer": "https://example.com",
      "x-title": "Example",
    });
    expect(config.upstreams.get("platform")?.link).toMatchObject({
      clientId: "app",
      issuer: "https://x.com",
      saysIssuer: false,
    });
    expect(config.upstreams.get("deepseek")?.models?.size).toBe(0);
    expect([...config.modelsOff]).toEqual(["gpt-4o"]);
    expect(config.upstreams.get("traffic")?.transport).toBe("managed");
    expect(config.upstreams.get("video")?.pollQps).toBe(20);
    expect(config.models.get("wan2.6-t2v")?.price).toEqual({
      second_720p: 100_000_000_000n,
      second_1080p: 150_000_000_000n,
    });
    expect(config.models.get("gpt-x")?.price).toEqual({
      input_tokens: 2_500_000n,
      cache_read_tokens: 250_000n,
      output_tokens: 10_000_000n,
    });
  });
});

describe("life signs", () => {
  test("the listener is told when it is the peer's turn, so that it can close idle connections", async () => {
    const tollgate = await openTestGateway();
    try {
      const told: string[] = [];
      const peer = { address: () => "127.0.0.1", answered: (how: string) => void told.push(how) };
      const ask = (path: string, init?: RequestInit): Promise<Response> =>
        tollgate.gateway.fetch(new Request(tollgate.url + path, init), peer);
      await ask("/healthz");
      await ask("/v1/usage");
      expect(told).toEqual(["whole", "whole"]);
      const { key } = await tollgate.openAccount();
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const question = {
        model: "gpt-4o-mini",
        messages: [{ role: "user", content: "Hello." }],
        stream: true,
      };
      const stream = await ask("/v1/chat/completions", {
        method: "POST",
        headers,
        body: JSON.stringify(question),
      });
      expect(told).toEqual(["whole", "whole", "streamed"]);
      await stream.text();
    } finally {
      await tollgate.close();
    }
  });

  test("healthz, readyz and metrics need no key; metrics are for this machine or the operator's token", async () => {
    const tollgate = await openTestGateway({ parts: { operatorToken: "the operator's token" } });
    try {
      // Some load balancers look without reading.
      for (const page of ["/healthz", "/readyz", "/metrics"]) {
        expect((await fetch(tollgate.url + page, { method: "HEAD" })).status).toBe(200);
      }
      expect(await (await fetch(`${tollgate.url}/healthz`)).json()).toEqual({ status: "live" });
      expect(await (await fetch(`${tollgate.url}/readyz`)).json()).toEqual({ status: "ready" });
      const account = await tollgate.openAccount();
      await tollgate.call(account, "/apis/v1/financial/financial-metrics/snapshot?ticker=A");
      await tollgate.call(account, "/v1/nowhere");
      const metrics = await (await fetch(`${tollgate.url}/metrics`)).text();
      expect(metrics).toContain(
        'tollgate_calls_total{operation="financial.metrics.snapshot",status="200"} 1',
      );
      expect(metrics).toContain('tollgate_refusals_total{code="unknown_endpoint"} 1');
      expect(metrics).toContain(
        'tollgate_charged_micros_usd_total{operation="financial.metrics.snapshot"} 48000',
      );
      // Prometheus reads these as histograms: bounds that grow, counts that never fall, and all of them at last.
      const seconds = (of: string): (string | undefined)[] =>
        [...metrics.matchAll(new RegExp(`^${of}_bucket\\{[^}]*le="([^"]+)"\\} 1$`, "gm"))].map(
          ([, le]) => le,
        );
      expect(seconds("tollgate_call_seconds").at(-1)).toBe("+Inf");
      expect(seconds("tollgate_upstream_seconds")).toContain("60");
      expect(metrics).toMatch(
        /^tollgate_call_seconds_sum\{operation="financial.metrics.snapshot"\} [\d.]+$/m,
      );
      const forwarded = { "x-forwarded-for": "203.0.113.9" };
      expect((await fetch(`${tollgate.url}/metrics`, { headers: forwarded })).status).toBe(403);
      for (const [host, status] of [
        ["evil.example", 403],
        ["evil.example:8787", 403],
        ["localhost:8787", 200],
        ["[::1]:8787", 200],
      ] as const) {
        expect((await fetch(`${tollgate.url}/metrics`, { headers: { host } })).status).toBe(status);
      }
      const operator = { ...forwarded, authorization: "Bearer the operator's token" };
      expect((await fetch(`${tollgate.url}/metrics`, { headers: operator })).status).toBe(200);
    } finally {
      await tollgate.close();
    }
  });

  test("readyz names a door that could not be opened, until it can be; nobody has to restart anything", async () => {
    const broken = join(folder, "broken");
    const preload = join(folder, "break-loading.ts");
    // A disk, or a limit on open files, that does not give a library's file when it is first needed.
    writeFileSync(
      preload,
      `import { existsSync, readFileSync } from "node:fs";
       Bun.plugin({ name: "a bad disk", setup: (build) => void build.onLoad(
         { filter: /(@modelcontextprotocol\\/server\\/dist\\/index\\.mjs|oidc-provider\\/lib\\/index\\.js)$/ },
         ({ path }) => {
           if (existsSync(${JSON.stringify(broken)})) throw new Error("input/output error");
           return { contents: readFileSync(path, "utf8"), loader: "js" };
         },
       ) });`,
    );
    writeFileSync(broken, "");
    const { url } = await start({ environment: { BUN_OPTIONS: `--preload ${preload}` } });
    const readiness = async (): Promise<readonly unknown[]> => {
      const response = await fetch(`${url}/readyz`);
      return [response.status, await response.json()];
    };
    const ready = [200, { status: "ready" }];
    // What nobody has asked for is not missed.
    expect(await readiness()).toEqual(ready);
    for (const [path, failing, opened] of [
      ["/mcp", "agents", 401],
      ["/.well-known/oauth-authorization-server", "sign_in", 200],
    ] as const) {
      writeFileSync(broken, "");
      expect([path, (await fetch(url + path)).status]).toEqual([path, 500]);
      expect([path, (await fetch(url + path)).status]).toEqual([path, 500]);
      expect(await readiness()).toEqual([503, { status: "not ready", failing }]);
      rmSync(broken);
      // Where traffic follows readiness, nobody else would come and try.
      expect(await readiness()).toEqual(ready);
      expect([path, (await fetch(url + path)).status]).toEqual([path, opened]);
    }
  });

  test("every answer carries a request id, whoever makes it", async () => {
    const tollgate = await openTestGateway();
    const nameless: string[] = [];
    for (const path of [
      "/",
      "/docs",
      "/nowhere",
      "/healthz",
      "/readyz",
      "/metrics",
      "/mcp",
      "/oauth/grants",
      "/oauth/jwks",
      "/oauth/nowhere",
      "/account",
      "/account/nowhere",
      "/authorize",
      "/token",
      "/.well-known/oauth-authorization-server",
      "/.well-known/oauth-protected-resource/mcp",
      "/sandbox/x/nowhere",
      "/sandbox/nowhere",
      "/api/contracts/version",
      "/api/sales-api-data",
      "/openapi/account.json",
      "/v1/models",
    ]) {
      for (const method of ["GET", "HEAD", "POST"]) {
        for (const headers of [{}, { host: "evil.example" }]) {
          const response = await fetch(tollgate.url + path, { method, headers });
          if (!/^[0-9a-f-]{36}$/.test(response.headers.get("x-request-id") ?? ""))
            nameless.push(`${method} ${path}`);
        }
      }
    }
    await tollgate.close();
    expect(nameless).toEqual([]);
  });

  test("logs are one JSON object a line, with no body and no header in them", async () => {
    const tollgate = await openTestGateway();
    try {
      const account = await tollgate.openAccount();
      await tollgate.post(account, "/v1/rerank", {
        query: "a secret question",
        documents: ["a secret document"],
      });
      expect(tollgate.logged.length).toBeGreaterThan(0);
      for (const line of tollgate.logged) {
        const entry = JSON.parse(line) as Record<string, unknown>;
        for (const field of ["time", "level", "event"]) expect(entry).toHaveProperty(field);
        expect(line).not.toContain("secret");
      }
    } finally {
      await tollgate.close();
    }
  });
});

test("the reseller's cache_url is readable under our own address, free of charge", async () => {
  const gateway = await start();
  const headers = { authorization: `Bearer ${/tgk_\w{36}/.exec(gateway.greeting)?.[0]}` };
  const url = `${gateway.url}/apis/v1/reseller/social_c/web/fetch_tag_detail?tag_name=cats`;
  const answer = (await (await fetch(url, { headers })).json()) as { cache_url: string; data: unknown };
  expect(answer.cache_url).toStartWith(`${gateway.url}/sandbox/`);
  const cached = (await (await fetch(answer.cache_url)).json()) as { data: unknown };
  expect(cached.data).toEqual(answer.data);
  const balance = (await (await fetch(`${gateway.url}/v1/credits/balance`, { headers })).json()) as object;
  expect(balance).toMatchObject({ balance_micros_usd: 2_000_000 - 1_450 });
  expect((await fetch(`${gateway.url}/sandbox/_control/book`)).status).toBe(404);
  expect((await fetch(`${gateway.url}/sandbox/..%2f_control/book`)).status).toBe(404);
});

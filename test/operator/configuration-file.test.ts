// The file that says what is sold and how: read at the start and again when it changes, and refused as a whole when it is wrong.

import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseConfig } from "../../gateway/src/config/load-config.ts";
import { specifiedTiers } from "../../gateway/src/limits/tiers.ts";
import { ConfigError } from "../../gateway/src/platform/config-error.ts";
import { callerAt } from "../support/caller.ts";
import { projectFolder } from "../support/project-folder.ts";
import { runTollgate } from "../support/run-tollgate.ts";
import { until } from "../support/until.ts";
import { snapshotMicrosNow, useStarts } from "./operator-starts.ts";

const starts = useStarts();
const { start } = starts;

function hearsHangup(pid: number): boolean {
  const caught = /^SigCgt:\s*(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "0";
  return (BigInt(`0x${caught}`) & 1n) === 1n;
}

describe("the configuration", () => {
  test("is read again when the file changes and on SIGHUP; a bad file keeps the old one and says so", async () => {
    const gateway = await start({
      config: "operations: { financial.metrics.snapshot: { price_usd: 0.01 } }",
    });
    const file = join(starts.folder, "tollgate.yaml");
    const price = (): Promise<number> => snapshotMicrosNow(gateway);
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

  test("takes what it names as ${…} from a file .env in the folder of the start, too, as the README says", async () => {
    writeFileSync(
      join(starts.folder, "tollgate.yaml"),
      'upstreams: { own: { protocol: jina, url: "http://127.0.0.1:9/v1", key: "${OWN_KEY}" } }\n',
    );
    const contract = (): ReturnType<typeof runTollgate> =>
      runTollgate(["contract"], { folder: starts.folder });
    expect((await contract()).errors).toContain("the environment variable OWN_KEY is not set");
    writeFileSync(join(starts.folder, ".env"), "OWN_KEY=sk-own\n");
    expect((await contract()).code).toBe(0);
  });

  test("that appears after the start is read, and once it was there its absence changes nothing", async () => {
    const gateway = await start();
    const price = (): Promise<number> => snapshotMicrosNow(gateway);
    expect(await price()).toBe(48_000);
    gateway.signal("SIGHUP");
    await until(() => gateway.stderr().includes("configuration reloaded"));
    expect(await price()).toBe(48_000);
    writeFileSync(
      join(starts.folder, "tollgate.yaml"),
      "operations: { financial.metrics.snapshot: { price_usd: 0.02 } }",
    );
    await until(async () => (await price()) === 20_000);
    rmSync(join(starts.folder, "tollgate.yaml"));
    await until(() => gateway.stderr().includes("there is no such file"));
    expect(await price()).toBe(20_000);
  });

  // Only Linux tells when somebody listens for a signal.
  test.skipIf(process.platform !== "linux")(
    "is asked for all through the start without ending it, and read again then",
    async () => {
      const telling: { timer?: Timer } = {};
      const gateway = await start({
        launcher: ["node", join(projectFolder, "bin/tollgate.mjs")],
        onSpawn: async ({ pid, signal }) => {
          await until(() => hearsHangup(pid));
          telling.timer = setInterval(() => signal("SIGHUP"), 20);
        },
      });
      clearInterval(telling.timer);
      try {
        expect(await snapshotMicrosNow(gateway)).toBe(48_000);
        await until(() => gateway.stderr().includes("configuration reloaded"));
      } finally {
        // Ends what it launched, too.
        gateway.signal("SIGTERM");
        await gateway.exited;
      }
    },
  );

  test("names folders of one's own from where it lies, and the file in them that cannot be used", async () => {
    const etc = join(starts.folder, "etc");
    const file = join(etc, "mine/broken.ts");
    mkdirSync(join(etc, "mine"), { recursive: true });
    writeFileSync(join(etc, "tollgate.yaml"), "catalogue_folders: [mine]");
    writeFileSync(join(etc, "mine/empty.ts"), "export {};");
    const doctor = (): ReturnType<typeof runTollgate> =>
      runTollgate(["doctor"], {
        folder: starts.folder,
        environment: { TOLLGATE_CONFIG: join(etc, "tollgate.yaml") },
      });
    expect(await doctor()).toMatchObject({ code: 0, errors: "" });
    for (const [text, ...said] of [
      ["export const broken = {", `${file} cannot be used: Expected identifier`, `(${file}:1:`],
      ["const a = 1;\nconst a = 2;\nlet b; let b;", `already been declared (${file}:3:`],
      ['throw new Error("no such price");', `${file} cannot be used: no such price`],
      ['import "./nowhere.ts";', `${file} cannot be used: Cannot find module './nowhere.ts'`],
    ] as const) {
      writeFileSync(file, text);
      const { code, errors } = await doctor();
      expect(code).toBe(1);
      for (const part of said) expect(errors).toContain(part);
    }
    const define = JSON.stringify(join(projectFolder, "gateway/src/for-catalogues.ts"));
    writeFileSync(
      file,
      `import { defineOperation } from ${define};\nexport const weather = defineOperation({ id: "Weather Now" });`,
    );
    const { code, out } = await doctor();
    expect(code).toBe(1);
    expect(out).toContain(`${file} cannot be used:\n  weather.id: expected`);
    expect(out).toContain('weather.price: expected a price, such as fixed("0.01") or free');
    rmSync(join(etc, "mine"), { recursive: true });
    const unreadable = `catalogue_folders: ${join(etc, "mine")} cannot be read`;
    expect((await doctor()).errors).toContain(unreadable);
    writeFileSync(join(etc, "mine"), "");
    expect((await doctor()).errors).toContain(unreadable);
  });

  test("loads operations of one's own anew with it, and what they import from their folder", async () => {
    const mine = join(starts.folder, "mine");
    mkdirSync(join(mine, "lib"), { recursive: true });
    const write = (path: string, summary: string, priceUsd: string): void => {
      writeFileSync(join(mine, "lib/price.ts"), `export const priceUsd = "${priceUsd}";`);
      writeFileSync(
        join(mine, "weather.ts"),
        `import { defineOperation, fixed } from ${JSON.stringify(join(projectFolder, "gateway/src/for-catalogues.ts"))};
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
    const headers = { "x-tollgate-cost-mode": "quote" };
    const price = async (path: string): Promise<number | undefined> => {
      const response = await callerAt(gateway.url).call(gateway, `/apis/v1/${path}`, { headers });
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
    ["models: { m: on }", /models\.m: expected names and what they mean, as in \{ name: value \}$/],
    [upstreamWith("models: gpt-x"), /upstreams\.a\.models: expected a list, as in \[a, b\]$/],
    ["names: { social_a: 123 }", /names\.social_a: expected a text; put it in quotes$/],
    ["links: { confirm: yes }", /links\.confirm: expected true or false$/],
    ["tiers: { free: { rpm: 16_384, tpm: 1.5 } }", /rpm: expected a number\n.*tpm: expected a whole number$/],
    ["models: { m: { price: { input: } } }", /models\.m\.price\.input: expected USD per 1,000,000 tokens/],
    ["models: { m: { price: { input: .nan } } }", /models\.m\.price\.input: expected USD per 1,000,000/],
    ["signup_credit_usd:", /signup_credit_usd: expected USD, at most 6 decimals$/],
    ["sandbox:", /sandbox: expected on, off, or the address of a running sandbox/],
    ["mcp: { registration: closed }", /mcp\.registration: expected open or off$/],
    [
      "models: { m: { colour: red } }",
      /models\.m: unknown setting colour; there are via, price, max_output_tokens, context_tokens$/,
    ],
    [
      "models: { m: { price: { inputs: 1 } } }",
      /models\.m\.price: unknown setting inputs; there are input, /,
    ],
    [
      upstreamWith("models_max: 1"),
      /upstreams\.a: unknown setting models_max; there are protocol, url, key, /,
    ],
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
    [
      "upstreams: { 'my up': { protocol: openai, url: 'http://x' } }",
      /upstreams\.my up: expected 1 to 40 letters, digits, _ or -/,
    ],
    [
      `upstreams: { ${"long".repeat(12)}: { protocol: openai, url: 'http://x' } }`,
      /upstreams\.(long){12}: expected 1 to 40 letters, digits, _ or -/,
    ],
    ["models: { 'a model': { price: { input: 1 } } }", /models\.a model: expected a model name: letters/],
    ["mcp: { clients: { 'a client': { name: A } } }", /mcp\.clients\.a client: expected a client id/],
    [
      "tiers: { gold: { rpm: 1, tpm: 1, concurrency: 1 } }",
      /tiers: unknown setting gold; there are free, starter, growth, enterprise/,
    ],
    ["tiers: { free: { rpm: 0, tpm: 1, concurrency: 1 } }", /tiers\.free\.rpm/],
    ["signup_credit_usd: lots", /signup_credit_usd: expected USD/],
    ["colour: red", /the file: unknown setting colour; there are names, upstreams, models, /],
    ["upstream: {}\nmodel: {}", /the file: unknown setting upstream, model; there are names, /],
    ["signup_credit_usd: 1000000.01", /signup_credit_usd: expected at most 1000000 USD/],
    ["signup_credit_usd: 999999999999999", /signup_credit_usd: expected at most 1000000 USD/],
    ["mcp: { grant_per_day_usd: 1000000.01 }", /mcp\.grant_per_day_usd: expected at most 1000000 USD/],
    ["mcp: { auto_approve_usd: 1000000.01 }", /mcp\.auto_approve_usd: expected at most 1000000 USD/],
    ["sandbox: maybe", /sandbox: expected on, off/],
    ["sandbox: http://[bad", /sandbox: expected on, off, or the address of a running sandbox/],
    ["sandbox: ftp://127.0.0.1:9100", /sandbox: expected on, off, or the address of a running sandbox/],
    ["sandbox: http://127.0.0.1:9100/?x=1", /sandbox: expected .* without \? or #/],
    ["names: { social_a: 'a/b' }", /names\.social_a: expected 1 to 40 letters/],
    ["a: [", /not valid YAML/],
    [
      "models: &all\n  m: *all",
      /cannot be used:\n {2}an alias \(\*name\) stands inside of what it stands for$/,
    ],
    [
      "upstreams:\n  a: { protocol: openai, url: 'http://x', key: ${SOME_KEY} }",
      /not valid YAML: .*; look from line 2 on; between braces, .* stands in quotes, as in "\$\{NAME\}"$/,
    ],
    [
      "upstreams:\n  a: { protocol: openai, url: 'http://x', key: '${SOME_KEY}' ",
      /not valid YAML: .*; look from line 2 on$/,
    ],
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

  test("that was saved in UTF-16 is told to be saved as UTF-8", () => {
    const saved = Buffer.from("sandbox: on\n", "utf16le").toString("utf8");
    expect(() => parseConfig(saved, "tollgate.yaml", {})).toThrow(
      new ConfigError("tollgate.yaml", ["not written in UTF-8; save it as that"]),
    );
  });

  test("may have sections in which everything is a comment", () => {
    const sections =
      "names upstreams models operations tiers mcp links catalogue_folders trusted_proxies sales";
    const text = sections.split(" ").map((name) => `${name}:\n  # nothing yet\n`);
    expect(parseConfig(text.join(""), "tollgate.yaml", {})).toEqual(parseConfig("", "tollgate.yaml", {}));
  });

  test.each(["mcp:\n  clients:", "mcp:\n  allowed_hosts:", "tiers:\n  free:"])(
    "may have %j in which everything is a comment",
    (heading) => {
      const { mcp, tiers } = parseConfig(`${heading}\n    # nothing yet\n`, "tollgate.yaml", {});
      const usual = parseConfig("", "tollgate.yaml", {});
      expect({ mcp, tiers }).toEqual({ mcp: usual.mcp, tiers: usual.tiers });
    },
  );

  test("that is a folder is refused by its name, by a server and by the doctor", async () => {
    const { folder } = starts;
    const environment = { TOLLGATE_CONFIG: folder };
    expect(await starts.complaint(environment)).toContain(`${folder} cannot be used:\n  it is a folder`);
    const examined = await runTollgate(["doctor"], { folder, environment });
    expect(examined.code).toBe(1);
    expect(examined.out).toContain("it is a folder");
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

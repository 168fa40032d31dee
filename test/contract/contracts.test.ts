import { afterEach, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { parseConfig } from "../../gateway/src/config/load-config.ts";
import { loadCatalogue } from "../../gateway/src/operation/catalogue.ts";
import { expectNothingHappened } from "../bad-inputs/nothing-happened.ts";
import { openGatewayProcess } from "../support/gateway-process.ts";
import { programEnvironment } from "../support/program-environment.ts";
import { catalogueFolder, projectFolder } from "../support/project-folder.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";
import { takeWriteLock } from "../support/write-lock.ts";

const opened: { close: () => Promise<void> }[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const folderOfItsOwn = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-contracts-"));
  folders.push(folder);
  return folder;
};

async function open(options: Parameters<typeof openTestGateway>[0] = {}): Promise<TestGateway> {
  const gateway = await openTestGateway(options);
  opened.push(gateway);
  return gateway;
}

/** The same address each time, so that a restart on another port makes the same contract. */
const addresses = {
  baseUrl: "http://gateway.example",
  mcpUrl: "http://gateway.example/mcp",
  siteUrl: "http://gateway.example",
};

const dearer = "operations: { financial.metrics.snapshot: { price_usd: 0.05 } }";

async function reload({ gateway, sandbox }: TestGateway, config: string): Promise<void> {
  await gateway.reload(await loadCatalogue([catalogueFolder]), parseConfig(config, "test", {}), sandbox.url);
}

const get = (
  { url }: { url: string },
  path: string,
  headers: Record<string, string> = {},
): Promise<Response> => fetch(url + path, { headers });

interface Version {
  readonly contentHash: string;
  readonly docsRevision: string;
}

const versionOf = async (gateway: { url: string }): Promise<Version> =>
  (await (await get(gateway, "/api/contracts/version")).json()) as Version;

const source = (hash: string, rest = "bundled=1"): string => `/api/contracts/source?hash=${hash}&${rest}`;

const sha256 = (bytes: ArrayBuffer | string): string =>
  new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

/** One for all: compiling the schema of OpenAPI takes most of the time. */
const validator = new Validator();

const never = "0".repeat(64);

test("the version names the hash of the bytes that the source gives, without any key", async () => {
  const gateway = await open();
  const response = await get(gateway, "/api/contracts/version");
  const version = (await response.json()) as Version;
  expect(response.status).toBe(200);
  expect(Object.keys(version).toSorted()).toEqual(["contentHash", "docsRevision"]);

  const bundle = await get(gateway, source(version.contentHash));
  const bytes = await bundle.arrayBuffer();
  expect(bundle.status).toBe(200);
  expect(sha256(bytes)).toBe(version.contentHash);
  for (const { headers } of [response, bundle]) {
    expect(headers.get("x-tollgate-contract-hash")).toBe(version.contentHash);
    expect(headers.get("x-tollgate-docs-revision")).toBe(version.docsRevision);
    expect(headers.get("x-request-id")).not.toBeNull();
  }
  const document = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
  expect((await validator.validate(document)).valid).toBe(true);
});

test("one operation comes with all it refers to and nothing else", async () => {
  const gateway = await open();
  const { contentHash } = await versionOf(gateway);
  for (const id of gateway.gateway.offer().operations.keys()) {
    const response = await get(gateway, source(contentHash, `operation_id=${id}`));
    const document = (await response.json()) as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    expect(
      Object.values(document.paths)
        .flatMap((methods) => Object.values(methods))
        .map((one) => one.operationId),
    ).toEqual([id]);
    const { valid, errors } = await validator.validate(document);
    expect([id, valid, errors]).toEqual([id, true, undefined]);
  }
}, 30_000);

test("a hash that is not known is 409, one that is none 400, an operation that is none 404", async () => {
  const gateway = await open();
  const { contentHash, docsRevision } = await versionOf(gateway);
  const cases: [path: string, status: number, code: string][] = [
    [source(never), 409, "contract_hash_mismatch"],
    [source(never, "operation_id=rerank.create"), 409, "contract_hash_mismatch"],
    [source(contentHash.toUpperCase()), 400, "invalid_parameters"],
    [source(contentHash.slice(1)), 400, "invalid_parameters"],
    [source(`${contentHash}0`), 400, "invalid_parameters"],
    [source("../../../etc/passwd"), 400, "invalid_parameters"],
    ["/api/contracts/source?bundled=1", 400, "invalid_parameters"],
    [`${source(contentHash)}&hash=${contentHash}`, 400, "invalid_parameters"],
    [source(contentHash, "bundled=0"), 400, "invalid_parameters"],
    [source(contentHash, ""), 400, "invalid_parameters"],
    [source(contentHash, "bundled=1&operation_id=rerank.create"), 400, "invalid_parameters"],
    [source(contentHash, "operation_id=no.such"), 404, "unknown_operation"],
    [source(contentHash, "operation_id=../../etc/passwd"), 404, "unknown_operation"],
    [source(contentHash, "operation_id=__proto__"), 404, "unknown_operation"],
    [`/api/contracts/diff?from=${contentHash}&to=${never}`, 409, "contract_hash_mismatch"],
    [`/api/contracts/diff?from=${contentHash}`, 400, "invalid_parameters"],
  ];
  for (const [path, status, code] of cases) {
    const response = await get(gateway, path);
    expect([path, response.status, await response.json()]).toMatchObject([path, status, { code }]);
    // To be compared with the selected version, also when the answer is no.
    expect(response.headers.get("x-tollgate-contract-hash")).toBe(contentHash);
    expect(response.headers.get("x-tollgate-docs-revision")).toBe(docsRevision);
  }
});

test("a wrong hash is 409 and a traversing operation id 404, and neither leaves a trace", async () => {
  const gateway = await open();
  const version = await fetch(`${gateway.url}/api/contracts/version`);
  const { contentHash } = (await version.json()) as { contentHash: string };
  await expectNothingHappened(gateway, async () => {
    const ask = async (query: string): Promise<number> =>
      (await fetch(`${gateway.url}/api/contracts/source?${query}`)).status;
    expect(await ask(`hash=${"f".repeat(64)}&bundled=1`)).toBe(409);
    for (const hostile of [
      "../../etc",
      "..%2F..%2Fetc%2Fpasswd",
      "%00",
      "__proto__",
      "' OR 1=1",
      "a".repeat(4_000),
    ]) {
      expect([hostile, await ask(`hash=${contentHash}&operation_id=${hostile}`)]).toEqual([hostile, 404]);
      expect([hostile, await ask(`hash=${hostile}&bundled=1`)]).toEqual([hostile, 400]);
    }
  });
});

test("what a hash names can be cached for ever and is not sent twice", async () => {
  const gateway = await open();
  const { contentHash } = await versionOf(gateway);
  for (const path of [source(contentHash), source(contentHash, "operation_id=rerank.create")]) {
    const first = await get(gateway, path);
    expect(first.headers.get("cache-control")).toContain("immutable");
    const etag = first.headers.get("etag") ?? "";
    const again = await get(gateway, path, { "if-none-match": `"other", ${etag}` });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    expect(again.headers.get("x-tollgate-contract-hash")).toBe(contentHash);
    expect((await get(gateway, path, { "if-none-match": '"other"' })).status).toBe(200);
  }
  const version = await get(gateway, "/api/contracts/version");
  expect(version.headers.get("cache-control")).toBe("no-cache");
  const head = await fetch(gateway.url + source(contentHash), { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  expect(head.headers.get("etag")).toBe(`"${contentHash}"`);
  expect((await fetch(gateway.url + source(contentHash), { method: "POST" })).status).toBe(404);
});

test("an earlier contract is served after a reload and after a restart, byte for byte", async () => {
  const folder = folderOfItsOwn();
  const gateway = await openTestGateway({ folder, parts: { addresses } });
  const before = await versionOf(gateway);
  const bytes = await (await get(gateway, source(before.contentHash))).text();
  await reload(gateway, dearer);
  const after = await versionOf(gateway);
  expect(after.contentHash).not.toBe(before.contentHash);
  expect(after.docsRevision).not.toBe(before.docsRevision);
  expect(await (await get(gateway, source(before.contentHash))).text()).toBe(bytes);
  await gateway.close();

  const restarted = await open({ folder, parts: { addresses }, config: dearer });
  expect(await versionOf(restarted)).toEqual(after);
  const earlier = await get(restarted, source(before.contentHash));
  expect([earlier.status, await earlier.text()]).toEqual([200, bytes]);
  // The headers say what was served, not what is current.
  expect(earlier.headers.get("x-tollgate-contract-hash")).toBe(before.contentHash);
  expect(earlier.headers.get("x-tollgate-docs-revision")).toBe(before.docsRevision);
  const nothing = await get(restarted, source(before.contentHash, "operation_id=no.such"));
  expect(nothing.status).toBe(404);
  expect(nothing.headers.get("x-tollgate-contract-hash")).toBe(before.contentHash);
  expect(nothing.headers.get("x-tollgate-docs-revision")).toBe(before.docsRevision);
  const history = (await (await get(restarted, "/api/contracts/history")).json()) as { data: Version[] };
  expect(history.data.map(({ contentHash }) => contentHash)).toEqual([after.contentHash, before.contentHash]);
});

test("a contract that could not be kept when it was published is kept when it is asked for again", async () => {
  const gateway = await open();
  const before = await versionOf(gateway);
  await reload(gateway, dearer);
  const unlock = takeWriteLock(gateway.databasePath);
  const after = await versionOf(gateway);
  expect(gateway.logged.join("")).toContain("the contract could not be kept for later");
  unlock();
  const history = async (): Promise<string[]> => {
    const { data } = (await (await get(gateway, "/api/contracts/history")).json()) as { data: Version[] };
    return data.map(({ contentHash }) => contentHash);
  };
  await until(async () => (await history()).length === 2);
  expect(await history()).toEqual([after.contentHash, before.contentHash]);
  await reload(gateway, "");
  expect(await versionOf(gateway)).toEqual(before);
  expect((await get(gateway, source(after.contentHash))).status).toBe(200);
}, 15_000);

test("the history says until when each contract was current, whatever it was published again for", async () => {
  const folder = folderOfItsOwn();
  const clock = createVirtualClock();
  const day = 24 * 60 * 60_000;
  const dayOf = (time: string): number => Math.ceil((Date.parse(time) - startMs) / day);
  const startMs = clock.wallMs();
  const history = async (at: TestGateway): Promise<(readonly [string, number])[]> => {
    const { data } = (await (await get(at, "/api/contracts/history")).json()) as {
      data: { contentHash: string; last_current_at: string }[];
    };
    return data.map((one) => [one.contentHash, dayOf(one.last_current_at)] as const);
  };
  const gateway = await openTestGateway({ folder, clock, parts: { addresses } });
  const { contentHash: first } = await versionOf(gateway);
  clock.advance(3 * day);
  expect(await history(gateway)).toEqual([[first, 3]]);
  await reload(gateway, dearer);
  const { contentHash: second } = await versionOf(gateway);
  clock.advance(2 * day);
  expect(await history(gateway)).toEqual([
    [second, 5],
    [first, 3],
  ]);
  await gateway.close();

  const restarted = await open({ folder, clock, parts: { addresses }, config: dearer });
  await versionOf(restarted);
  clock.advance(day);
  await reload(restarted, "names: { social_a: chirp }");
  const { contentHash: third } = await versionOf(restarted);
  clock.advance(day);
  expect(await history(restarted)).toEqual([
    [third, 7],
    [second, 6],
    [first, 3],
  ]);
  await reload(restarted, "");
  expect(await history(restarted)).toEqual([
    [first, 7],
    [third, 7],
    [second, 6],
  ]);
});

test("damaged bytes are never served: an earlier contract is 503, today's is written anew", async () => {
  const folder = folderOfItsOwn();
  const gateway = await openTestGateway({ folder, parts: { addresses } });
  const before = await versionOf(gateway);
  await reload(gateway, dearer);
  const after = await versionOf(gateway);
  await gateway.close();

  const other = Bun.gzipSync(Buffer.from('{"openapi":"3.1.0","paths":{}}'));
  for (const packed of [other, Buffer.from("not even packed"), new Uint8Array()]) {
    const db = new Database(join(folder, "tollgate.db"));
    db.query("UPDATE publication SET packed = ?1").run(packed);
    db.close();
    const restarted = await openTestGateway({ folder, parts: { addresses }, config: dearer });
    const damaged = await get(restarted, source(before.contentHash));
    expect([damaged.status, await damaged.json()]).toMatchObject([
      503,
      { error: { code: "contract_unavailable" } },
    ]);
    expect((await get(restarted, source(before.contentHash, "operation_id=rerank.create"))).status).toBe(503);
    const today = await get(restarted, source(after.contentHash));
    expect([today.status, sha256(await today.arrayBuffer())]).toEqual([200, after.contentHash]);
    expect(restarted.logged.some((line) => line.includes("does not match its hash"))).toBe(true);
    await restarted.close();
  }

  // Whoever offers the first contract again has its right bytes, and they are kept from then on.
  const mended = await open({ folder, parts: { addresses } });
  expect(await versionOf(mended)).toEqual(before);
  await reload(mended, dearer);
  expect((await get(mended, source(before.contentHash))).status).toBe(200);
});

test("when the books cannot be read, today's contract is served and earlier ones are 503", async () => {
  const gateway = await open({
    wrap: (parts) => ({
      ...parts,
      store: {
        ...parts.store,
        publications: {
          keep: () => Promise.reject(new Error("disk")),
          find: () => Promise.reject(new Error("disk")),
          latest: () => Promise.reject(new Error("disk")),
          list: () => Promise.reject(new Error("disk")),
        },
      },
    }),
  });
  const { contentHash } = await versionOf(gateway);
  expect((await get(gateway, source(contentHash))).status).toBe(200);
  expect((await get(gateway, source(never))).status).toBe(503);
});

test("two contracts are compared by machine: what came, what went, what breaks", async () => {
  const gateway = await open();
  const before = await versionOf(gateway);
  await reload(gateway, dearer);
  const after = await versionOf(gateway);
  const path = `/api/contracts/diff?from=${before.contentHash}&to=${after.contentHash}`;
  const response = await get(gateway, path);
  expect(await response.json()).toEqual({
    object: "contract_diff",
    from: before.contentHash,
    to: after.contentHash,
    breaking: false,
    added: [],
    removed: [],
    changed: [
      {
        operation_id: "financial.metrics.snapshot",
        breaking: false,
        changes: [
          { kind: "price_raised", at: "price usd_per_unit", breaking: false, reason: "0.048 became 0.05" },
        ],
      },
    ],
  });
  expect(response.headers.get("cache-control")).toContain("immutable");
  await reload(gateway, "names: { social_a: chirp }");
  const renamed = await versionOf(gateway);
  const diff = await get(gateway, `/api/contracts/diff?from=${after.contentHash}&to=${renamed.contentHash}`);
  expect(await diff.json()).toMatchObject({
    breaking: true,
    changed: [
      { operation_id: "financial.metrics.snapshot", breaking: false },
      { operation_id: "social_a.follow", breaking: true },
      { operation_id: "social_a.link.start", breaking: true },
      { operation_id: "social_a.links.list", breaking: true },
      { operation_id: "social_a.links.revoke", breaking: true },
      { operation_id: "social_a.tweet.quotes", breaking: true },
    ],
  });
});

test("a stranger has thirty contracts a minute read or compared anew; what was made before costs nothing", async () => {
  const gateway = await open();
  const { contentHash } = await versionOf(gateway);
  const hashes = [contentHash];
  for (let price = 1; hashes.length < 6; price++) {
    await reload(gateway, `operations: { financial.metrics.snapshot: { price_usd: 0.${price} } }`);
    hashes.push((await versionOf(gateway)).contentHash);
  }
  const pairs = hashes.flatMap((from) => hashes.map((to) => `/api/contracts/diff?from=${from}&to=${to}`));
  const [made, more] = [pairs.slice(0, 30), pairs.slice(30)];
  for (const pair of made) expect((await get(gateway, pair)).status).toBe(200);
  for (const pair of more) {
    const refused = await get(gateway, pair);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({
      error: {
        type: "rate_limit_error",
        code: "rate_limit_exceeded",
        limit: { name: "contract_readings", limit: 30, remaining: 0 },
      },
    });
  }
  for (const pair of made) expect((await get(gateway, pair)).status).toBe(200);
  expect((await get(gateway, source(contentHash))).status).toBe(200);
});

test("one address that stays has the contract that is current, and says which it is", async () => {
  const gateway = await open();
  const { contentHash } = (await (await get(gateway, "/api/contracts/version")).json()) as {
    contentHash: string;
  };
  const response = await get(gateway, "/openapi.json");
  expect(response.status).toBe(200);
  expect(response.headers.get("x-tollgate-contract-hash")).toBe(contentHash);
  expect(response.headers.get("access-control-allow-origin")).toBe("*");
  expect(await response.text()).toBe(await (await get(gateway, source(contentHash))).text());
  // It is asked again after each change, so nobody may keep it unasked.
  expect(response.headers.get("cache-control")).toBe("no-cache");
  const known = { "if-none-match": response.headers.get("etag") ?? "" };
  expect((await get(gateway, "/openapi.json", known)).status).toBe(304);
});

test("the account part is OpenAPI 3.0.3, interface version 1.0.0", async () => {
  const gateway = await open();
  const response = await get(gateway, "/openapi/account.json");
  const document = (await response.json()) as { openapi: string; info: { version: string }; paths: object };
  expect([response.status, document.openapi, document.info.version]).toEqual([200, "3.0.3", "1.0.0"]);
  expect(Object.keys(document.paths)).toContain("/v1/usage");
  expect((await validator.validate({ ...document })).valid).toBe(true);
  const again = await get(gateway, "/openapi/account.json", {
    "if-none-match": response.headers.get("etag") ?? "",
  });
  expect(again.status).toBe(304);
});

test("an operation that cannot be described leaves no contract to trust, and stops nothing else", async () => {
  const folder = folderOfItsOwn();
  const { pathname } = new URL("../../gateway/src/for-catalogues.ts", import.meta.url);
  writeFileSync(
    join(folder, "odd.ts"),
    `import { defineOperation, fixed, z } from ${JSON.stringify(pathname)};
     export const odd = defineOperation({
       id: "odd.one", title: "Odd", summary: "Has no words.", category: "data", method: "GET", path: "/apis/v1/odd",
       response: z.lazy(() => { throw new Error("no words for it"); }),
       price: fixed("0.01"),
       servedBy: { financialdatasets: { exchange: "forward_query", path: "/financial-metrics/snapshot" } },
     });`,
  );
  const gateway = await open({ catalogueFolders: [folder] });
  for (const path of [
    "/api/contracts/version",
    "/openapi.json",
    source(never),
    "/docs",
    "/docs/operations/rerank.create",
  ]) {
    const refused = await get(gateway, path);
    expect([path, refused.status, await refused.json(), refused.headers.get("x-should-retry")]).toMatchObject(
      [path, 503, { error: { code: "contract_unavailable", retryable: true } }, "true"],
    );
  }
  expect(gateway.logged.some((line) => line.includes("no words for it"))).toBe(true);
  const account = await gateway.openAccount();
  expect((await gateway.call(account, "/apis/v1/odd?ticker=A")).status).toBe(200);
  expect((await get(gateway, "/api/sales-api-data")).status).toBe(200);
});

test("a served gateway publishes its contract at start and after each reload, asked or not", async () => {
  const dataFolder = folderOfItsOwn();
  const served = await openGatewayProcess({
    dataFolder,
    config: "sandbox: off\n",
    environment: { TOLLGATE_LOG: "error" },
  });
  try {
    const hashes = (): string[] => {
      const db = new Database(join(dataFolder, "tollgate.db"), { readonly: true });
      const rows = db.query<{ content_hash: string }, []>("SELECT content_hash FROM publication").all();
      db.close();
      return rows.map((row) => row.content_hash);
    };
    await until(() => hashes().length === 1);
    writeFileSync(join(dataFolder, "tollgate.yaml"), "sandbox: off\nnames: { provider: Acme }\n");
    served.signal("SIGHUP");
    await until(() => hashes().length === 2);
    const version = await get(served, "/api/contracts/version");
    const { contentHash } = (await version.json()) as Version;
    expect(hashes()).toContain(contentHash);
    // The command line says the same about a server with these settings, without asking it.
    const { stdout } = Bun.spawnSync(
      [process.execPath, join(projectFolder, "gateway/src/main.ts"), "contract", "--json"],
      { cwd: dataFolder, env: { ...programEnvironment, PORT: new URL(served.url).port } },
    );
    expect(JSON.parse(stdout.toString())).toMatchObject({ contentHash });
    expect(version.headers.has("x-acme-contract-hash")).toBe(true);
  } finally {
    served.signal("SIGTERM");
    await served.exited;
  }
}, 30_000);

// Starts the gateway as users meet it: real HTTP, a real SQLite file or Postgres, the real sandbox program. What a test
// chooses (configuration, clock) it says; everything else is as shipped.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Receipt } from "../../client/src/operations.ts";
import { completeAddresses } from "../../gateway/src/config/addresses.ts";
import { parseConfig } from "../../gateway/src/config/load-config.ts";
import { createGateway, type Gateway, type GatewayParts } from "../../gateway/src/gateway.ts";
import { createKeySecret } from "../../gateway/src/keys/key-format.ts";
import type { Budget, KeyScope } from "../../gateway/src/keys/keys.ts";
import { createSecrets } from "../../gateway/src/keys/secrets.ts";
import type { Store } from "../../gateway/src/books/store.ts";
import type { TierName } from "../../gateway/src/limits/tiers.ts";
import { createListen, type Listen } from "../../gateway/src/host/listen.ts";
import { loadCatalogue } from "../../gateway/src/operation/catalogue.ts";
import { systemClock, type Clock } from "../../gateway/src/platform/clock.ts";
import { createLog } from "../../gateway/src/platform/log.ts";
import { createMetrics } from "../../gateway/src/platform/metrics.ts";
import { createMemoryLimiter } from "../../gateway/src/stores/memory-limiter.ts";
import { createForwarder } from "../../gateway/src/upstreams/forwarder.ts";
import { createHttpClient } from "../../gateway/src/upstreams/http/http-client.ts";
import { createPlatformClient } from "../../gateway/src/upstreams/platform-client.ts";
import { protocols } from "../../gateway/src/upstreams/protocols.ts";
import { openTestData, type SqliteWishes, type TestData } from "./test-data.ts";

const httpClient = createHttpClient();

export const projectFolder = join(import.meta.dir, "../..");
export const catalogueFolder = join(projectFolder, "catalogue");
export const testSecret = "a secret for tests only, not for use";

export interface TestAccount {
  readonly accountId: string;
  readonly keyId: string;
  readonly key: string;
}

export interface TestGateway {
  readonly url: string;
  readonly port: number;
  readonly gateway: Gateway;
  readonly listener: ReturnType<Listen>;
  readonly store: Store;
  readonly data: TestData;
  /** Where SQLite's file is; not for tests that are run on Postgres too. */
  readonly databasePath: string;
  readonly sandbox: SandboxControl;
  /** Everything the gateway logged, one line each. */
  readonly logged: readonly string[];
  readonly openAccount: (options?: AccountOptions) => Promise<TestAccount>;
  /** The same account by another key. */
  readonly issueKey: (account: TestAccount, options?: KeyOptions) => Promise<TestAccount>;
  /** A request with the account's key. */
  readonly call: (account: TestAccount, path: string, init?: RequestInit) => Promise<Response>;
  readonly post: (
    account: TestAccount,
    path: string,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Response>;
  /** The receipt of a call, found by its answer or by its id. */
  readonly receipt: (account: TestAccount, call: Response | string) => Promise<Receipt>;
  readonly balance: (account: TestAccount) => Promise<{ balance: number; held: number }>;
  /** Findings of a full audit of the books. */
  readonly audit: () => Promise<readonly object[]>;
  readonly close: () => Promise<void>;
}

interface AccountOptions extends KeyOptions {
  readonly creditUsd?: string;
  readonly tier?: TierName;
  readonly planMultiplierPpm?: bigint;
}

interface KeyOptions {
  readonly name?: string;
  readonly scope?: KeyScope;
  readonly budget?: Budget;
  readonly allowedModels?: readonly string[];
  readonly allowedOperations?: readonly string[];
  readonly expiresAtMs?: number;
}

interface GatewayOptions {
  /** tollgate.yaml, as text. The sandbox is this test's own unless the text says otherwise. */
  readonly config?: string;
  readonly catalogueFolders?: readonly string[];
  readonly clock?: Clock;
  /** Data that is there already, and is closed by whoever opened it. */
  readonly data?: TestData;
  /** Where SQLite's file lies; a temporary folder of its own when not given. */
  readonly folder?: string;
  readonly store?: SqliteWishes;
  readonly parts?: Partial<GatewayParts>;
  /** A last word about the parts, for tests that put something between them. */
  readonly wrap?: (parts: GatewayParts) => GatewayParts;
}

export async function openTestGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const data = options.data ?? (await openTestData(options.folder));
  const sandbox = await openSandbox();
  const config = parseConfig(options.config ?? "", "the test's configuration", process.env);
  const clock = options.clock ?? systemClock;
  const store = await data.open(clock, options.store);
  const secrets = createSecrets(testSecret);
  const logged: string[] = [];
  const open: { gateway?: Gateway } = {};
  const server = createListen()({
    host: "127.0.0.1",
    port: 0,
    answer: async (request, peer) =>
      open.gateway?.answer(request, peer) ?? new Response("not ready", { status: 503 }),
  });
  const url = `http://127.0.0.1:${server.port}`;
  const parts: GatewayParts = {
    catalogue: await loadCatalogue([catalogueFolder, ...(options.catalogueFolders ?? [])]),
    config,
    addresses: completeAddresses(url),
    sandboxUrl: config.sandbox === "off" ? undefined : sandbox.url,
    store,
    secrets,
    limiter: createMemoryLimiter(clock.monotonicMs),
    forwarder: createForwarder(httpClient, protocols),
    platformClient: createPlatformClient(httpClient),
    clock,
    newId: () => Bun.randomUUIDv7(),
    log: createLog({ level: "debug", nowMs: clock.wallMs, write: (line) => void logged.push(line) }),
    metrics: createMetrics(),
    ...options.parts,
  };
  const gateway = await createGateway(options.wrap?.(parts) ?? parts);
  open.gateway = gateway;

  const issueKey = async (accountId: string, key: KeyOptions = {}): Promise<TestAccount> => {
    const value = createKeySecret((count) => crypto.getRandomValues(new Uint8Array(count)));
    const keyId = `key_${Bun.randomUUIDv7()}`;
    await store.keys.issue({
      id: keyId,
      accountId,
      name: key.name ?? "test",
      scope: key.scope ?? "key",
      budget: key.budget,
      allowedModels: key.allowedModels,
      allowedOperations: key.allowedOperations,
      expiresAtMs: key.expiresAtMs,
      secretHash: secrets.hashKey(value),
      last4: value.slice(-4),
      nowMs: clock.wallMs(),
    });
    return { accountId, keyId, key: value };
  };

  const call = (account: TestAccount, path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${account.key}`);
    return fetch(url + path, { ...init, headers });
  };

  return {
    url,
    port: server.port,
    gateway,
    listener: server,
    store,
    data,
    get databasePath() {
      return data.path();
    },
    sandbox,
    logged,
    issueKey: ({ accountId }, key) => issueKey(accountId, key),
    openAccount: async ({
      creditUsd = "2",
      tier = "growth",
      planMultiplierPpm = 1_000_000n,
      ...key
    } = {}) => {
      const account = await store.accounts.create({
        id: `acc_${Bun.randomUUIDv7()}`,
        name: "test",
        tier,
        planMultiplierPpm,
        creditMicros: BigInt(Math.round(Number(creditUsd) * 1_000_000)),
        nowMs: clock.wallMs(),
      });
      return issueKey(account.id, key);
    },
    call,
    post: (account, path, body, headers = {}) =>
      call(account, path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    receipt: async (account, named) => {
      const id = typeof named === "string" ? named : named.headers.get("x-request-id");
      const response = await call(account, `/v1/requests/${id}`);
      if (response.status !== 200) throw new Error(`There is no receipt of ${id}: ${await response.text()}`);
      return (await response.json()) as Receipt;
    },
    balance: async (account) => {
      const found = await store.accounts.find(account.accountId);
      return { balance: Number(found?.postedMicros), held: Number(found?.heldMicros) };
    },
    audit: async () => (await store.auditor.audit()).findings,
    close: async () => {
      await server.stop(true);
      await gateway.stop();
      await store.close();
      sandbox.stop();
      if (options.data === undefined) await data.close();
    },
  };
}

interface BookEntry {
  readonly vendor: string;
  readonly path: string;
  readonly query: string;
  readonly request_id: string | null;
  readonly status: number | null;
  readonly billed: Readonly<Record<string, number>> | null;
  readonly headers_seen: readonly string[];
}

/** The sandbox as a program of its own, with its book and its faults. */
export interface SandboxControl {
  readonly url: string;
  readonly book: () => Promise<readonly BookEntry[]>;
  readonly fault: (fault: object) => Promise<void>;
  readonly clear: () => Promise<void>;
  /** Waits until this many calls have arrived and wait for their answer. */
  readonly busyWith: (calls: number) => Promise<void>;
  /** Waits until every call in the book was answered, or given up by its caller; not for a vendor that never answers. */
  readonly settled: () => Promise<void>;
  readonly stop: () => void;
}

export async function openSandbox(): Promise<SandboxControl> {
  const child = Bun.spawn([process.execPath, join(projectFolder, "sandbox/src/main.ts")], {
    env: { PATH: process.env["PATH"], SANDBOX_EXIT_WITH_PARENT: "1" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  let text = "";
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk);
    if (text.includes("\n")) break;
  }
  const { sandbox: url } = JSON.parse(text) as { sandbox: string };
  const book = async (): Promise<readonly BookEntry[]> => {
    const response = await fetch(`${url}/_control/book`);
    return ((await response.json()) as { entries: BookEntry[] }).entries;
  };
  return {
    url,
    book,
    busyWith: (calls) =>
      until(async () => (await book()).filter(({ status }) => status === null).length === calls),
    settled: () => until(async () => (await book()).every(({ status }) => status !== null)),
    fault: async (fault) => {
      const response = await fetch(`${url}/_control/faults`, { method: "POST", body: JSON.stringify(fault) });
      if (response.status !== 204) throw new Error(`The sandbox refused a fault: ${await response.text()}`);
    },
    clear: async () => {
      await fetch(`${url}/_control/book`, { method: "DELETE" });
      await fetch(`${url}/_control/faults`, { method: "DELETE" });
    },
    stop: () => child.kill(),
  };
}

export interface GatewayProcess {
  readonly url: string;
  readonly pid: number;
  /** What it greeted with on stdout. */
  readonly greeting: string;
  readonly stderr: () => string;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Resolves with the exit code, or with 128 + the signal's number. */
  readonly exited: Promise<number>;
}

interface ProcessOptions {
  readonly dataFolder: string;
  readonly config?: string;
  readonly port?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** What follows `serve`. */
  readonly flags?: readonly string[];
}

/** The real program, as `npm start` runs it. */
export async function openGatewayProcess(options: ProcessOptions): Promise<GatewayProcess> {
  const configFile = join(options.dataFolder, "tollgate.yaml");
  if (options.config !== undefined) writeFileSync(configFile, options.config);
  const program = [process.execPath, join(projectFolder, "gateway/src/main.ts"), "serve"];
  const child = Bun.spawn([...program, ...(options.flags ?? [])], {
    cwd: options.dataFolder,
    env: {
      PATH: process.env["PATH"],
      PORT: String(options.port ?? 0),
      TOLLGATE_DATA: options.dataFolder,
      ...options.environment,
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let stderr = "";
  const complained = collect(child.stderr, (text) => (stderr += text)).catch(() => {});
  let greeting = "";
  let ready: (() => void) | undefined;
  const greeted = new Promise<void>((resolve) => (ready = resolve));
  collect(child.stdout, (text) => {
    greeting += text;
    if (/^(?:Documentation: |\{"address":).+\n/m.test(greeting)) ready?.();
  }).catch(() => {});
  const failed = child.exited.then(async (code) => {
    await complained;
    throw new Error(`exit ${code}: ${stderr}`);
  });
  await Promise.race([greeted, failed]);
  const url = /(?:Tollgate is open at |"address":")([^\s"]+)/.exec(greeting)?.[1] ?? "";
  return {
    url,
    pid: child.pid,
    get greeting() {
      return greeting;
    },
    stderr: () => stderr,
    signal: (signal) => child.kill(signal),
    exited: child.exited,
  };
}

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

interface Surroundings {
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** One command, as a person types it in that folder. */
export const runTollgate = (words: readonly string[], surroundings: Surroundings): Promise<Ran> =>
  runProgram([process.execPath, join(projectFolder, "gateway/src/main.ts"), ...words], surroundings);

/** Any program, to its end. */
export async function runProgram(
  command: readonly string[],
  { folder, environment = {} }: Surroundings,
): Promise<Ran> {
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: { PATH: process.env["PATH"], ...environment },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out, errors };
}

async function collect(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) add(decoder.decode(chunk, { stream: true }));
}

/** Waits until something is so; fails when it is not within some seconds. */
export async function until(isSo: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  const startedMs = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedMs > withinMs)
      throw new Error(`It did not come true within ${withinMs} ms.`);
    await Bun.sleep(25);
  }
}

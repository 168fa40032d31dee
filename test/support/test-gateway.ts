// Starts the gateway as users meet it: real HTTP, a real SQLite file or Postgres, the sandbox behind its socket,
// though not as a program of its own. What a test chooses (configuration, clock) it says; everything else is as shipped.

import type { Receipt } from "../../client/src/operations.ts";
import { completeAddresses } from "../../gateway/src/config/addresses.ts";
import { parseConfig } from "../../gateway/src/config/load-config.ts";
import { createGateway, type Gateway, type GatewayParts } from "../../gateway/src/gateway.ts";
import { createKeySecret } from "../../gateway/src/keys/key-format.ts";
import type { Budget, KeyScope } from "../../gateway/src/keys/keys.ts";
import { createSecrets } from "../../gateway/src/keys/secrets.ts";
import type { Store } from "../../gateway/src/store/store.ts";
import type { TierName } from "../../gateway/src/limits/tiers.ts";
import type { ConnectionSettings } from "../../gateway/src/host/http/connections.ts";
import { createListen, type Listen } from "../../gateway/src/host/listen.ts";
import { loadCatalogue, type Catalogue } from "../../gateway/src/operation/catalogue.ts";
import { systemClock, type Clock } from "../../gateway/src/platform/clock.ts";
import { createLog, describeError } from "../../gateway/src/platform/log.ts";
import { createMetrics } from "../../gateway/src/platform/metrics.ts";
import { createMemoryLimiter } from "../../gateway/src/stores/memory-limiter.ts";
import { createForwarder } from "../../gateway/src/upstreams/forwarder.ts";
import { createHttpClient } from "../../gateway/src/upstreams/http/http-client.ts";
import { createPlatformClient } from "../../gateway/src/upstreams/platform-client.ts";
import { protocols } from "../../gateway/src/upstreams/protocols.ts";
import { callerAt, type Caller } from "./caller.ts";
import { catalogueFolder } from "./project-folder.ts";
import { noSandbox, openSandbox, type SandboxControl } from "./sandbox.ts";
import { openTestData, type SqliteOptions, type TestData } from "./test-data.ts";

const httpClient = createHttpClient();

export const testSecret = "a secret for tests only, not for use";

export interface TestAccount {
  readonly accountId: string;
  readonly keyId: string;
  readonly key: string;
}

export interface TestGateway extends Caller {
  readonly url: string;
  readonly port: number;
  readonly gateway: Gateway;
  readonly listener: ReturnType<Listen>;
  readonly store: Store;
  readonly data: TestData;
  /** Where SQLite's file is; not for tests that are run on Postgres too. */
  readonly databasePath: string;
  /** Not for tests that have switched it off. */
  readonly sandbox: SandboxControl;
  /** Everything the gateway logged, one line each. */
  readonly logged: readonly string[];
  readonly openAccount: (options?: AccountOptions) => Promise<TestAccount>;
  /** The same account by another key. */
  readonly issueKey: (account: TestAccount, options?: KeyOptions) => Promise<TestAccount>;
  /** The receipt of a call, found by its answer or by its id. */
  readonly receipt: (account: TestAccount, call: Response | string) => Promise<Receipt>;
  readonly balance: (account: TestAccount) => Promise<{ balance: number; held: number }>;
  /** Findings of a full audit of the books. */
  readonly audit: () => Promise<readonly object[]>;
  readonly close: () => Promise<void>;
}

/** What an account of a test has, unless it says otherwise. */
export const creditMicros = 2_000_000;

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
  /** One that runs already, and is stopped by whoever opened it. */
  readonly sandbox?: SandboxControl;
  /** Data that is there already, and is closed by whoever opened it. */
  readonly data?: TestData;
  /** Where SQLite's file lies; a temporary folder of its own when not given. */
  readonly folder?: string;
  readonly store?: SqliteOptions;
  readonly listening?: Partial<ConnectionSettings>;
  readonly parts?: Partial<GatewayParts>;
  /** A last word about the parts, for tests that put something between them. */
  readonly wrap?: (parts: GatewayParts) => GatewayParts;
}

let shipped: Promise<Catalogue> | undefined;

/** What ships is read and checked once for all gateways of a process. */
const catalogueWith = (folders: readonly string[] | undefined): Promise<Catalogue> =>
  folders === undefined
    ? (shipped ??= loadCatalogue([catalogueFolder]))
    : loadCatalogue([catalogueFolder, ...folders]);

export async function openTestGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const data = options.data ?? (await openTestData(options.folder));
  const config = parseConfig(options.config ?? "", "the test's configuration", process.env);
  const isOff = config.sandbox === "off";
  const sandbox = isOff ? noSandbox : (options.sandbox ?? (await openSandbox()));
  const clock = options.clock ?? systemClock;
  const store = await data.open(clock, options.store);
  const secrets = createSecrets(testSecret);
  const logged: string[] = [];
  const log = createLog({ level: "debug", nowMs: clock.wallMs, write: (line) => void logged.push(line) });
  const open: { gateway?: Gateway } = {};
  const server = createListen({
    onBug: (error) => log.error("an answer failed unexpectedly", describeError(error)),
    ...options.listening,
  })({
    host: "127.0.0.1",
    port: 0,
    answer: async (request, peer) =>
      open.gateway?.answer(request, peer) ?? new Response("not ready", { status: 503 }),
  });
  const url = `http://127.0.0.1:${server.port}`;
  const parts: GatewayParts = {
    catalogue: await catalogueWith(options.catalogueFolders),
    config,
    addresses: completeAddresses(url),
    sandboxUrl: isOff ? undefined : sandbox.url,
    store,
    secrets,
    limiter: createMemoryLimiter(clock.monotonicMs),
    forwarder: createForwarder(httpClient, protocols),
    platformClient: createPlatformClient(httpClient),
    clock,
    newId: () => Bun.randomUUIDv7(),
    log,
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

  const caller = callerAt(url);

  return {
    ...caller,
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
      creditUsd = String(creditMicros / 1_000_000),
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
    receipt: async (account, named) => {
      const id = typeof named === "string" ? named : named.headers.get("x-request-id");
      const response = await caller.call(account, `/v1/requests/${id}`);
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
      if (options.sandbox === undefined) sandbox.stop();
      if (options.data === undefined) await data.close();
    },
  };
}

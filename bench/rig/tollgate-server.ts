// Tollgate as an operator runs it: the real program on a real database file, with accounts opened through its store.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createKeySecret } from "../../gateway/src/keys/key-format.ts";
import { createSecrets } from "../../gateway/src/keys/secrets.ts";
import type { Store } from "../../gateway/src/store/store.ts";
import { openBunProcess, type BunProcess } from "./bun-process.ts";
import { findFreePort } from "../../test/support/free-port.ts";

const secret = "a secret for benchmarks only, not for use";
const main = join(import.meta.dir, "../../gateway/src/main.ts");

/** More than any run can spend, so that money is counted and never the reason for an answer. */
export const plentyMicros = 1_000_000_000_000n;

export interface TollgateServer extends BunProcess {
  readonly url: string;
}

export const databaseIn = (folder: string): string => join(folder, "tollgate.db");

/** `more` is one more upstream, as it is written in a configuration. */
export async function serveTollgate(folder: string, upstreamUrl: string, more = ""): Promise<TollgateServer> {
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const configFile = join(folder, "tollgate.yaml");
  writeFileSync(configFile, configuration(upstreamUrl, more));
  const environment = {
    PORT: String(port),
    TOLLGATE_DATA: folder,
    TOLLGATE_CONFIG: configFile,
    TOLLGATE_SECRET: secret,
    TOLLGATE_LOG: "error",
  };
  const words = [...(process.env["BENCH_BUN_FLAGS"]?.split(" ") ?? []), main, "serve"];
  const running = await openBunProcess(words, environment, `${url}/healthz`);
  return { url, ...running };
}

const configuration = (url: string, more: string): string => `
sandbox: off
upstreams:
  vendor: { protocol: openai, url: "${url}", key: "sk-upstream-0123456789abcdef" }
  ranker: { protocol: jina, url: "${url}", key: "sk-upstream-0123456789abcdef" }
  reseller: { protocol: tikhub, url: "${url}", key: "sk-upstream-0123456789abcdef" }
  ${more}
models: { bench-model: { via: [vendor], price: { input: 2.5, output: 10, cache_read: 0.25 }, max_output_tokens: 4096 } }
tiers:
  free: { rpm: 1, tpm: 1000000, concurrency: 1 }
  enterprise: { rpm: 1000000000, tpm: 1000000000000, concurrency: 1000000 }
`;

export interface AccountOptions {
  readonly creditMicros: bigint;
  /** Free is held to one request a minute here, enterprise to more than anybody can send. */
  readonly tier: "free" | "enterprise";
}

export interface OpenedAccount {
  readonly accountId: string;
  readonly keyId: string;
  readonly key: string;
}

export async function openAccount(
  store: Store,
  options: AccountOptions,
  nowMs: number,
): Promise<OpenedAccount> {
  const [accountId, keyId] = [`acc_${newId()}`, `key_${newId()}`];
  const key = createKeySecret((count) => crypto.getRandomValues(new Uint8Array(count)));
  await store.accounts.create({
    id: accountId,
    name: "bench",
    planMultiplierPpm: 1_000_000n,
    nowMs,
    ...options,
  });
  await store.keys.issue({
    id: keyId,
    accountId,
    name: "bench",
    scope: "key",
    budget: { limitMicros: plentyMicros, window: "day" },
    expiresAtMs: undefined,
    secretHash: createSecrets(secret).hashKey(key),
    last4: key.slice(-4),
    nowMs,
  });
  return { accountId, keyId, key };
}

const newId = (): string => Bun.randomUUIDv7().replaceAll("-", "");

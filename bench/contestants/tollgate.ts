// Tollgate as an operator runs it, with everything on: a hundred accounts, each with a key and a budget on it,
// limits that count though nobody reaches them, a hold and a durable settlement for every call.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createKeySecret } from "../../gateway/src/keys/key-format.ts";
import { createSecrets } from "../../gateway/src/keys/secrets.ts";
import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { openBunProcess } from "../rig/bun-process.ts";
import type { Contestant, RunningContestant } from "../rig/contestant.ts";
import { freePort } from "../rig/free-port.ts";
import type { Upstream } from "../rig/upstream.ts";

const accounts = 100;
const secret = "a secret for benchmarks only, not for use";
const main = join(import.meta.dir, "../../gateway/src/main.ts");

/** More than any run can spend, so that money is counted and never the reason for an answer. */
const plentyMicros = 1_000_000_000_000n;

export const tollgate: Contestant = { name: "Tollgate", open: (upstream) => openTollgate(upstream) };

/** Tollgate for callers who are refused: they have no credit left, or no request left in this minute. */
export const openTollgateFor = (caller: "poor" | "limited", upstream: Upstream): Promise<RunningContestant> =>
  openTollgate(upstream, caller === "poor" ? { creditMicros: 0n } : { tier: "free" });

interface Callers {
  readonly creditMicros?: bigint;
  readonly tier?: "free" | "enterprise";
}

async function openTollgate(upstream: Upstream, callers: Callers = {}): Promise<RunningContestant> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-bench-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const keys = await openAccounts(join(folder, "tollgate.db"), callers);
  writeFileSync(join(folder, "tollgate.yaml"), configuration(upstream));
  const environment = {
    PORT: String(port),
    TOLLGATE_DATA: folder,
    TOLLGATE_CONFIG: join(folder, "tollgate.yaml"),
    TOLLGATE_SECRET: secret,
    TOLLGATE_LOG: "error",
  };
  const words = [...(process.env["BENCH_BUN_FLAGS"]?.split(" ") ?? []), main, "serve"];
  const running = await openBunProcess(words, environment, `${url}/healthz`);
  return {
    url,
    pid: running.pid,
    keys,
    close: async () => {
      await running.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const configuration = ({ url }: Upstream): string => `
sandbox: off
upstreams: { vendor: { protocol: openai, url: "${url}", key: "sk-upstream-0123456789abcdef" } }
models: { bench-model: { via: [vendor], price: { input: 2.5, output: 10, cache_read: 0.25 }, max_output_tokens: 4096 } }
tiers: { free: { rpm: 1, tpm: 1000000, concurrency: 1 }, enterprise: { rpm: 1000000000, tpm: 1000000000000, concurrency: 1000000 } }
`;

async function openAccounts(
  databasePath: string,
  { creditMicros = plentyMicros, tier = "enterprise" }: Callers,
): Promise<string[]> {
  const store = openSqliteStore({ path: databasePath });
  const { hashKey } = createSecrets(secret);
  const keys: string[] = [];
  for (let number = 0; number < accounts; number++) {
    const nowMs = Date.now();
    const account = await store.accounts.create({
      id: `acc_${newId()}`,
      name: `bench ${number}`,
      tier,
      planMultiplierPpm: 1_000_000n,
      creditMicros,
      nowMs,
    });
    const key = createKeySecret((count) => crypto.getRandomValues(new Uint8Array(count)));
    await store.keys.issue({
      id: `key_${newId()}`,
      accountId: account.id,
      name: "bench",
      scope: "key",
      budget: { limitMicros: plentyMicros, window: "day" },
      expiresAtMs: undefined,
      secretHash: hashKey(key),
      last4: key.slice(-4),
      nowMs,
    });
    keys.push(key);
  }
  await store.close();
  return keys;
}

const newId = (): string => Bun.randomUUIDv7().replaceAll("-", "");

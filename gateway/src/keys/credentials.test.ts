import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../../test/support/until.ts";
import { authenticate } from "../call/steps/authenticate.ts";
import type { Call } from "../call/call.ts";
import type { Gate } from "../call/gate.ts";
import type { Store } from "../store/store.ts";
import { createLog } from "../platform/log.ts";
import { CallRefused } from "../platform/refusals.ts";
import { createMemoryLimiter } from "../stores/memory-limiter.ts";
import { openSqliteStore } from "../stores/sqlite/sqlite-store.ts";
import { createCredentials, TooManyGuesses, type Credentials } from "./credentials.ts";
import { createKeySecret, createSecret } from "./key-format.ts";
import type { Credential, KeyBook } from "./keys.ts";
import { createSecrets } from "./secrets.ts";

const secrets = createSecrets("a secret for tests");
const startMs = Date.UTC(2026, 2, 14, 12);

let folder: string;
let store: Store;
let lookUps: number;
let wallMs: number;
let monotonicMs: number;
let credentials: Credentials;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-keys-"));
  store = openSqliteStore({ path: join(folder, "tollgate.db") });
  lookUps = 0;
  wallMs = startMs;
  monotonicMs = 0;
  credentials = createCredentials({
    keys: countingLookUps(store.keys),
    tokens: store.tokens,
    audience: "https://gateway.example/mcp",
    secrets,
    limiter: createMemoryLimiter(() => monotonicMs),
    clock: { wallMs: () => wallMs, monotonicMs: () => monotonicMs },
  });
  const account = {
    id: "acc_1",
    name: "Ada",
    tier: "free",
    planMultiplierPpm: 1_000_000n,
    creditMicros: 0n,
  } as const;
  await store.accounts.create({ ...account, nowMs: startMs });
});

afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The real book; only how often it is asked is written down. */
const countingLookUps = (keys: KeyBook): KeyBook => ({
  ...keys,
  findCredential: (hash, nowMs) => {
    lookUps++;
    return keys.findCredential(hash, nowMs);
  },
});

async function issue(keyId = "key_1", expiresAtMs?: number): Promise<string> {
  const key = createKeySecret(randomBytes);
  await store.keys.issue({
    id: keyId,
    accountId: "acc_1",
    name: "test",
    scope: "key",
    budget: undefined,
    expiresAtMs,
    secretHash: secrets.hashKey(key),
    last4: key.slice(-4),
    nowMs: wallMs,
  });
  return key;
}

async function rotate(keyId: string, graceMs: number): Promise<string> {
  const key = createKeySecret(randomBytes);
  const graceEndsAtMs = wallMs + graceMs;
  const secretHash = secrets.hashKey(key);
  await store.keys.rotate({ keyId, secretHash, last4: key.slice(-4), nowMs: wallMs, graceEndsAtMs });
  return key;
}

function pass(ms: number): void {
  wallMs += ms;
  monotonicMs += ms;
}

const find = (presented: string, address = "192.0.2.7") =>
  credentials.find(presented, { address: () => address });

/** How the front door answers; authentication reads nothing else of a call or of the gate. */
async function refusalOf(
  presented: string,
): Promise<{ code: string; status: number; text: string } | undefined> {
  const address = (): string => "192.0.2.7";
  const shown = { kind: "key", value: presented };
  const call = { presented: shown, receivedAtMs: wallMs, address } as unknown as Call;
  const log = createLog({ level: "silent", nowMs: () => wallMs, write: () => {} });
  try {
    await authenticate(call, { credentials, log } as unknown as Gate);
    return undefined;
  } catch (error) {
    if (!(error instanceof CallRefused)) throw error;
    return { code: error.code, status: error.status, text: error.message + JSON.stringify(error.details) };
  }
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const randomWord = (length: number): string =>
  Array.from(randomBytes(length), (byte) => alphabet[byte % 62]).join("");

describe("looking up what a caller presents", () => {
  test("100,000 strings of garbage are refused without a single look-up", async () => {
    const real = await issue();
    const makers: readonly ((n: number) => string)[] = [
      () => `tgk_${randomWord(36)}`,
      (n) => real.slice(0, 4 + (n % 36)) + randomWord(1) + real.slice(5 + (n % 36)),
      (n) => randomBytes(n % 60).toString("latin1"),
      (n) => randomBytes(n % 60).toString("base64"),
      (n) => real.slice(0, n % 40),
      () => real + randomWord(1),
      () => `sk-${randomWord(48)}`,
      () => `tgo_${randomWord(36)}`,
    ];
    for (let n = 0; n < 100_000; n++) {
      const garbage = makers[n % makers.length]?.(n) ?? "";
      if (garbage === real) continue;
      if (find(garbage) !== undefined) throw new Error(`Looked up ${JSON.stringify(garbage)}.`);
    }
    expect(lookUps).toBe(0);
    expect(await find(real)).toMatchObject({ keyId: "key_1" });
    expect(lookUps).toBe(1);
  });

  test("a known key is looked up once in two seconds, however often it calls", async () => {
    const key = await issue();
    for (let n = 0; n < 1_000; n++) {
      expect(await find(key)).toMatchObject({ keyId: "key_1" });
      pass(1);
    }
    expect(lookUps).toBe(1);
    pass(1_000);
    await find(key);
    expect(lookUps).toBe(2);
  });

  test("a well-formed key nobody issued is not asked for again and again", async () => {
    const stranger = createKeySecret(randomBytes);
    for (let n = 0; n < 100; n++) expect(await find(stranger)).toBeUndefined();
    expect(lookUps).toBe(1);
  });

  test("many strangers cannot crowd out memory, nor make a real key be looked up again", async () => {
    const key = await issue();
    await find(key);
    for (let n = 0; n < 25_000; n++) await find(createKeySecret(randomBytes), `10.0.${n >> 8}.${n & 255}`);
    lookUps = 0;
    expect(await find(key)).toMatchObject({ keyId: "key_1" });
    expect(lookUps).toBe(0);
  });

  test("after sixty unknown keys in a minute an address is told to wait, and nothing more is looked up", async () => {
    const known = await issue();
    await find(known);
    for (let n = 0; n < 60; n++) expect(await find(createKeySecret(randomBytes))).toBeUndefined();
    lookUps = 0;
    expect(await refusalOf(createKeySecret(randomBytes))).toMatchObject({
      code: "rate_limit_exceeded",
      status: 429,
    });
    expect(lookUps).toBe(0);
    // Whoever was let in before stays welcome, also when the memory of it has grown old; and so do other addresses.
    pass(3_000);
    expect(await find(known)).toMatchObject({ keyId: "key_1" });
    expect(await find(await issue("key_2"), "192.0.2.8")).toMatchObject({ keyId: "key_2" });
    pass(60_000);
    expect(await find(await issue("key_3"))).toMatchObject({ keyId: "key_3" });
  });

  test("one wrong key or token, however often it comes, locks nobody else out", async () => {
    const wrongKey = createKeySecret(randomBytes);
    const wrongToken = createSecret("tgo_", randomBytes);
    for (let n = 0; n < 1_000; n++) {
      expect(await find(wrongKey)).toBeUndefined();
      expect(await find(wrongToken)).toBeUndefined();
      pass(200);
    }
    expect(lookUps).toBeLessThan(5);
    expect(await find(await issue())).toMatchObject({ keyId: "key_1" });
  });

  test("one wrong key or token that many workers bring at once is one guess of their address", async () => {
    for (const wrong of [createKeySecret(randomBytes), createSecret("tgo_", randomBytes)]) {
      const found = await Promise.all(Array.from({ length: 60 }, () => Promise.resolve(find(wrong))));
      expect(new Set(found)).toEqual(new Set([undefined]));
    }
    expect(lookUps).toBe(1);
    expect(await find(await issue())).toMatchObject({ keyId: "key_1" });
    // Each of these is one, and the two from before are not forgotten.
    for (let n = 0; n < 58; n++) expect(await find(createKeySecret(randomBytes))).toBeUndefined();
    expect(await find(createKeySecret(randomBytes))).toBeInstanceOf(TooManyGuesses);
  });

  test("a key that many workers bring at once lets in all of them, also beside an address that has to wait", async () => {
    for (let n = 0; n < 60; n++) await find(createKeySecret(randomBytes));
    const key = await issue();
    const workers = Array.from({ length: 30 }, (_, n) =>
      Promise.resolve(find(key, n % 2 === 0 ? "192.0.2.7" : "192.0.2.8")),
    );
    for (const [n, found] of (await Promise.all(workers)).entries()) {
      if (n % 2 === 0) expect(found).toBeInstanceOf(TooManyGuesses);
      else expect(found).toMatchObject({ keyId: "key_1" });
    }
  });

  test("a token that was revoked while another worker's look-up of it ran is not let in by that", async () => {
    const token = createSecret("tgo_", randomBytes);
    const key = await issue();
    const granted = await store.keys.findCredential(secrets.hashKey(key), wallMs);
    const asked: PromiseWithResolvers<Credential | undefined>[] = [];
    const slow = createCredentials({
      keys: store.keys,
      tokens: {
        findCredential: () => {
          const answer = Promise.withResolvers<Credential | undefined>();
          asked.push(answer);
          return answer.promise;
        },
      },
      audience: "https://gateway.example/mcp",
      secrets,
      limiter: createMemoryLimiter(() => monotonicMs),
      clock: { wallMs: () => wallMs, monotonicMs: () => monotonicMs },
    });
    const before = slow.find(token, { address: () => "192.0.2.7" });
    await until(() => asked.length === 1);
    const after = slow.find(token, { address: () => "192.0.2.7" });
    asked[0]?.resolve(granted);
    expect(await before).toMatchObject({ keyId: "key_1" });
    await until(() => asked.length === 2);
    asked[1]?.resolve(undefined);
    expect(await after).toBeUndefined();
  });

  test("an address of IPv6 stands for its whole network", async () => {
    for (let n = 0; n < 60; n++) await find(createKeySecret(randomBytes), `2001:db8:1:2::${n}`);
    expect(await find(createKeySecret(randomBytes), "2001:db8:1:2:ffff::1")).toBeInstanceOf(TooManyGuesses);
    expect(await find(createKeySecret(randomBytes), "2001:db8:1:3::1")).toBeUndefined();
  });

  test("a store that fails is not remembered as an answer", async () => {
    const key = await issue();
    let broken = true;
    const shaky = createCredentials({
      keys: {
        ...store.keys,
        findCredential: (hash, nowMs) =>
          broken ? Promise.reject(new Error("disk")) : store.keys.findCredential(hash, nowMs),
      },
      tokens: store.tokens,
      audience: "https://gateway.example/mcp",
      secrets,
      limiter: createMemoryLimiter(() => monotonicMs),
      clock: { wallMs: () => wallMs, monotonicMs: () => monotonicMs },
    });
    expect(await Promise.resolve(shaky.find(key, { address: () => undefined })).catch(String)).toBe(
      "Error: disk",
    );
    broken = false;
    expect(await shaky.find(key, { address: () => undefined })).toMatchObject({ keyId: "key_1" });
  });
});

describe("what changes about a key holds within 5 s", () => {
  test("a revoked key stops, and stays stopped", async () => {
    const key = await issue();
    expect(await refusalOf(key)).toBeUndefined();
    await store.keys.revoke("key_1", wallMs);
    const revokedAtMs = monotonicMs;
    while ((await refusalOf(key)) === undefined) pass(100);
    expect(monotonicMs - revokedAtMs).toBeLessThanOrEqual(5_000);
    for (let n = 0; n < 100; n++) {
      pass(100);
      expect(await refusalOf(key)).toMatchObject({ code: "invalid_api_key" });
    }
  });

  test("a key in steady use is not remembered for longer by being used", async () => {
    const key = await issue();
    await find(key);
    await store.keys.revoke("key_1", wallMs);
    for (let n = 0; n < 499; n++) {
      pass(10);
      await find(key);
    }
    expect(await refusalOf(key)).toMatchObject({ code: "invalid_api_key" });
  });

  test("a wall clock set back does not prolong it", async () => {
    const key = await issue();
    await find(key);
    await store.keys.revoke("key_1", wallMs);
    wallMs -= 3_600_000;
    monotonicMs += 5_000;
    expect(await refusalOf(key)).toMatchObject({ code: "invalid_api_key" });
  });

  test("suspension, tier, plan and budget arrive too", async () => {
    const key = await issue();
    await find(key);
    await store.accounts.update("acc_1", { suspended: true, tier: "growth", planMultiplierPpm: 900_000n });
    await store.keys.update("key_1", { scope: "account", budget: { limitMicros: 5n, window: "day" } });
    pass(5_000);
    expect(await find(key)).toMatchObject({
      suspended: true,
      tier: "growth",
      planMultiplierPpm: 900_000n,
      scope: "account",
      budget: { limitMicros: 5n, window: "day" },
    });
  });

  test("a rotated secret ends within 5 s of its grace, the new one works at once", async () => {
    const old = await issue();
    const renewed = await rotate("key_1", 60_000);
    expect(await find(renewed)).toMatchObject({ keyId: "key_1" });
    pass(59_999);
    expect(await find(old)).toMatchObject({ keyId: "key_1" });
    pass(5_000);
    expect(await refusalOf(old)).toMatchObject({ code: "invalid_api_key" });
    expect(await refusalOf(renewed)).toBeUndefined();
  });
});

describe("what the door says", () => {
  test("unknown, malformed, revoked and rotated-out keys cannot be told apart", async () => {
    const revoked = await issue("key_revoked");
    await store.keys.revoke("key_revoked", wallMs);
    const rotatedOut = await issue("key_rotated");
    await rotate("key_rotated", 0);
    const expiredAndRevoked = await issue("key_both", wallMs + 1);
    await store.keys.revoke("key_both", wallMs);
    pass(1);
    const answers = [
      await refusalOf(createKeySecret(randomBytes)),
      await refusalOf("garbage"),
      await refusalOf(revoked),
      await refusalOf(rotatedOut),
      await refusalOf(expiredAndRevoked),
    ];
    expect(answers[0]).toMatchObject({ status: 401, code: "invalid_api_key" });
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  });

  test("an expired key is told that it has expired, from the very millisecond, cached or not", async () => {
    const key = await issue("key_1", wallMs + 1_000);
    expect(await refusalOf(key)).toBeUndefined();
    pass(999);
    expect(await refusalOf(key)).toBeUndefined();
    pass(1);
    expect(await refusalOf(key)).toMatchObject({ status: 401, code: "expired_api_key" });
  });
});

import { createKeySecret } from "../keys/key-format.ts";
import type { Secrets } from "../keys/secrets.ts";
import type { Store } from "../books/store.ts";
import { multiplierOne, type Micros } from "../platform/money.ts";

interface Parts {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly signupCreditMicros: Micros;
  readonly newId: () => string;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly nowMs: number;
}

/** On a fresh installation: an account with the signup credit, and the key to it. Undefined when accounts exist. */
export async function createDemoAccount(parts: Parts): Promise<string | undefined> {
  const { store, secrets, nowMs } = parts;
  if ((await store.accounts.list()).length > 0) return undefined;
  const account = await store.accounts.create({
    id: `acc_${parts.newId().replaceAll("-", "")}`,
    name: "demo",
    tier: "free",
    planMultiplierPpm: multiplierOne,
    creditMicros: parts.signupCreditMicros,
    nowMs,
  });
  const secret = createKeySecret(parts.randomBytes);
  await store.keys.issue({
    id: `key_${parts.newId().replaceAll("-", "")}`,
    accountId: account.id,
    name: "demo",
    scope: "account",
    budget: undefined,
    expiresAtMs: undefined,
    secretHash: secrets.hashKey(secret),
    last4: secret.slice(-4),
    nowMs,
  });
  return secret;
}

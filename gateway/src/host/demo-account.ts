import { createKeySecret } from "../keys/key-format.ts";
import type { Secrets } from "../keys/secrets.ts";
import type { Store } from "../books/store.ts";
import type { Account } from "../ledger/accounts.ts";
import { multiplierOne, type Micros } from "../platform/money.ts";
import { prefixedId } from "../platform/prefixed-id.ts";

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
  if (await hasAccounts(store)) return undefined;
  const account = await createAccount(parts);
  if (!account) return undefined;
  const secret = createKeySecret(parts.randomBytes);
  await store.keys.issue({
    id: prefixedId("key_", parts.newId),
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

const hasAccounts = async ({ accounts }: Store): Promise<boolean> => (await accounts.list()).length > 0;

/** Undefined when another process that started at the same moment was faster: there is one such account, whoever makes it. */
async function createAccount({
  store,
  secrets,
  signupCreditMicros,
  nowMs,
}: Parts): Promise<Account | undefined> {
  try {
    return await store.accounts.create({
      // Follows from the secret that all processes share, so that only one of them can make it.
      id: `acc_${Buffer.from(secrets.keyFor("demo account")).toString("hex").slice(0, 32)}`,
      name: "demo",
      tier: "free",
      planMultiplierPpm: multiplierOne,
      creditMicros: signupCreditMicros,
      nowMs,
    });
  } catch (error) {
    if (await hasAccounts(store)) return undefined;
    throw error;
  }
}

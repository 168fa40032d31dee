import { createKeySecret } from "../keys/key-format.ts";
import type { Secrets } from "../keys/secrets.ts";
import type { Store } from "../store/store.ts";
import { multiplierOne, type Micros } from "../platform/money.ts";

interface Parts {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly signupCreditMicros: Micros;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly nowMs: number;
}

/**
 * On a fresh installation: an account with the signup credit, and the key to it. Undefined when there are others, or it
 * has its key; a start that broke off between the two is ended by the next.
 */
export async function createDemoAccount(parts: Parts): Promise<string | undefined> {
  const { store, secrets } = parts;
  const accountId = demoId("acc_", secrets.keyFor("demo account"));
  const accounts = await store.accounts.list();
  if (accounts.length === 0) await createAccount(accountId, parts);
  else if (accounts.length > 1 || accounts[0]?.id !== accountId) return undefined;
  return (await hasKey(accountId, store)) ? undefined : issueKey(accountId, parts);
}

/** Follows from the secret that all processes share: of those that start at one moment only one can make it. */
const demoId = (prefix: string, derived: Uint8Array): string =>
  prefix + Buffer.from(derived).toString("hex").slice(0, 32);

const hasKey = async (accountId: string, { keys }: Store): Promise<boolean> =>
  (await keys.list(accountId)).length > 0;

async function createAccount(id: string, { store, signupCreditMicros, nowMs }: Parts): Promise<void> {
  try {
    await store.accounts.create({
      id,
      name: "demo",
      tier: "free",
      planMultiplierPpm: multiplierOne,
      creditMicros: signupCreditMicros,
      nowMs,
    });
  } catch (error) {
    // Another process may have been faster: there is one such account, whoever makes it.
    if ((await store.accounts.list()).length === 0) throw error;
  }
}

/** Undefined when another process was faster, which then tells it. */
async function issueKey(
  accountId: string,
  { store, secrets, randomBytes, nowMs }: Parts,
): Promise<string | undefined> {
  const secret = createKeySecret(randomBytes);
  try {
    await store.keys.issue({
      id: demoId("key_", secrets.keyFor("demo key")),
      accountId,
      name: "demo",
      scope: "account",
      budget: undefined,
      expiresAtMs: undefined,
      secretHash: secrets.hashKey(secret),
      last4: secret.slice(-4),
      nowMs,
    });
    return secret;
  } catch (error) {
    if (await hasKey(accountId, store)) return undefined;
    throw error;
  }
}

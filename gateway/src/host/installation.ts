// What makes an installation one: its secret, the data that was written under it, and what several nodes must share.

import type { Store } from "../store/store.ts";
import type { Settings } from "../config/environment.ts";
import { createSecrets, type Secrets } from "../keys/secrets.ts";
import { systemBytes } from "../platform/chance.ts";
import { messageOf } from "../platform/error-message.ts";
import { findInstallationSecret, loadInstallationSecret } from "./installation-secret.ts";

export function secretsOf(settings: Settings): Secrets {
  checkSecret(settings);
  return createSecrets(loadInstallationSecret(settings.secret, settings.dataFolder, systemBytes));
}

/** Several nodes must recognise a key by the same secret, so none makes one of its own. */
export function checkSecret({ store, secret }: Settings): void {
  if (store.kind === "postgres" && secret === undefined)
    throw new Error("With Postgres every node needs the same TOLLGATE_SECRET (at least 16 characters).");
}

/** Tokens and links are made for one address, whichever node is asked. */
export function checkAddress({ store, baseUrl }: Settings): void {
  if (store.kind === "postgres" && baseUrl === undefined)
    throw new Error("With Postgres every node needs the same TOLLGATE_BASE_URL: the address callers know.");
}

/**
 * What is wrong where several nodes count limits in their own memory. A single one on Postgres counts rightly, and none
 * knows whether there are others, so it is told and not refused.
 */
export const findLimitsApart = ({ store, limits }: Settings): string | undefined =>
  store.kind === "postgres" && limits.kind === "memory"
    ? "several nodes together let through several times each limit; set TOLLGATE_LIMITS to one Redis for all of them"
    : undefined;

/** That of the secret which is there already; none is made. */
export function findFingerprint({ secret, dataFolder }: Settings): string | undefined {
  const found = findInstallationSecret(secret, dataFolder);
  return found === undefined ? undefined : createSecrets(found).fingerprint;
}

/** Ties the data to the installation's secret. */
export async function claimed(store: Store, secrets: Secrets): Promise<Store> {
  if (await store.claimSecret(secrets.fingerprint)) return store;
  await store.close();
  throw new Error(
    "The data was written under another secret. Set TOLLGATE_SECRET, or put the old data/secret back.",
  );
}

/** A server, or a proxy in front of it, may repeat the password that it does not take. */
export async function withoutPasswords<Seen>(
  { store, limits }: Settings,
  look: () => Promise<Seen>,
): Promise<Seen> {
  const secrets = [store, limits].flatMap((place) => ("secrets" in place ? place.secrets : []));
  try {
    return await look();
  } catch (error) {
    let sentence = messageOf(error);
    for (const secret of secrets) if (secret !== "") sentence = sentence.replaceAll(secret, "[secret]");
    throw new Error(sentence, { cause: error });
  }
}

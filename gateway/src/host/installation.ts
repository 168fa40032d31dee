// What makes an installation one: its secret, the data that was written under it, and what several nodes must share.

import { bringItsSecret, lacksItsSecret, type SeenData } from "../store/seen-data.ts";
import type { Store } from "../store/store.ts";
import type { Settings } from "../config/environment.ts";
import { createSecrets, type Secrets } from "../keys/secrets.ts";
import { systemBytes } from "../platform/chance.ts";
import { messageOf } from "../platform/error-message.ts";
import { findInstallationSecret, makeInstallationSecret } from "./installation-secret.ts";

/**
 * The secrets that follow from the one that is there. Where nothing was written under any yet, one is made; not beside data
 * that needs another, where it would be kept and backed up as if it were the right one.
 */
export async function loadSecrets(settings: Settings, data: Data): Promise<Secrets> {
  checkSecret(settings);
  const { secret, dataFolder } = settings;
  if (hasSpaceAround(settings) && !(await data.hasData())) throw new Error(spaceAround);
  const find = (): string | undefined => findInstallationSecret(secret, dataFolder);
  const found = find();
  if (found !== undefined) return createSecrets(found);
  const seen = await data.look();
  if (seen?.fingerprint === undefined) return createSecrets(makeInstallationSecret(dataFolder, systemBytes));
  // Another process may have made it and begun the data meanwhile, in this order.
  const made = find();
  if (made === undefined) throw new Error(lacksItsSecret(data.name));
  return createSecrets(made);
}

interface Data {
  readonly name: string;
  readonly hasData: () => Promise<boolean>;
  readonly look: () => Promise<SeenData | undefined>;
}

/**
 * Refuses a secret under which no data should be begun: a mounted file ends in a line break that nobody sees, and without it
 * no key would be recognised. Data that was already written under such a secret stays usable.
 */
export function checkFirstSecret(settings: Settings): void {
  if (hasSpaceAround(settings)) throw new Error(spaceAround);
}

const hasSpaceAround = ({ secret }: Settings): boolean => secret !== secret?.trim();

const spaceAround =
  "TOLLGATE_SECRET begins or ends with a space or a line break; is there one at its end? Remove it before there is " +
  "data under it.";

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

/** The fingerprint of the secret that is there already; none is made. */
export function findFingerprint({ secret, dataFolder }: Settings): string | undefined {
  const found = findInstallationSecret(secret, dataFolder);
  return found === undefined ? undefined : createSecrets(found).fingerprint;
}

/** Ties the data to the installation's secret. */
export async function claimed(store: Store, secrets: Secrets): Promise<Store> {
  if (await store.claimSecret(secrets.fingerprint)) return store;
  await store.close();
  throw new Error(`The data was written under another secret. ${bringItsSecret}`);
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

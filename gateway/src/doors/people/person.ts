import { isLive } from "../../platform/life.ts";
import { isSameSecret } from "../../keys/is-same-secret.ts";
import { isWellFormedKey } from "../../keys/key-format.ts";
import type { Key } from "../../keys/keys.ts";
import { liveSecrets } from "../../keys/live-secrets.ts";
import { createSealing, type Sealing } from "../../keys/sealing.ts";
import type { Secrets } from "../../keys/secrets.ts";
import type { Store } from "../../store/store.ts";
import type { Clock } from "../../platform/clock.ts";
import { cookiesOf } from "../pages/cookies.ts";

/** Whoever sits at a browser, which is known by a cookie of ours. */
export type Person = SignedIn | Stranger;

interface SignedIn {
  readonly browserId: string;
  readonly key: Key;
  /** The end of the secret that was typed: a person stays signed in no longer than that secret works. */
  readonly last4: string;
}

interface Stranger {
  readonly browserId: string;
  readonly key: undefined;
}

interface Parts {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly randomBytes: (count: number) => Uint8Array;
  /** Whether browsers reach us by https; then the cookie never travels any other way. */
  readonly encrypted: boolean;
}

/** Long enough to answer a few questions in a row, short enough for a browser left open. */
const signedInMs = 60 * 60_000;

/** What the store is told of a sign-in that its person ended. */
const leftKind = "LeftBrowser";
const nothing = new Uint8Array();

export interface People {
  readonly read: (request: Request) => Promise<Person>;
  /** The key behind what was typed, when it lives. */
  readonly recognise: (typed: string) => Promise<Key | undefined>;
  /** The cookie that remembers a person; without a key it only remembers the browser. */
  readonly cookie: (person: Person) => string;
  /** A fresh identity at sign-in, so that nobody can plant one beforehand. */
  readonly signedIn: (key: Key, typed: string) => SignedIn;
  /** From now on nobody is known by the cookie that remembered them, whoever kept it; the browser is a new one. */
  readonly signOut: (person: Person) => Promise<Person>;
  /** Ties a form to the browser it was shown in and to what it is for. */
  readonly csrf: (person: Person, purpose: string) => string;
  readonly isCsrf: (person: Person, purpose: string, presented: string) => boolean;
  readonly describe: (key: Key) => string;
}

export function createPeople({ store, secrets, clock, randomBytes, encrypted }: Parts): People {
  const sealing = createSealing(secrets.keyFor("browser cookie"), randomBytes);
  const csrfKey = secrets.keyFor("form tokens");
  const cookieName = encrypted ? "__Host-tollgate_browser" : "tollgate_browser";
  const newBrowserId = (): string => Buffer.from(randomBytes(16)).toString("hex");

  const live = (key: Key | undefined): Key | undefined =>
    key && isLive(key, clock.wallMs()) ? key : undefined;

  const hasSecret = (key: Key, last4: string): boolean =>
    liveSecrets(key, clock.wallMs()).some((secret) => secret.last4 === last4);

  const csrf = ({ browserId }: Person, purpose: string): string =>
    new Bun.CryptoHasher("sha256", csrfKey).update(`${browserId} ${purpose}`).digest("hex");

  const newcomer = (): Stranger => ({ browserId: newBrowserId(), key: undefined });

  const hasLeft = async (browserId: string): Promise<boolean> =>
    (await store.signIns.find(leftKind, secrets.hashKey(browserId), clock.wallMs())) !== undefined;

  return {
    read: async (request) => {
      const opened = openCookie(request, cookieName, sealing);
      if (!opened) return newcomer();
      const { browserId, keyId, last4, untilMs } = opened;
      const stranger = { browserId, key: undefined };
      if (keyId === undefined || last4 === undefined || untilMs <= clock.wallMs()) return stranger;
      const key = live(await store.keys.find(keyId));
      if (!key || !hasSecret(key, last4) || (await hasLeft(browserId))) return stranger;
      return { browserId, key, last4 };
    },
    recognise: async (typed) => {
      if (!isWellFormedKey(typed)) return undefined;
      const credential = await store.keys.findCredential(secrets.hashKey(typed), clock.wallMs());
      return credential && live(await store.keys.find(credential.keyId));
    },
    cookie: (person) => {
      const signedIn = person.key && { keyId: person.key.id, last4: person.last4 };
      const value: Remembered = {
        browserId: person.browserId,
        ...signedIn,
        untilMs: clock.wallMs() + signedInMs,
      };
      const sealed = Buffer.from(sealing.seal(JSON.stringify(value), cookieName)).toString("base64url");
      // One sign-in serves every page of ours that asks for one; nothing that is called with a key looks at it.
      const rest = `Path=/; ${encrypted ? "Secure; " : ""}HttpOnly; SameSite=Lax`;
      return `${cookieName}=${sealed}; ${rest}; Max-Age=${signedInMs / 1000}`;
    },
    signedIn: (key, typed) => ({ browserId: newBrowserId(), key, last4: typed.slice(-4) }),
    signOut: async ({ browserId, key }) => {
      const nowMs = clock.wallMs();
      const left = {
        kind: leftKind,
        idHash: secrets.hashKey(browserId),
        grantId: undefined,
        scope: undefined,
        audience: undefined,
        sealed: nothing,
        // No cookie that was given so far lasts longer.
        expiresAtMs: nowMs + signedInMs,
      };
      if (key) await store.signIns.put(left, nowMs);
      return newcomer();
    },
    csrf,
    isCsrf: (person, purpose, presented) => isSameSecret(presented, csrf(person, purpose)),
    describe: (key) => `key “${key.name}” (…${key.secrets[0]?.last4 ?? ""})`,
  };
}

interface Remembered {
  readonly browserId: string;
  /** Both or neither: of whoever was signed in. */
  readonly keyId?: string;
  readonly last4?: string;
  readonly untilMs: number;
}

function openCookie(request: Request, name: string, sealing: Sealing): Remembered | undefined {
  const written = cookiesOf(request).get(name);
  if (written === undefined) return undefined;
  const text = sealing.open(Buffer.from(written, "base64url"), name);
  // Nobody but us can seal one, so what opens is what we wrote.
  return text === undefined ? undefined : (JSON.parse(text) as Remembered);
}

import type { Credential, KeyBook } from "./keys.ts";
import { isWellFormedKey } from "./key-format.ts";
import type { Secrets } from "./secrets.ts";

/** Turns what a caller presents into a credential. Undefined for anything that is not a live, known key. */
export interface Credentials {
  readonly find: (presented: string) => Credential | undefined | Promise<Credential | undefined>;
}

interface Parts {
  readonly keys: KeyBook;
  readonly secrets: Secrets;
  readonly clock: { readonly wallMs: () => number; readonly monotonicMs: () => number };
}

/** A revoked key must stop within 5 s everywhere; half of that leaves room for a slow clock tick. */
const rememberedMs = 2_000;
const rememberedMax = 20_000;

interface Remembered {
  readonly credential: Credential | undefined;
  readonly untilMs: number;
}

export function createCredentials(parts: Parts): Credentials {
  const remembered = new Map<string, Remembered>();

  const look = async (presented: string): Promise<Credential | undefined> => {
    const credential = await parts.keys.findCredential(
      parts.secrets.hashKey(presented),
      parts.clock.wallMs(),
    );
    if (remembered.size >= rememberedMax) remembered.clear();
    remembered.set(presented, { credential, untilMs: parts.clock.monotonicMs() + rememberedMs });
    return credential;
  };

  return {
    find: (presented) => {
      const known = remembered.get(presented);
      if (known !== undefined && known.untilMs > parts.clock.monotonicMs()) return known.credential;
      // A wrong checksum is refused without a look-up, so guessing costs the store nothing.
      return isWellFormedKey(presented) ? look(presented) : undefined;
    },
  };
}

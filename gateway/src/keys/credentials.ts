import type { GrantBook } from "../grants/grants.ts";
import type { Credential, KeyBook } from "./keys.ts";
import { isWellFormedKey, isWellFormedToken } from "./key-format.ts";
import type { Secrets } from "./secrets.ts";

/** Turns what a caller presents, a key or an access token, into a credential. Undefined for anything not live and known. */
export interface Credentials {
  readonly find: (presented: string) => Credential | undefined | Promise<Credential | undefined>;
}

interface Parts {
  readonly keys: KeyBook;
  readonly grants: Pick<GrantBook, "findCredential">;
  /** Whom access tokens must be meant for: the address of the agent door, which stands for the API too. */
  readonly audience: string;
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
      // Never remembered: whoever revokes a grant must see it stop at once, not within seconds.
      if (isWellFormedToken(presented)) {
        return parts.grants.findCredential(
          parts.secrets.hashKey(presented),
          parts.audience,
          parts.clock.wallMs(),
        );
      }
      const known = remembered.get(presented);
      if (known !== undefined && known.untilMs > parts.clock.monotonicMs()) return known.credential;
      // A wrong checksum is refused without a look-up, so guessing costs the store nothing.
      return isWellFormedKey(presented) ? look(presented) : undefined;
    },
  };
}

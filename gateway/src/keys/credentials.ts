import type { Limiter } from "../limits/limiter.ts";
import { guessesMax, keyGuesses } from "../limits/visitor-limits.ts";
import { addressBlock } from "../platform/caller-address.ts";
import type { Located } from "../platform/visitor.ts";
import type { Credential, KeyBook } from "./keys.ts";
import { isWellFormedKey, isWellFormedToken } from "./key-format.ts";
import type { Secrets } from "./secrets.ts";
import type { TokenBook } from "./token-book.ts";

/** Turns what a caller presents, a key or an access token, into a credential. Undefined for anything not live and known. */
export interface Credentials {
  /** Where somebody came from is asked only about who was not let in before. */
  readonly find: (presented: string, visitor: Located) => FoundCredential | Promise<FoundCredential>;
}

export type FoundCredential = Credential | TooManyGuesses | undefined;

/** So many unknown keys came from an address that no more of them are looked up for a while. */
export class TooManyGuesses {
  readonly limit = guessesMax;
  readonly retryInMs: number;

  constructor(retryInMs: number) {
    this.retryInMs = retryInMs;
  }
}

interface Parts {
  readonly keys: KeyBook;
  readonly tokens: TokenBook;
  /** Whom access tokens must be meant for: the address of the agent door, which stands for the API too. */
  readonly audience: string;
  readonly secrets: Secrets;
  readonly limiter: Pick<Limiter, "look" | "take">;
  readonly clock: { readonly wallMs: () => number; readonly monotonicMs: () => number };
}

/** A revoked key must stop within 5 s everywhere; half of that leaves room for a slow clock tick. */
const rememberedMs = 2_000;
const rememberedMax = 20_000;
/**
 * A wrong key is remembered as long as guesses are counted, so that a program that asks with it again and again has made one
 * guess at each node. No good key is refused for that: a secret is stored before anybody is told it, and one that has ended
 * never works again.
 */
const missedMs = 60_000;
/** Wrong keys have a place of their own, so that nobody can drive out the good ones with them. */
const missedMax = 20_000;

interface Remembered {
  readonly credential: Credential;
  readonly untilMs: number;
}

export function createCredentials(parts: Parts): Credentials {
  const { clock, secrets, limiter } = parts;
  const remembered = new Map<string, Remembered>();
  const missedUntilMs = new Map<string, number>();
  /** Tokens that were good once: guessers at the same address do not lock their owners out. */
  const goodTokens = new Set<string>();
  /** Guesses whose look-up has not ended, by the address they came from and what was presented. */
  const guesses = new Map<string, Promise<FoundCredential>>();

  const wasMissed = (presented: string): boolean => (missedUntilMs.get(presented) ?? 0) > clock.monotonicMs();

  const miss = (presented: string): undefined => {
    if (missedUntilMs.size >= missedMax) missedUntilMs.clear();
    missedUntilMs.set(presented, clock.monotonicMs() + missedMs);
  };

  const lookForKey = async (presented: string): Promise<Credential | undefined> => {
    const credential = await parts.keys.findCredential(secrets.hashKey(presented), clock.wallMs());
    if (!credential) {
      remembered.delete(presented);
      return miss(presented);
    }
    if (remembered.size >= rememberedMax) remembered.clear();
    remembered.set(presented, { credential, untilMs: clock.monotonicMs() + rememberedMs });
    return credential;
  };

  const lookForToken = async (presented: string): Promise<Credential | undefined> => {
    const hash = secrets.hashKey(presented);
    const credential = await parts.tokens.findCredential(hash, parts.audience, clock.wallMs());
    if (!credential) {
      goodTokens.delete(presented);
      return miss(presented);
    }
    if (goodTokens.size >= rememberedMax) goodTokens.clear();
    goodTokens.add(presented);
    return credential;
  };

  /**
   * Whoever was not let in before may be guessing. What many workers bring at once is one guess, and all of them hear that
   * it was wrong. When it was not, each looks again: what a token allows may have ended since the first of them looked.
   */
  const lookForStranger = async (
    presented: string,
    address: string | undefined,
    look: typeof lookForKey,
  ): Promise<FoundCredential> => {
    const name = `${addressBlock(address)} ${presented}`;
    const same = guesses.get(name);
    if (same) {
      const found = await same;
      return found === undefined || found instanceof TooManyGuesses ? found : look(presented);
    }
    const guessed = guess({ presented, address }, look).finally(() => guesses.delete(name));
    guesses.set(name, guessed);
    return guessed;
  };

  const guess = async (
    { presented, address }: { readonly presented: string; readonly address: string | undefined },
    look: typeof lookForKey,
  ): Promise<FoundCredential> => {
    const want = keyGuesses(address);
    const { remaining, resetsInMs } = await limiter.look(want);
    if (remaining <= 0) return new TooManyGuesses(resetsInMs);
    const credential = await look(presented);
    if (!credential) await limiter.take([want]);
    return credential;
  };

  return {
    find: (presented, visitor) => {
      if (isWellFormedToken(presented)) {
        if (wasMissed(presented)) return undefined;
        // What it allows is never remembered: whoever revokes a grant must see it stop at once, not within seconds.
        return goodTokens.has(presented)
          ? lookForToken(presented)
          : lookForStranger(presented, visitor.address(), lookForToken);
      }
      const known = remembered.get(presented);
      if (known !== undefined) {
        return known.untilMs > clock.monotonicMs() ? known.credential : lookForKey(presented);
      }
      // A wrong checksum is refused without a look-up, so guessing costs the store nothing.
      if (!isWellFormedKey(presented) || wasMissed(presented)) return undefined;
      return lookForStranger(presented, visitor.address(), lookForKey);
    },
  };
}

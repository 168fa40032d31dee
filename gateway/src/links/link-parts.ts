import type { KeyBook } from "../keys/keys.ts";
import type { AccountBook } from "../ledger/accounts.ts";
import type { Offer } from "../offer/offer.ts";
import { isSold } from "../operation/operation.ts";
import type { LinkSettings, Upstream } from "../operation/upstream.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { LinkBook } from "./links.ts";
import type { PlatformClient } from "./platform-client.ts";
import type { Vault } from "./vault.ts";

/** What linking is made of. */
export interface LinkParts {
  readonly book: LinkBook;
  readonly keys: KeyBook;
  readonly accounts: AccountBook;
  readonly vault: Vault;
  readonly client: PlatformClient;
  readonly offer: () => Offer;
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly log: Log;
}

export type LinkUpstream = Upstream & { readonly link: LinkSettings };

/** The platforms at which accounts can be linked now, in the order in which they serve. */
export function linkUpstreams({ operations }: Pick<Offer, "operations">): LinkUpstream[] {
  const found = new Map<string, LinkUpstream>();
  for (const { operation, upstreams } of operations.values()) {
    if (!isSold(operation) || !operation.link) continue;
    for (const { link, ...upstream } of upstreams) if (link) found.set(upstream.name, { ...upstream, link });
  }
  return [...found.values()];
}

export const findLinkUpstream = (offer: Pick<Offer, "operations">, name: string): LinkUpstream | undefined =>
  linkUpstreams(offer).find((upstream) => upstream.name === name);

/** What begins with a slash lies under our own address. */
export const absolute = (address: string, { baseUrl }: Pick<LinkParts, "baseUrl">): string =>
  address.startsWith("/") ? baseUrl + address : address;

/** Where the platform sends people back to, and the pages of ours around it. */
export function linkPaths({ names }: Pick<Offer, "names">) {
  const folder = `/apis/v1/${names.social_a}`;
  return {
    callback: `${folder}/oauth_callback`,
    confirm: `${folder}/link_confirm`,
    undo: `${folder}/link_undo`,
  } as const;
}

/** 256 bits that nobody can guess, in letters that need no escaping anywhere. */
export const newToken = (randomBytes: (count: number) => Uint8Array): string =>
  Buffer.from(randomBytes(32)).toString("base64url");

/** Whether somebody brings what looks like one of these. */
export const isToken = (word: string): boolean => /^[\w-]{43}$/.test(word);

/** Random words are stored as digests only: whoever reads the store cannot use them. */
export const digestOf = (word: string): Uint8Array => new Bun.CryptoHasher("sha256").update(word).digest();

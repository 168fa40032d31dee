import type { LinkSettings } from "../operation/upstream.ts";
import { describeError } from "../platform/log.ts";
import { revokeTokens } from "./end-link.ts";
import { findLinkUpstream, type LinkParts } from "./link-parts.ts";
import type { Link } from "./links.ts";
import { withoutOffline } from "./offline-scope.ts";
import type { GivenTokens } from "./platform-client.ts";
import { openTokens, sealTokens } from "./sealed-tokens.ts";

export type Renewed =
  | { readonly kind: "renewed"; readonly link: Link }
  /** The platform refuses it for good: only linking again helps. */
  | { readonly kind: "lapsed" }
  /** Revoked, or replaced by another. */
  | { readonly kind: "gone" }
  /** Nobody can tell; it may work again later. Unreachable is a platform that gave no answer at all. */
  | { readonly kind: "failed"; readonly unreachable?: true | undefined };

/** Who renews has this long; a process that died over it keeps nobody from trying later. */
const claimMs = 30_000;
const lookEveryMs = 50;
const patienceMs = 12_000;
/** Much sooner than a claim ends, so that nobody else claims the link first once the store takes writes again. */
const storeAgainMs = 2_000;

export interface Renewals {
  readonly renew: (seen: Link) => Promise<Renewed>;
  /** The link has ended: tokens that were never stored must not live on at the platform. */
  readonly giveUp: (link: Link) => Promise<void>;
}

/** What a platform gave for the tokens of this version and the store has not taken yet. */
interface Unstored {
  readonly version: number;
  readonly given: GivenTokens;
}

/**
 * Gets new tokens for links whose old ones have ended. A refresh token works once, so there is one renewal of a link
 * at a time: within this process everybody waits for the same one, and other processes see a claim in the store. New
 * tokens are stored before anybody uses them. Those that could not be stored are kept, because the old ones work no more,
 * and are tried again by the next call and by time itself: when the claim has run out, another process may ask with
 * the old ones, and be told that the link has ended. It has not, and lives again once they are stored.
 */
export function createRenewals(parts: LinkParts): Renewals {
  const running = new Map<string, Promise<Renewed>>();
  const unstored = new Map<string, Unstored>();

  /** Links for which a timer runs. */
  const waiting = new Set<string>();

  const renewOnce = (seen: Link): Promise<Renewed> => {
    const current = running.get(seen.id);
    if (current) return current;
    const renewal = renew(seen, unstored, parts).finally(() => {
      running.delete(seen.id);
      if (unstored.has(seen.id)) storeLater(seen);
    });
    running.set(seen.id, renewal);
    return renewal;
  };

  const storeLater = (seen: Link): void => {
    if (waiting.has(seen.id)) return;
    waiting.add(seen.id);
    const again = (): void => {
      waiting.delete(seen.id);
      storeAgain(seen).catch((error: unknown) =>
        parts.log.error("a link's new tokens still cannot be stored", {
          link_id: seen.id,
          ...describeError(error),
        }),
      );
    };
    setTimeout(again, storeAgainMs).unref();
  };

  const storeAgain = async (seen: Link): Promise<void> => {
    if (!unstored.has(seen.id)) return;
    const { kind } = await renewOnce(seen);
    if (kind === "renewed") unstored.delete(seen.id);
    if (kind === "gone") await giveUp(seen);
  };

  const giveUp = async (link: Link): Promise<void> => {
    const kept = unstored.get(link.id);
    unstored.delete(link.id);
    const platform = findLinkUpstream(parts.offer(), link.upstream)?.link;
    if (platform && kept) await revokeTokens(platform, kept.given, parts);
  };

  return { renew: renewOnce, giveUp };
}

async function renew(seen: Link, unstored: Map<string, Unstored>, parts: LinkParts): Promise<Renewed> {
  const { version } = seen.tokens;
  const kept = unstored.get(seen.id);
  const hasNewer = kept?.version === version;
  const known = await lookAgain(seen, parts);
  if (known && !(known.kind === "lapsed" && hasNewer)) return known;
  const platform = findLinkUpstream(parts.offer(), seen.upstream)?.link;
  if (!platform) return { kind: "failed" };
  const { refreshToken } = openTokens(seen, parts.vault);
  if (refreshToken === undefined) return lapse(seen, parts);
  const asked = hasNewer
    ? ({ kind: "granted", given: kept.given } as const)
    : await ask(seen, platform, refreshToken, parts);
  if (asked.kind !== "granted") return asked;

  const { given } = asked;
  // A platform that sends no new refresh token lets the old one live on.
  const whole = { ...given, refreshToken: given.refreshToken ?? refreshToken };
  const tokens = sealTokens({ ...seen, version: version + 1 }, whole, parts);
  const scopes = withoutOffline(given.scopes ?? seen.scopes, seen.scopes);
  unstored.set(seen.id, { version, given });
  const replaced = await parts.book.replaceTokens(seen.id, tokens, scopes);
  unstored.delete(seen.id);
  if (replaced) return { kind: "renewed", link: { ...seen, tokens, scopes } };
  // A platform may give one refresh token to two, so what another process stored meanwhile is not ended.
  const stored = await lookAgain(seen, parts);
  if (stored?.kind === "renewed") return stored;
  // Somebody revoked the link: what the platform just gave must not live on either.
  await revokeTokens(platform, whole, parts);
  return { kind: "gone" };
}

/** Asks the platform for new tokens, as the only one who does. */
async function ask(
  seen: Link,
  platform: LinkSettings,
  refreshToken: string,
  parts: LinkParts,
): Promise<Renewed | { readonly kind: "granted"; readonly given: GivenTokens }> {
  const { version } = seen.tokens;
  const nowMs = parts.clock.wallMs();
  const claim = { linkId: seen.id, version, nowMs, untilMs: nowMs + claimMs };
  if (!(await parts.book.claimRenewal(claim))) return waitForOther(seen, parts);
  const outcome = await parts.client.refresh(platform, refreshToken);
  if (outcome.kind === "granted") return outcome;
  if (outcome.kind === "refused") {
    parts.log.info("a platform ended a link", { link_id: seen.id, why: outcome.error });
    return lapse(seen, parts);
  }
  parts.log.warn("a link could not be renewed", { link_id: seen.id, why: outcome.why });
  await parts.book.endRenewal(seen.id, version);
  return { kind: "failed", unreachable: outcome.unreachable };
}

/** What has become of the link since it was seen; undefined when nothing has. */
async function lookAgain(seen: Link, { book }: LinkParts): Promise<Renewed | undefined> {
  const link = await book.find(seen.id);
  if (!link || link.revokedAtMs !== undefined) return { kind: "gone" };
  if (link.tokens.version !== seen.tokens.version) return { kind: "renewed", link };
  return link.lapsedAtMs === undefined ? undefined : { kind: "lapsed" };
}

/** Whoever asks with tokens that somebody else has just replaced is refused, too: the link lives, with the new ones. */
async function lapse(seen: Link, parts: LinkParts): Promise<Renewed> {
  await parts.book.lapse(seen.id, seen.tokens.version, parts.clock.wallMs());
  return (await lookAgain(seen, parts)) ?? { kind: "lapsed" };
}

/** Another process is at it. */
async function waitForOther(seen: Link, parts: LinkParts): Promise<Renewed> {
  const deadlineMs = parts.clock.monotonicMs() + patienceMs;
  while (parts.clock.monotonicMs() < deadlineMs) {
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    const known = await lookAgain(seen, parts);
    if (known) return known;
  }
  return { kind: "failed" };
}

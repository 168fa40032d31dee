import type { Offer } from "../offer/offer.ts";
import type { LinkSettings } from "../operation/upstream.ts";
import { describeError } from "../platform/log.ts";
import { digestOf, findLinkUpstream, type LinkParts } from "./link-parts.ts";
import type { Link } from "./links.ts";
import type { GivenTokens } from "./platform-client.ts";
import { openTokens } from "./sealed-tokens.ts";

type Parts = Pick<LinkParts, "book" | "vault" | "client" | "clock" | "log"> & {
  readonly offer: () => Pick<Offer, "operations">;
};

export interface EndedLink {
  readonly link: Link;
  readonly revokedAtMs: number;
  /** What the platform says to it: `not_offered` has no way to be told, `not_reached` did not confirm. */
  readonly platform: "revoked" | "not_offered" | "not_reached";
}

/** Ends a link here at once, whatever the platform answers. Undefined when there is no such live link. */
export async function endLink(linkId: string, parts: Parts): Promise<EndedLink | undefined> {
  const nowMs = parts.clock.wallMs();
  return ended(await parts.book.revoke(linkId, nowMs), nowMs, parts);
}

/** As the person who linked wants it, who has no key but was given a token that works once. */
export async function undoLink(undoToken: string, parts: Parts): Promise<EndedLink | undefined> {
  const nowMs = parts.clock.wallMs();
  return ended(await parts.book.undo(digestOf(undoToken), nowMs), nowMs, parts);
}

async function ended(link: Link | undefined, revokedAtMs: number, parts: Parts) {
  return link && { link, revokedAtMs, platform: await revokeAtPlatform(link, parts) };
}

/** Tells the platform that a link's tokens are to end. */
export async function revokeAtPlatform(link: Link, parts: Parts): Promise<EndedLink["platform"]> {
  const platform = findLinkUpstream(parts.offer(), link.upstream)?.link;
  if (platform && platform.revokeUrl === undefined) return "not_offered";
  if (!platform) return "not_reached";
  try {
    return (await revokeTokens(platform, openTokens(link, parts.vault), parts)) ? "revoked" : "not_reached";
  } catch (error) {
    parts.log.error("a link's tokens could not be read", { link_id: link.id, ...describeError(error) });
    return "not_reached";
  }
}

/** The refresh token, where there is one, and what came of it. Returns whether the platform says that both have ended. */
export async function revokeTokens(
  platform: LinkSettings,
  { accessToken, refreshToken }: Pick<GivenTokens, "accessToken" | "refreshToken">,
  { client }: Pick<LinkParts, "client">,
): Promise<boolean> {
  const tokens = refreshToken === undefined ? [accessToken] : [refreshToken, accessToken];
  for (const token of tokens) if (!(await client.revoke(platform, token))) return false;
  return true;
}

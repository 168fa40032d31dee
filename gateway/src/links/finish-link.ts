import { InDoubt } from "../ledger/store-errors.ts";
import { prefixedId } from "../platform/prefixed-id.ts";
import { attemptRow, redirectUri } from "./begin-link.ts";
import { isConfirmedIn, requesterOf, type Requester, type WhyNotOpen } from "./confirm-link.ts";
import { revokeAtPlatform } from "./end-link.ts";
import { absolute, digestOf, findLinkUpstream, newToken } from "./link-parts.ts";
import type { LinkParts, LinkUpstream } from "./link-parts.ts";
import type { Link, LinkAttempt, PlatformUser } from "./links.ts";
import { withoutOffline } from "./offline-scope.ts";
import type { GivenTokens } from "./platform-client.ts";
import { sealTokens } from "./sealed-tokens.ts";

/** What came of a link that a person was sent back from. */
export type LinkOutcome =
  | {
      readonly kind: "linked";
      readonly requester: Requester;
      readonly user: PlatformUser | undefined;
      readonly scopes: readonly string[];
      readonly undoToken: string;
    }
  | { readonly kind: "not_linked"; readonly why: WhyNotLinked };

export type WhyNotLinked = WhyNotOpen | "no_state" | "denied" | "suspicious" | "refused" | "failed";

/** The person who just linked may take it back this long, without any key. */
const undoMs = 60 * 60_000;

/**
 * The platform sent a person back. The state is used up first, whatever comes of it, so nothing that follows can be
 * tried twice.
 */
export async function finishLink(
  parameters: URLSearchParams,
  cookies: ReadonlyMap<string, string>,
  parts: LinkParts,
): Promise<LinkOutcome> {
  const [state, second] = parameters.getAll("state");
  if (state === undefined || state === "" || second !== undefined) return notLinked("no_state");
  const taken = await parts.book.takeAttempt(digestOf(state), parts.clock.wallMs());
  if (taken.kind !== "taken") return notLinked(taken.kind);
  const { attempt } = taken;
  if (attempt.confirm && !isConfirmedIn(attempt, state, cookies, parts)) return notLinked("other_browser");
  const requester = await requesterOf(attempt, parts);
  if (!requester) return notLinked("key_gone");
  const upstream = findLinkUpstream(parts.offer(), attempt.upstream);
  if (!upstream) return notLinked("platform_gone");

  const redeemed = await parts.client.redeem(upstream.link, {
    parameters,
    state,
    issuer: absolute(upstream.link.issuer, parts),
    redirectUri: redirectUri(parts),
    verifier: parts.vault(attemptRow(attempt)).open("verifier", attempt.verifier),
  });
  if (redeemed.kind !== "granted") {
    const why = "why" in redeemed ? redeemed.why : "error" in redeemed ? redeemed.error : "denied";
    parts.log.info("an account was not linked", { key_id: attempt.keyId, outcome: redeemed.kind, why });
    return notLinked(redeemed.kind);
  }
  const { link, undoToken } = await save(attempt, upstream, redeemed.given, parts);
  parts.log.info("an account was linked", { key_id: link.keyId, link_id: link.id });
  return { kind: "linked", requester, user: link.user, scopes: link.scopes, undoToken };
}

const notLinked = (why: WhyNotLinked): LinkOutcome => ({ kind: "not_linked", why });

async function save(attempt: LinkAttempt, upstream: LinkUpstream, given: GivenTokens, parts: LinkParts) {
  const { accountId, keyId } = attempt;
  const id = prefixedId("lnk_", parts.newId);
  const undoToken = newToken(parts.randomBytes);
  const nowMs = parts.clock.wallMs();
  const scopes = withoutOffline(given.scopes ?? attempt.scopes, attempt.scopes);
  const user = await parts.client.whoIs(upstream, { accessToken: given.accessToken, scopes });
  const link: Link = {
    id,
    accountId,
    keyId,
    upstream: upstream.name,
    user: user === "unreachable" ? undefined : user,
    scopes,
    tokens: sealTokens({ id, accountId, keyId, version: 1 }, given, parts),
    createdAtMs: nowMs,
    lapsedAtMs: undefined,
    revokedAtMs: undefined,
  };
  const undo = { undoHash: digestOf(undoToken), undoUntilMs: nowMs + undoMs };
  const replaced = await parts.book.save({ ...link, ...undo }).catch(async (error: unknown) => {
    // What the platform gave and nobody here has must not live on there. In doubt somebody may have it.
    if (!(error instanceof InDoubt)) await revokeAtPlatform(link, parts);
    throw error;
  });
  // For the same person, ending the old grant might end the new one with it; for another it must end.
  if (replaced?.user && link.user && replaced.user.id !== link.user.id)
    await revokeAtPlatform(replaced, parts);
  return { link, undoToken };
}

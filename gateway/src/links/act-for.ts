import { isOfStore } from "../ledger/store-errors.ts";
import type { ActingFor, Upstream } from "../operation/upstream.ts";
import { describeError } from "../platform/log.ts";
import { CallRefused } from "../platform/refusals.ts";
import type { LinkParts } from "./link-parts.ts";
import type { Link, PlatformUser } from "./links.ts";
import type { Renewed } from "./renew-link.ts";
import { openTokens } from "./sealed-tokens.ts";

/** In whose name a call is made, or why it cannot be. That refusal is not thrown here, because others come before it. */
export type Acting =
  | {
      readonly kind: "ready";
      readonly upstream: Upstream;
      readonly link: Link;
      readonly actingFor: ActingFor;
    }
  | { readonly kind: "refused"; readonly refusal: CallRefused };

export interface ActRequest {
  readonly keyId: string;
  /** The platforms that serve the operation. */
  readonly upstreams: readonly Upstream[];
  readonly scopes: readonly string[];
}

type Renew = (seen: Link) => Promise<Renewed>;

/** A token that would expire during the call counts as expired. */
const skewMs = 30_000;

/** Finds the account that is linked to the key, with a token that still works. Nothing is asked of a platform but that. */
export async function actFor(request: ActRequest, renew: Renew, parts: LinkParts): Promise<Acting> {
  const found = await findLink(request, parts);
  if (!found) return linkRequired();
  const { link, upstream } = found;
  if (link.lapsedAtMs !== undefined) return linkExpired();
  const missing = request.scopes.filter((scope) => !link.scopes.includes(scope));
  if (missing.length > 0) return insufficientScope(missing);
  if (!hasEnded(link, parts)) return ready(link, upstream, parts);
  return actAgain({ link, upstream }, renew, parts);
}

/** As `actFor`, after the platform did not accept the link's token: with new tokens, or not at all. */
export async function actAgain(
  { link, upstream }: { readonly link: Link; readonly upstream: Upstream },
  renew: Renew,
  parts: LinkParts,
): Promise<Acting> {
  const renewed = await reading(link, parts, () => renewing(link, renew, parts));
  if (!renewed) return linkExpired();
  switch (renewed.kind) {
    case "renewed":
      return ready(renewed.link, upstream, parts);
    case "gone":
      return linkRequired();
    case "lapsed":
      return linkExpired();
    case "failed":
      return renewed.unreachable ? platformUnreachable(upstream) : platformAway();
  }
}

/** A store that takes no writes, or does not say so, says nothing about the link: nobody is sent to link again for it. */
async function renewing(link: Link, renew: Renew, { log }: LinkParts): Promise<Renewed> {
  try {
    return await renew(link);
  } catch (error) {
    if (!isOfStore(error)) throw error;
    log.error("a link's renewal could not be written", { link_id: link.id, ...describeError(error) });
    return { kind: "failed" };
  }
}

async function findLink({ keyId, upstreams }: ActRequest, { book }: LinkParts) {
  for (const upstream of upstreams) {
    const link = await book.findLive(keyId, upstream.name);
    if (link) return { link, upstream };
  }
  return undefined;
}

const hasEnded = ({ tokens: { expiresAtMs } }: Link, { clock }: LinkParts): boolean =>
  expiresAtMs !== undefined && expiresAtMs - skewMs <= clock.wallMs();

async function ready(link: Link, upstream: Upstream, parts: LinkParts): Promise<Acting> {
  const tokens = await reading(link, parts, async () => openTokens(link, parts.vault));
  if (!tokens) return linkExpired();
  const user = link.user ?? (await learnUser(link, upstream, tokens.accessToken, parts));
  if (user === "unreachable") return platformUnreachable(upstream);
  if (!user) return platformAway();
  return {
    kind: "ready",
    upstream,
    link,
    actingFor: { userId: user.id, accessToken: tokens.accessToken },
  };
}

/** The platform could not say who it was when the account was linked; by now it may. */
async function learnUser(
  link: Link,
  upstream: Upstream,
  accessToken: string,
  { client, book, log }: LinkParts,
): Promise<PlatformUser | "unreachable" | undefined> {
  const user = await client.whoIs(upstream, { accessToken, scopes: link.scopes });
  // What cannot be written down now is asked for again with the next call; this one knows it.
  if (user && user !== "unreachable") {
    await book
      .setUser(link.id, user)
      .catch((error: unknown) => log.warn("a linked account's name could not be kept", describeError(error)));
  }
  return user;
}

/** A row that was moved or changed cannot be opened; for the caller it is as if the link had ended. */
async function reading<Result>(
  link: Link,
  { log }: LinkParts,
  read: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await read();
  } catch (error) {
    log.error("a link could not be used", { link_id: link.id, ...describeError(error) });
    return undefined;
  }
}

const refused = (...refusal: ConstructorParameters<typeof CallRefused>): Acting => ({
  kind: "refused",
  refusal: new CallRefused(...refusal),
});

const linkRequired = (): Acting =>
  refused("link_required", "No platform account is linked to this key; start with the link operation.");

const linkExpired = (): Acting =>
  refused("link_expired", "The linked platform account has to be linked again.");

const insufficientScope = (missing: readonly string[]): Acting =>
  refused(
    "insufficient_scope",
    `The linked account did not allow ${missing.join(", ")}; link it again with it.`,
    {
      inError: { missing_scopes: missing },
    },
  );

const platformAway = (): Acting =>
  refused(
    "provider_unavailable",
    "The platform cannot be asked for the linked account now; nothing was charged.",
    {
      retryable: true,
      retryAfterSeconds: 1,
    },
  );

/** As where an upstream gives no answer to the call itself; of the call nothing was sent, so it may be sent again. */
const platformUnreachable = ({ transport }: Upstream): Acting =>
  transport === "managed"
    ? platformAway()
    : refused("provider_request_failed", "provider request failed", {
        retryable: true,
        retryAfterSeconds: 1,
      });

import { isLive } from "../platform/life.ts";
import { isSameSecret } from "../keys/is-same-secret.ts";
import { attemptRow, authorizeUrl } from "./begin-link.ts";
import { digestOf, findLinkUpstream, isToken, newToken, type LinkParts } from "./link-parts.ts";
import type { EndedAttempt, FoundAttempt, LinkAttempt, LinkOwner } from "./links.ts";

/** Who asks for a link, in the words people gave to things. */
export interface Requester {
  readonly accountName: string;
  readonly keyName: string;
}

/** What a person is asked on our own page, if anything is left to ask. */
export type LinkQuestion =
  | {
      readonly kind: "asking";
      readonly requester: Requester;
      readonly scopes: readonly string[];
      /** For the browser to keep, and for the page to send back: neither is of use without the other. */
      readonly browserToken: string;
      readonly formToken: string;
      readonly cookie: string;
      readonly expiresAtMs: number;
    }
  | NotOpen;

/** What came of the person's word on our own page. */
export type Confirmed = { readonly kind: "confirmed"; readonly platformUrl: string } | NotOpen;

interface NotOpen {
  readonly kind: "not_open";
  readonly why: WhyNotOpen;
}

export type WhyNotOpen = EndedAttempt["kind"] | "other_browser" | "key_gone" | "platform_gone";

/**
 * Shows a person who asks to act for them, before the platform's own page asks whether that is allowed. The token
 * in the browser's cookie proves afterwards that the person who comes back is the one who saw this. A browser keeps the
 * one it has: a second look must not take from another tab what that one was given.
 */
export async function showConfirmation(
  state: string,
  cookies: ReadonlyMap<string, string>,
  parts: LinkParts,
): Promise<LinkQuestion> {
  const found = await findAttempt(state, parts);
  if (found.kind !== "open") return notOpen(found.kind);
  const { attempt } = found;
  const requester = await requesterOf(attempt, parts);
  if (!requester) return notOpen("key_gone");
  const cookie = cookieNameOf(state, parts);
  const known = cookies.get(cookie);
  const browserToken = known !== undefined && isToken(known) ? known : newToken(parts.randomBytes);
  return {
    kind: "asking",
    requester,
    scopes: attempt.scopes,
    browserToken,
    formToken: formTokenOf(state, browserToken),
    cookie,
    expiresAtMs: attempt.expiresAtMs,
  };
}

/** The person agreed on our page, and goes on to the platform's if this browser saw ours. */
export async function confirmLink(
  given: {
    readonly state: string;
    readonly formToken: string;
    readonly cookies: ReadonlyMap<string, string>;
  },
  parts: LinkParts,
): Promise<Confirmed> {
  const { state, formToken, cookies } = given;
  const found = await findAttempt(state, parts);
  if (found.kind !== "open") return notOpen(found.kind);
  const { attempt } = found;
  const browserToken = cookies.get(cookieNameOf(state, parts));
  if (browserToken === undefined) return notOpen("other_browser");
  if (!isSameSecret(digestOf(formToken), digestOf(formTokenOf(state, browserToken))))
    return notOpen("other_browser");
  const upstream = findLinkUpstream(parts.offer(), attempt.upstream);
  if (!upstream) return notOpen("platform_gone");
  await parts.book.bindBrowser(attempt.stateHash, digestOf(browserToken));
  const verifier = parts.vault(attemptRow(attempt)).open("verifier", attempt.verifier);
  const platformUrl = authorizeUrl(upstream, { state, verifier, scopes: attempt.scopes }, parts);
  return { kind: "confirmed", platformUrl };
}

/** Whether this browser is the one in which the person confirmed. */
export function isConfirmedIn(
  attempt: LinkAttempt,
  state: string,
  cookies: ReadonlyMap<string, string>,
  parts: LinkParts,
): boolean {
  const token = cookies.get(cookieNameOf(state, parts));
  return (
    token !== undefined &&
    attempt.browserHash !== undefined &&
    isSameSecret(digestOf(token), attempt.browserHash)
  );
}

/** Undefined unless both are there still: nobody links to a key that has ended. */
export async function requesterOf(
  { accountId, keyId }: LinkOwner,
  parts: LinkParts,
): Promise<Requester | undefined> {
  const [account, key] = [await parts.accounts.find(accountId), await parts.keys.find(keyId)];
  if (!account || account.suspended || !key || !isLive(key, parts.clock.wallMs())) return undefined;
  return { accountName: account.name, keyName: key.name };
}

/** A link that needs no confirmation is not shown here, even to somebody who knows its state. */
async function findAttempt(state: string, { book, clock }: LinkParts): Promise<FoundAttempt> {
  const found = await book.findAttempt(digestOf(state), clock.wallMs());
  return found.kind === "open" && !found.attempt.confirm ? { kind: "unknown" } : found;
}

const notOpen = (why: WhyNotOpen): NotOpen => ({ kind: "not_open", why });

/** Two links at once in one browser keep two cookies. `__Host-` ties one to this very host, where there is TLS. */
const cookieNameOf = (state: string, { baseUrl }: LinkParts): string =>
  `${baseUrl.startsWith("https:") ? "__Host-" : ""}tollgate-link-${Buffer.from(digestOf(state)).toString("hex").slice(0, 16)}`;

/** Another site can send a browser to our page, but it cannot read what stands on it. */
const formTokenOf = (state: string, browserToken: string): string =>
  Buffer.from(digestOf(`confirm ${state} ${browserToken}`)).toString("base64url");

import type { IdempotencyClaim } from "../ledger/ledger.ts";
import { refuseSuspended } from "../ledger/refuse-suspended.ts";
import { toldOfLimit } from "../limits/hit-limit.ts";
import type { LinkBegun } from "../operation/self-service.ts";
import { refuse } from "../platform/refusals.ts";
import { absolute, digestOf, linkPaths, linkUpstreams, newToken } from "./link-parts.ts";
import type { LinkParts, LinkUpstream } from "./link-parts.ts";
import { attemptsPerKeyMax, type LinkAttempt, type LinkOwner } from "./links.ts";
import { withOffline } from "./offline-scope.ts";
import { saltBytes, type Row } from "./vault.ts";

export interface LinkRequest {
  readonly scopes: readonly string[];
  /** Sends the person by our own page first; as the configuration says when not given. */
  readonly confirm?: boolean;
  readonly requestId: string;
  readonly idempotency: IdempotencyClaim | undefined;
}

const lifetimeMs = 10 * 60_000;

/** Begins a link: remembers who asked for what, and says where the person goes to agree. */
export async function beginLink(
  owner: LinkOwner,
  request: LinkRequest,
  parts: LinkParts,
): Promise<LinkBegun> {
  const offer = parts.offer();
  const [upstream] = linkUpstreams(offer);
  if (!upstream) {
    return refuse("provider_unavailable", "No platform is set up to link accounts at; ask the operator.", {
      retryable: false,
    });
  }
  const account = await parts.accounts.find(owner.accountId);
  if (account?.suspended === true) refuseSuspended();
  const state = newToken(parts.randomBytes);
  const verifier = newToken(parts.randomBytes);
  const nowMs = parts.clock.wallMs();
  const attempt = {
    ...owner,
    id: request.requestId,
    stateHash: digestOf(state),
    upstream: upstream.name,
    scopes: request.scopes,
    salt: parts.randomBytes(saltBytes),
    confirm: request.confirm ?? offer.links.confirm,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + lifetimeMs,
  };
  const begun = await parts.book.begin({
    ...attempt,
    verifier: parts.vault(attemptRow(attempt)).seal("verifier", verifier),
    idempotency: request.idempotency,
  });
  if (begun.kind === "idempotency_conflict") return begun;
  if (begun.kind === "too_many_open") refuseMore(begun.endsAtMs, nowMs);
  const authUrl = attempt.confirm
    ? `${parts.baseUrl}${linkPaths(offer).confirm}?state=${state}`
    : authorizeUrl(upstream, { state, verifier, scopes: request.scopes }, parts);
  return { kind: "begun", authUrl, state, expiresAtMs: attempt.expiresAtMs };
}

/** A link that was promised until its end is not taken from the person who may be on its page just now. */
function refuseMore(endsAtMs: number, nowMs: number): never {
  refuse(
    "quota_exceeded",
    "Too many links of this key wait for somebody to agree; use one, or wait.",
    toldOfLimit({ name: "open_links", limit: attemptsPerKeyMax, retryInMs: endsAtMs - nowMs }, nowMs),
  );
}

/** The platform's page on which the person agrees. */
export function authorizeUrl(
  { link }: LinkUpstream,
  asked: { readonly state: string; readonly verifier: string; readonly scopes: readonly string[] },
  parts: LinkParts,
): string {
  const address = absolute(link.authorizeUrl, parts);
  const query = new URLSearchParams({
    response_type: "code",
    client_id: link.clientId,
    redirect_uri: redirectUri(parts),
    scope: withOffline(asked.scopes, parts.offer().links.offlineAccess).join(" "),
    state: asked.state,
    code_challenge: Buffer.from(digestOf(asked.verifier)).toString("base64url"),
    code_challenge_method: "S256",
  });
  // Not every platform reads a plus as a space; a plus of ours would be %2B by now.
  return `${address}${address.includes("?") ? "&" : "?"}${query.toString().replaceAll("+", "%20")}`;
}

export const redirectUri = (parts: LinkParts): string =>
  `${parts.baseUrl}${linkPaths(parts.offer()).callback}`;

/** Where the secrets of an attempt belong. */
export const attemptRow = ({
  stateHash,
  accountId,
  keyId,
  salt,
}: Pick<LinkAttempt, "stateHash" | "accountId" | "keyId" | "salt">): Row => ({
  table: "link_attempt",
  id: Buffer.from(stateHash).toString("hex"),
  accountId,
  keyId,
  version: 1,
  salt,
});

import type { LinkReport } from "../operation/self-service.ts";
import { isoTime } from "../platform/clock.ts";
import type { Link } from "./links.ts";

/** A link as its owner sees it. */
export const linkReport = (link: Link, nowMs: number): LinkReport => ({
  link_id: link.id,
  key_id: link.keyId,
  user: link.user ?? null,
  scopes: link.scopes,
  status: statusOf(link, nowMs),
  created_at: isoTime(link.createdAtMs),
});

function statusOf({ revokedAtMs, lapsedAtMs, tokens }: Link, nowMs: number): LinkReport["status"] {
  if (revokedAtMs !== undefined) return "revoked";
  // With a refresh token the end of an access token is no end.
  const ended =
    tokens.refresh === undefined && tokens.expiresAtMs !== undefined && tokens.expiresAtMs <= nowMs;
  return lapsedAtMs !== undefined || ended ? "expired" : "active";
}

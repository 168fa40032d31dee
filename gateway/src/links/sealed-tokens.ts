import type { Clock } from "../platform/clock.ts";
import type { Link, SealedTokens } from "./links.ts";
import type { GivenTokens } from "./platform-client.ts";
import { saltBytes, type Row, type Vault } from "./vault.ts";

interface Sealing {
  readonly vault: Vault;
  readonly clock: Clock;
  readonly randomBytes: (count: number) => Uint8Array;
}

/** A link's tokens as the store keeps them: under a salt of their own each time, bound to link, owner and version. */
export function sealTokens(
  link: Pick<Row, "id" | "accountId" | "keyId" | "version">,
  { accessToken, refreshToken, expiresInSeconds }: GivenTokens,
  { vault, clock, randomBytes }: Sealing,
): SealedTokens {
  const salt = randomBytes(saltBytes);
  const row = vault({ table: "link", ...link, salt });
  return {
    version: link.version,
    salt,
    access: row.seal("access_token", accessToken),
    refresh: refreshToken === undefined ? undefined : row.seal("refresh_token", refreshToken),
    expiresAtMs: expiresInSeconds === undefined ? undefined : clock.wallMs() + expiresInSeconds * 1000,
  };
}

/** Throws when the row is not as it was sealed. */
export function openTokens(
  { id, accountId, keyId, tokens }: Pick<Link, "id" | "accountId" | "keyId" | "tokens">,
  vault: Vault,
): { readonly accessToken: string; readonly refreshToken: string | undefined } {
  const { version, salt } = tokens;
  const row = vault({ table: "link", id, accountId, keyId, version, salt });
  return {
    accessToken: row.open("access_token", tokens.access),
    refreshToken: tokens.refresh && row.open("refresh_token", tokens.refresh),
  };
}

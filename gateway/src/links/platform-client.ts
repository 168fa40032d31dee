import type { LinkSettings, Upstream } from "../operation/upstream.ts";
import type { PlatformUser } from "./links.ts";

/** What a platform gave for a code or a refresh token. */
export interface GivenTokens {
  readonly accessToken: string;
  /** Undefined when the platform gives none, or lets the old one live on. */
  readonly refreshToken: string | undefined;
  readonly expiresInSeconds: number | undefined;
  /** Undefined when it granted exactly what was asked for. */
  readonly scopes: readonly string[] | undefined;
}

/** `refused` is the platform's own no; `failed` leaves open what the platform did, or would have done. */
export type GrantOutcome =
  | { readonly kind: "granted"; readonly given: GivenTokens }
  | { readonly kind: "refused"; readonly error: string }
  | { readonly kind: "failed"; readonly why: string; readonly unreachable?: true | undefined };

/** How a person came back from the platform. */
export type Redeemed =
  | GrantOutcome
  | { readonly kind: "denied" }
  /** The answer is not one the platform would give: parameters twice, a wrong issuer, a state that does not fit. */
  | { readonly kind: "suspicious"; readonly why: string };

export interface Redemption {
  readonly parameters: URLSearchParams;
  readonly state: string;
  readonly issuer: string;
  readonly redirectUri: string;
  readonly verifier: string;
}

/** Speaks OAuth 2.0 to a platform. Never throws for what a platform does. */
export interface PlatformClient {
  readonly redeem: (platform: LinkSettings, redemption: Redemption) => Promise<Redeemed>;
  readonly refresh: (platform: LinkSettings, refreshToken: string) => Promise<GrantOutcome>;
  /** Whether the platform says that the token has ended. */
  readonly revoke: (platform: LinkSettings, token: string) => Promise<boolean>;
  /** Whose token it is; undefined when its scopes do not let anybody ask, or the platform does not tell. */
  readonly whoIs: (
    upstream: Upstream,
    token: { readonly accessToken: string; readonly scopes: readonly string[] },
  ) => Promise<PlatformUser | "unreachable" | undefined>;
}

import type { Credential } from "./keys.ts";

/** The access tokens that clients were given at sign-in. */
export interface TokenBook {
  /** The credential of an access token for `audience`, by the token's hash; never remembered, so revocation holds at once. */
  readonly findCredential: (
    tokenHash: Uint8Array,
    audience: string,
    nowMs: number,
  ) => Promise<Credential | undefined>;
}

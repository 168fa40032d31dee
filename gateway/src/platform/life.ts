/** Something that may end by itself, and that somebody can end before. */
export interface Mortal {
  readonly revokedAtMs: number | undefined;
  readonly expiresAtMs: number | undefined;
}

export type Life = "active" | "expired" | "revoked";

export function lifeOf({ revokedAtMs, expiresAtMs }: Mortal, nowMs: number): Life {
  if (revokedAtMs !== undefined) return "revoked";
  return expiresAtMs !== undefined && expiresAtMs <= nowMs ? "expired" : "active";
}

export const isLive = (mortal: Mortal, nowMs: number): boolean => lifeOf(mortal, nowMs) === "active";

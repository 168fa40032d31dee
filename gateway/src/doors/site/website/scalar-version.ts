// Written by scripts/fetch-scalar.mjs; not edited by hand.

/** Which program of Scalar's lies in site/scalar, what its package was, and the digest of it uncompressed. */
export const scalarVersion = {
  version: "1.72.1",
  package: "sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow==",
  sha256: "1a5cce004d71df433aa212327902dd765928104149b5af13e769495c0270129d",
} as const;

/**
 * A caller's label for its end user, in a form that every vendor takes. OpenAI refuses more than 64 characters,
 * Anthropic what looks like an address or a telephone number; both recommend a hash, by which they still tell users apart.
 */
export function opaqueEndUser(endUser: string | undefined): string | undefined {
  if (endUser === undefined || endUser === "") return undefined;
  return opaque.test(endUser) ? endUser : new Bun.CryptoHasher("sha256").update(endUser).digest("hex");
}

/** With a letter in it, because digits alone may be a telephone number. */
const opaque = /^(?=.*[A-Za-z])[\w-]{1,64}$/;

/**
 * What among named values gives access, judged by the name or by the look of it. An answer that repeats such a value is
 * withheld, though it was paid for; a title or an address may stand in any answer, and must not do that.
 */
export const lookLikeSecrets = (named: readonly (readonly [name: string, value: string])[]): string[] =>
  named.flatMap(([name, value]) => {
    const bare = withoutScheme.exec(value)?.[1] ?? value;
    return namesSecret.test(name) || looksRandom.some((look) => look.test(bare))
      ? [...new Set([bare, encodeURIComponent(bare)])]
      : [];
  });

/** `Bearer …`, `Basic …`: a vendor may repeat what follows alone. */
const withoutScheme = /^[A-Za-z][\w-]* +(\S+)$/;

/** As a word of its own: `x-portkey-provider` names no key. */
const namesSecret =
  /(?:^|[-_])(?:auth|authorization|key|apikey|token|jwt|secret|cookie|session|password|credentials?|signature)(?:$|[-_])/i;

/** Long and in one word: of digits, small letters and capitals, or as random bytes are written. A model's name is none of these. */
const looksRandom = [
  /^(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[\w+/=.~-]{20,}$/,
  /^[0-9a-f]{24,}$/i,
  /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i,
  /^(?=.*[2-7])[A-Z2-7]{24,}=*$/,
];

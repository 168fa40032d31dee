/**
 * What among named values gives access, judged by the name or by the look of it. An answer that repeats such a value is
 * withheld, though it was paid for; a title or an address may stand in any answer, and must not do that.
 */
export const lookLikeSecrets = (named: readonly (readonly [name: string, value: string])[]): string[] =>
  named.flatMap(([name, value]) => {
    const bare = withoutScheme.exec(value)?.[1] ?? value;
    return namesSecret.test(name) || looksRandom.test(bare)
      ? [...new Set([bare, encodeURIComponent(bare)])]
      : [];
  });

/** `Bearer …`, `Basic …`: a vendor may repeat what follows alone. */
const withoutScheme = /^[A-Za-z][\w-]* +(\S+)$/;

/** As a word of its own: `x-portkey-provider` names no key. */
const namesSecret =
  /(?:^|[-_])(?:auth|authorization|key|apikey|token|jwt|secret|cookie|session|password|credentials?|signature)(?:$|[-_])/i;

/** Long, in one word, with digits, small letters and capitals. */
const looksRandom = /^(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[\w+/=.~-]{20,}$/;

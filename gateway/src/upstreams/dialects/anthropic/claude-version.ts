/**
 * Whether a model is Claude in this version or a later one. `claude-opus-4-7` and `claude-sonnet-5` say their version;
 * the long number of `claude-opus-4-20250514` is a date, and other vendors' models have no version here.
 */
export function isClaudeSince(
  model: string,
  since: { readonly major: number; readonly minor: number },
): boolean {
  const version = /claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2}))?(?!\d)/.exec(model);
  const major = Number(version?.[1] ?? 0);
  return major > since.major || (major === since.major && Number(version?.[2] ?? 0) >= since.minor);
}

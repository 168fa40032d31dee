/** Whether the model's name says that it is Gemini 1 or 2; other vendors' models have no such version. */
export const isBeforeGemini3 = (model: string): boolean => /gemini-[12](?![0-9])/.test(model);

/** Whether it says Gemini 3 or later. */
export const isGemini3OrLater = (model: string): boolean => isGeminiSince(model, { major: 3, minor: 0 });

/** Whether it says this version or a later one. */
export function isGeminiSince(
  model: string,
  since: { readonly major: number; readonly minor: number },
): boolean {
  const version = /gemini-(\d{1,2})(?:\.(\d{1,2}))?(?!\d)/.exec(model);
  const major = Number(version?.[1] ?? 0);
  return major > since.major || (major === since.major && Number(version?.[2] ?? 0) >= since.minor);
}

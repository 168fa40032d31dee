/** Whether the model's name says that it is Gemini 1 or 2; other vendors' models have no such version. */
export const isBeforeGemini3 = (model: string): boolean => /gemini-[12](?![0-9])/.test(model);

/** Whether it says Gemini 3 or later. */
export const isGemini3OrLater = (model: string): boolean => /gemini-(?:[3-9]|\d\d)/.test(model);

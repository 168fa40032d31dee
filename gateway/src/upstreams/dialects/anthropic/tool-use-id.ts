/** Anthropic's ids are made of letters, digits, `_` and `-`; other vendors' need not be. One id always becomes the same. */
export const toolUseId = (id: string): string =>
  isToolUseId(id) ? id : `toolu_${new Bun.CryptoHasher("sha256").update(id).digest("hex").slice(0, 32)}`;

export const isToolUseId = (id: string): boolean => /^[a-zA-Z0-9_-]+$/.test(id);

/** How many tokens a text of so many bytes is, where nobody has counted them: four bytes a token is the usual rule of thumb. */
export const guessTokens = (bytes: number): number => Math.ceil(bytes / 4);

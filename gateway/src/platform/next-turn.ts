/** Lets all others have their turn first: long work is done in parts, or they would wait for the end of it. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

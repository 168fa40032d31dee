/** From 0 to 1, 1 excluded. For choices that may go either way, never for secrets. */
export const systemChance = (): number => Math.random();

/** For secrets: nobody can guess them. */
export const systemBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count));

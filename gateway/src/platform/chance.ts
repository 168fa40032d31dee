/** From 0 to 1, 1 excluded. For choices that may go either way, never for secrets. */
export const systemChance = (): number => Math.random();

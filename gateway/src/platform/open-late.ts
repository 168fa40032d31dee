/** Something heavy that is opened for whoever needs it first, because to many servers nobody comes for it. */
export interface OpenedLate<Thing> {
  /** What could not be opened for one is tried anew for the next: a file that could not be read may be there again. */
  readonly get: () => Promise<Thing>;
  /** False when it could not be opened, and still cannot be. What nobody has needed yet is well. */
  readonly isWell: () => Promise<boolean>;
}

export function openLate<Thing>(open: () => Promise<Thing>): OpenedLate<Thing> {
  let opened: Promise<Thing> | undefined;
  let hasFailed = false;

  const tryOpening = async (): Promise<Thing> => {
    try {
      const thing = await open();
      hasFailed = false;
      return thing;
    } catch (error) {
      hasFailed = true;
      opened = undefined;
      throw error;
    }
  };
  const get = (): Promise<Thing> => (opened ??= tryOpening());

  return {
    get,
    isWell: async () => {
      if (!hasFailed) return true;
      try {
        await get();
        return true;
      } catch {
        return false;
      }
    },
  };
}

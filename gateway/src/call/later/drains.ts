/** Streams that are read on, for an exact bill, after their callers left and their slots were given back. */
export interface Drains {
  /**
   * Allows a stream to be read on without its slot; call what it returns when the stream has ended. Undefined when the key,
   * or all keys together, have too many of them: such a stream is read on too, but keeps its slot.
   */
  readonly begin: (keyId: string) => (() => void) | undefined;
}

export function createDrains({ drainsMax = 256, drainsOfKeyMax = 16 } = {}): Drains {
  const ofKeys = new Map<string, number>();
  let all = 0;
  return {
    begin: (keyId) => {
      const ofKey = ofKeys.get(keyId) ?? 0;
      if (all >= drainsMax || ofKey >= drainsOfKeyMax) return undefined;
      all++;
      ofKeys.set(keyId, ofKey + 1);
      return () => {
        all--;
        const left = (ofKeys.get(keyId) ?? 1) - 1;
        if (left > 0) ofKeys.set(keyId, left);
        else ofKeys.delete(keyId);
      };
    },
  };
}

/**
 * Which result answers which call. Gemini lets both go without an id and matches them by name and order;
 * the other dialects match by id alone, so a call without one is given one, the same at every reading.
 */
export interface CallBook {
  readonly called: (call: { readonly id: string | undefined; readonly name: string }) => string;
  /** The id of the call that is answered, or undefined when there is none to answer. */
  readonly answered: (result: {
    readonly id: string | undefined;
    readonly name: string | undefined;
  }) => string | undefined;
}

export function createCallBook(): CallBook {
  const open: { readonly id: string; readonly name: string; readonly isMadeUp: boolean }[] = [];
  const ids = new Set<string>();
  let made = 0;

  const makeId = (): string => {
    while (ids.has(`call_${made}`)) made++;
    return `call_${made}`;
  };

  return {
    called: (call) => {
      const id = call.id ?? makeId();
      ids.add(id);
      open.push({ id, name: call.name, isMadeUp: call.id === undefined });
      return id;
    },
    answered: ({ id, name }) => {
      const at = open.findIndex((call) => {
        if (id === undefined) return call.name === name;
        return call.id === id || (!ids.has(id) && call.isMadeUp && call.name === name);
      });
      const [call] = at === -1 ? [] : open.splice(at, 1);
      return call?.id ?? id;
    },
  };
}

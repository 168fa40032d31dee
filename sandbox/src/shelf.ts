// What a vendor remembers of one kind: each thing until its time, and never more than there is room for.

import type { ShelfFile } from "./shelf-file.ts";

export interface Shelf<Thing> {
  /** A thing put again keeps its place. */
  readonly put: (id: string, thing: Thing, times: { untilMs: number; nowMs: number }) => void;
  /** Undefined when there never was one, or none any more. */
  readonly find: (id: string, nowMs: number) => Thing | undefined;
  readonly remove: (id: string) => void;
  /** In order of creation, perhaps with some whose time is over. */
  readonly all: () => readonly (readonly [id: string, thing: Thing])[];
}

interface ShelfOptions {
  readonly name: string;
  readonly thingsMax: number;
  /** Where a program that starts anew finds the things again; without it they end with the program. */
  readonly file: ShelfFile | undefined;
}

/** Things must be what JSON can say. */
export function createShelf<Thing>({ name, thingsMax, file }: ShelfOptions): Shelf<Thing> {
  // In order of creation, so that the first is always the next to be forgotten.
  const kept = new Map<string, { readonly thing: Thing; readonly untilMs: number }>();
  for (const { id, thing, untilMs } of file?.load(name) ?? []) {
    // Only a shelf of this name wrote it, and a file of another layout is not read.
    kept.set(id, { thing: thing as Thing, untilMs });
  }

  const remove = (id: string): void => {
    file?.remove(name, id);
    kept.delete(id);
  };

  return {
    put(id, thing, { untilMs, nowMs }) {
      file?.put(name, { id, thing, untilMs });
      kept.set(id, { thing, untilMs });
      for (const [oldest, { untilMs: endsMs }] of kept) {
        if (kept.size <= thingsMax && nowMs < endsMs) return;
        remove(oldest);
      }
    },

    find(id, nowMs) {
      const found = kept.get(id);
      return found === undefined || nowMs >= found.untilMs ? undefined : found.thing;
    },

    remove,
    all: () => [...kept].map(([id, { thing }]) => [id, thing]),
  };
}

// What the authorization server remembers.

import type { Adapter, AdapterPayload } from "oidc-provider";
import type { ShelfFile } from "../../shelf-file.ts";
import { createShelf, type Shelf } from "../../shelf.ts";

export interface TokenStore {
  /** The library asks for one drawer by the name of each kind of thing it keeps. */
  readonly drawer: (kind: string) => Adapter;
  /** Forgets everything of a kind; says how much that was. */
  readonly forget: (kind: "AccessToken" | "RefreshToken") => number;
}

// So many of each kind, so that visitors who only open the sign-in page never push out a token.
const keptMax = 10_000;

export function createTokenStore(file: ShelfFile | undefined): TokenStore {
  const shelves = new Map<string, Shelf<AdapterPayload>>();

  const shelfOf = (kind: string): Shelf<AdapterPayload> => {
    const shelf = shelves.get(kind) ?? createShelf({ name: `x ${kind}`, thingsMax: keptMax, file });
    shelves.set(kind, shelf);
    return shelf;
  };

  return {
    drawer: (kind) => createDrawer(shelfOf(kind)),

    forget(kind) {
      const shelf = shelfOf(kind);
      const all = shelf.all();
      for (const [id] of all) shelf.remove(id);
      return all.length;
    },
  };
}

function createDrawer(shelf: Shelf<AdapterPayload>): Adapter {
  const put = (id: string, payload: AdapterPayload): void =>
    shelf.put(id, payload, { untilMs: (payload.exp ?? Infinity) * 1000, nowMs: Date.now() });

  return {
    async upsert(id, payload) {
      put(id, payload);
    },
    // A copy: the library writes into what it is given.
    find: async (id) => copyOf(shelf.find(id, Date.now())),
    findByUid: async (uid) => copyOf(shelf.all().find(([, payload]) => payload.uid === uid)?.[1]),
    // Only asked for by the device flow, which this platform does not offer.
    findByUserCode: async () => undefined,
    async consume(id) {
      const payload = shelf.find(id, Date.now());
      if (payload !== undefined) put(id, { ...payload, consumed: Math.floor(Date.now() / 1000) });
    },
    async destroy(id) {
      shelf.remove(id);
    },
    async revokeByGrantId(grantId) {
      for (const [id, payload] of shelf.all()) if (payload.grantId === grantId) shelf.remove(id);
    },
  };
}

const copyOf = (payload: AdapterPayload | undefined): AdapterPayload | undefined =>
  payload === undefined ? undefined : structuredClone(payload);

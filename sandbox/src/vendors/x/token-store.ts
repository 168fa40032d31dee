// What the authorization server remembers, for as long as the program runs.
import type { Adapter, AdapterPayload } from "oidc-provider";

export interface TokenStore {
  /** The library asks for one drawer by the name of each kind of thing it keeps. */
  drawer(kind: string): Adapter;
  /** Forgets everything of a kind; says how much that was. */
  forget(kind: "AccessToken" | "RefreshToken"): number;
}

// Of each kind, so that visitors who only open the sign-in page never push out a token.
const keptMax = 10_000;

export const createTokenStore = (): TokenStore => {
  const kinds = new Map<string, Map<string, AdapterPayload>>();

  const keptOf = (kind: string): Map<string, AdapterPayload> => {
    const kept = kinds.get(kind) ?? new Map<string, AdapterPayload>();
    kinds.set(kind, kept);
    return kept;
  };

  return {
    drawer: (kind) => createDrawer(keptOf(kind)),

    forget(kind) {
      const kept = keptOf(kind);
      const count = kept.size;
      kept.clear();
      return count;
    },
  };
};

const createDrawer = (kept: Map<string, AdapterPayload>): Adapter => ({
  async upsert(id, payload) {
    kept.delete(id);
    kept.set(id, payload);
    const [oldest] = kept.keys();
    if (kept.size > keptMax && oldest !== undefined) kept.delete(oldest);
  },
  // A copy: the library writes into what it is given.
  find: async (id) => copyOf(kept.get(id)),
  findByUid: async (uid) => copyOf([...kept.values()].find((payload) => payload.uid === uid)),
  // Only asked for by the device flow, which this platform does not offer.
  findByUserCode: async () => undefined,
  async consume(id) {
    const payload = kept.get(id);
    if (payload !== undefined) kept.set(id, { ...payload, consumed: Math.floor(Date.now() / 1000) });
  },
  async destroy(id) {
    kept.delete(id);
  },
  async revokeByGrantId(grantId) {
    for (const [id, payload] of kept) if (payload.grantId === grantId) kept.delete(id);
  },
});

const copyOf = (payload: AdapterPayload | undefined): AdapterPayload | undefined =>
  payload === undefined ? undefined : structuredClone(payload);

import type { Adapter, AdapterPayload } from "oidc-provider";
import { lifeOfGrant, type GrantBook } from "../../grants/grants.ts";
import type { FoundRecord, SignInRecords } from "../../grants/sign-in-records.ts";
import type { Sealing } from "../../keys/sealing.ts";
import type { Secrets } from "../../keys/secrets.ts";
import { dayMs } from "../../platform/utc-day.ts";

interface Parts {
  readonly records: SignInRecords;
  readonly grants: GrantBook;
  readonly secrets: Secrets;
  readonly sealing: Sealing;
  readonly nowMs: () => number;
  /** Whether clients that registered themselves may come. Their records are kept while they may not. */
  readonly knowsRegistered: boolean;
  /** The error that tells a client that its code was used, or that its grant ended meanwhile. */
  readonly ended: () => Error;
}

/** Clients of one agent refresh side by side; whoever comes second within this time is not a thief. */
const refreshGraceMs = 30_000;
/** A client registers once, and its person may come back to it weeks later; how many wait so is bounded by their number. */
const unusedClientMs = 30 * dayMs;
/** A client that was let in is kept well past the longest grant. */
export const usedClientMs = 400 * dayMs;

/**
 * How the authorization server remembers. Ids are bearer secrets for most models, so they are stored as keyed
 * hashes, and what belongs to them is sealed: a copy of the database opens nothing.
 */
export const createRecordAdapters =
  (parts: Parts) =>
  (kind: string): Adapter => {
    const { records, grants, secrets, sealing, nowMs } = parts;

    const read = (found: FoundRecord | undefined, idHash: Uint8Array, id: string) => {
      const text = found && sealing.open(found.sealed, placeOf(kind, idHash));
      if (found === undefined || text === undefined) return undefined;
      const payload = JSON.parse(text) as AdapterPayload;
      if (kind !== "Client") payload.jti = id;
      const { consumedAtMs } = found;
      const graceMs = kind === "RefreshToken" ? refreshGraceMs : 0;
      if (kind !== "Client" && consumedAtMs !== undefined && consumedAtMs + graceMs <= nowMs()) {
        payload.consumed = Math.floor(consumedAtMs / 1000);
      }
      return payload;
    };

    const lives = async (grantId: string): Promise<boolean> => {
      const grant = await grants.find(grantId);
      return grant !== undefined && lifeOfGrant(grant, nowMs()) === "active";
    };

    return {
      upsert: async (id, payload, expiresInSeconds) => {
        // The id is the secret itself; it comes back from whoever presents it.
        const { jti: _, ...kept } = payload;
        const idHash = secrets.hashKey(id);
        const { scope, aud, grantId } = payload;
        const written = await records.put(
          {
            kind,
            idHash,
            grantId: kind === "Grant" ? id : issuedUnderGrant.has(kind) ? grantId : undefined,
            scope: kind === "AccessToken" ? scope : undefined,
            audience: kind === "AccessToken" && typeof aud === "string" ? aud : undefined,
            sealed: sealing.seal(JSON.stringify(kept), placeOf(kind, idHash)),
            expiresAtMs: nowMs() + (expiresInSeconds ? expiresInSeconds * 1000 : unusedClientMs),
          },
          nowMs(),
        );
        if (!written) throw parts.ended();
      },
      find: async (id) => {
        // Only clients that registered are among the records, so the operator's and those with a document are not meant.
        if (kind === "Client" && !parts.knowsRegistered) return undefined;
        const idHash = secrets.hashKey(id);
        if (kind === "Grant" && !(await lives(id))) return undefined;
        return read(await records.find(kind, idHash, nowMs()), idHash, id);
      },
      // Sessions are never resumed and there is no device flow, so nothing is looked up by these.
      findByUid: async () => undefined,
      findByUserCode: async () => undefined,
      consume: async (id) => {
        const first = await records.consume(kind, secrets.hashKey(id), nowMs());
        // The server looks, then consumes; of two that looked at the same moment only one may go on.
        if (!first && kind === "AuthorizationCode") throw parts.ended();
      },
      destroy: async (id) => {
        if (kind === "Grant") await grants.revoke(id, nowMs());
        else await records.remove(kind, secrets.hashKey(id));
      },
      revokeByGrantId: async (grantId) => {
        await grants.revoke(grantId, nowMs());
      },
    };
  };

const issuedUnderGrant: ReadonlySet<string> = new Set(["AccessToken", "RefreshToken", "AuthorizationCode"]);

const placeOf = (kind: string, idHash: Uint8Array): string =>
  `sign_in_record ${kind} ${Buffer.from(idHash).toString("hex")}`;

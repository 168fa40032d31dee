import type { SignInRecords } from "../../../grants/sign-in-records.ts";
import { createSealing } from "../../../keys/sealing.ts";
import type { Secrets } from "../../../keys/secrets.ts";
import { dayMs } from "../../../platform/utc-day.ts";
import type { Introduction } from "./introduction.ts";

/**
 * Who opened which session, in the store: a session is known to every process, and outlives the one it was opened in.
 * Nobody but the one who opened it finds it.
 */
export interface SessionRecords {
  /** False when the grant that it would end with has ended. */
  readonly keep: (session: KeptSession) => Promise<boolean>;
  readonly find: (session: NamedSession) => Promise<Introduction | undefined>;
  /** From now on it ends with another grant of the same client. False when it has ended, or that grant has. */
  readonly moveTo: (session: Omit<KeptSession, "introduction">) => Promise<boolean>;
  /** Lets it live on from now, because it is used. False when it has ended. */
  readonly extend: (id: string) => Promise<boolean>;
  readonly forget: (id: string) => Promise<void>;
}

interface NamedSession {
  readonly id: string;
  readonly principal: string;
}

interface KeptSession extends NamedSession {
  /** Set for whoever came with an access token; the session ends with the grant. */
  readonly grantId: string | undefined;
  readonly introduction: Introduction;
}

interface Parts {
  readonly records: SignInRecords;
  readonly secrets: Secrets;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly wallMs: () => number;
}

/**
 * A session that nobody used for so long has ended. Many clients never open another one when theirs is gone, and are left
 * open over a weekend.
 */
export const sessionLifeMs = 7 * dayMs;
/**
 * How often its use is written down: a process that has to find it may miss the last uses by this much, and one that knows it
 * hears so much later that it was ended at another.
 */
export const extendEveryMs = 60_000;

const kind = "AgentSession";

export function createSessionRecords({ records, secrets, randomBytes, wallMs }: Parts): SessionRecords {
  const sealing = createSealing(secrets.keyFor("agent sessions"), randomBytes);
  const placeOf = (idHash: Uint8Array, principal: string): string =>
    `${kind} ${Buffer.from(idHash).toString("hex")} ${principal}`;
  const livesUntilMs = (): number => wallMs() + sessionLifeMs;

  const keep: SessionRecords["keep"] = async ({ id, principal, grantId, introduction }) => {
    const idHash = secrets.hashKey(id);
    const sealed = sealing.seal(JSON.stringify(introduction), placeOf(idHash, principal));
    const unused = { scope: undefined, audience: undefined };
    return records.put({ kind, idHash, grantId, ...unused, sealed, expiresAtMs: livesUntilMs() }, wallMs());
  };

  const find: SessionRecords["find"] = async ({ id, principal }) => {
    const idHash = secrets.hashKey(id);
    const found = await records.find(kind, idHash, wallMs());
    const text = found && sealing.open(found.sealed, placeOf(idHash, principal));
    // Nobody but us can seal one, so what opens is what we wrote.
    return text === undefined ? undefined : (JSON.parse(text) as Introduction);
  };

  return {
    keep,
    find,
    moveTo: async (session) => {
      const introduction = await find(session);
      return introduction !== undefined && keep({ ...session, introduction });
    },
    extend: (id) => records.extend(kind, secrets.hashKey(id), livesUntilMs()),
    forget: (id) => records.remove(kind, secrets.hashKey(id)),
  };
}

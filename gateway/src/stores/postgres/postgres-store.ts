import type { Store } from "../../store/store.ts";
import type { Recovery } from "../../ledger/ledger.ts";
import { systemClock } from "../../platform/clock.ts";
import { TransitMap } from "../../platform/transit-map.ts";
import type { OpeningEvents } from "../data-place.ts";
import { checkBounds } from "./server/check-bounds.ts";
import { checkStatements } from "./server/check-statements.ts";
import { openDatabase } from "./server/database.ts";
import { claimSecret, findSecret } from "./installation-rows.ts";
import { checkVersion, migrate } from "./schema/migrate.ts";
import { createPostgresAccounts } from "./postgres-accounts.ts";
import { createPostgresApprovals } from "./postgres-approvals.ts";
import { createPostgresAuditor } from "./postgres-audit.ts";
import { createPostgresCalls } from "./postgres-calls.ts";
import { createPostgresGrants } from "./postgres-grants.ts";
import { createPostgresKeptAnswers } from "./postgres-kept-answers.ts";
import { createPostgresKeys } from "./postgres-keys.ts";
import { createPostgresLedger } from "./postgres-ledger.ts";
import { createPostgresLinks } from "./postgres-links.ts";
import { createPostgresPublications } from "./postgres-publications.ts";
import { createPostgresQuotas } from "./postgres-quotas.ts";
import { createPostgresSignIns } from "./postgres-sign-ins.ts";
import { createPostgresTasks } from "./postgres-tasks.ts";
import { createPostgresUsage } from "./postgres-usage.ts";
import { createRuns, deadAfterUsualMs } from "./ledger/runs.ts";

export interface PostgresStoreOptions extends Partial<OpeningEvents> {
  readonly url: string;
  readonly clock?: { readonly wallMs: () => number; readonly monotonicMs: () => number };
  readonly connectionsMax?: number;
  readonly onCommit?: (writes: number) => void;
  /** Something that nobody waits for could not be written. */
  readonly onLostNote?: (what: string, error: unknown) => void;
  /** What another process left was ended by this one. */
  readonly onRecovered?: (recovery: Recovery) => void;
  /** How many processes serve, this one among them, each time that it was looked. */
  readonly onNodesSeen?: (nodes: number) => void;
  /** How long a process must show no sign of life before others end what it left. */
  readonly deadAfterMs?: number;
  /** How many calls are looked at for one page of those that fit a filter. */
  readonly lookedThroughMax?: number;
}

/**
 * Who stops a process waits some seconds longer than its calls may take (host/drain.ts), then kills it. What a server that does
 * not answer has not taken by then the other nodes end, or the next start.
 */
const closingMs = 2_000;

export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, clock = systemClock, onCommit = () => {}, onLostNote = () => {} } = options;
  const { onRecovered = () => {}, onNodesSeen } = options;
  const { deadAfterMs = deadAfterUsualMs } = options;
  const { wallMs, monotonicMs } = clock;
  await checkStatements({ url, monotonicMs });
  const db = openDatabase({ url, monotonicMs, connectionsMax: options.connectionsMax });
  const forward = await checkBounds(db.readPatiently)
    .then(() => migrate(db, deadAfterMs))
    .catch(async (error: unknown) => {
      await db.close();
      throw error;
    });
  if (forward) options.onBroughtForward?.(forward);
  const runs = createRuns({ db, wallMs, monotonicMs, deadAfterMs, onNodesSeen });
  const openCalls = new TransitMap<string>();
  const ledger = createPostgresLedger({
    db,
    runs,
    wallMs,
    monotonicMs,
    openCalls,
    onCommit,
    onLostNote,
    onRecovered,
  });
  const grants = createPostgresGrants(db);
  return {
    ledger,
    accounts: createPostgresAccounts(db),
    keys: createPostgresKeys(db),
    usage: createPostgresUsage(db),
    calls: createPostgresCalls(db, options.lookedThroughMax),
    quotas: createPostgresQuotas(db),
    links: createPostgresLinks(db),
    tasks: createPostgresTasks(db, runs.current),
    publications: createPostgresPublications(db),
    grants,
    tokens: grants,
    approvals: createPostgresApprovals(db),
    signIns: createPostgresSignIns(db),
    keptAnswers: createPostgresKeptAnswers(db),
    auditor: createPostgresAuditor(db),
    claimSecret: async (fingerprint) =>
      ((await findSecret(db)) ?? (await claimSecret(db, fingerprint))) === fingerprint,
    ping: async () => {
      await db.ping();
      await checkVersion(db.read);
    },
    close: async () => {
      await Promise.race([ledger.close(), Bun.sleep(closingMs)]);
      await db.close();
    },
  };
}

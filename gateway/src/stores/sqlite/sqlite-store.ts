import type { Database } from "bun:sqlite";
import { StoreFull } from "../../ledger/store-errors.ts";
import type { Store } from "../../store/store.ts";
import { systemClock } from "../../platform/clock.ts";
import { TransitMap } from "../../platform/transit-map.ts";
import { createBudgetDays } from "./budget-days.ts";
import { createPostedBooks } from "./journal/posted-books.ts";
import { createClaims } from "./journal/claims.ts";
import { createBallast, type Ballast } from "./file/ballast.ts";
import { createEarlierCalls } from "./earlier-calls.ts";
import { namingDamage, openDatabase } from "./file/database.ts";
import { FilePlace } from "./file/file-place.ts";
import { createGroupCommit } from "./file/group-commit.ts";
import { claimSecret, findSecret } from "./installation-rows.ts";
import { createJournal } from "./journal/journal.ts";
import { createLogSync } from "./file/log-sync.ts";
import { checkNotMoved } from "./file/moved-mark.ts";
import { createDispatchMarks } from "./journal/dispatch-marks.ts";
import type { OpeningEvents } from "../data-place.ts";
import type { HeldCall } from "../held-call.ts";
import { createSqliteAccounts } from "./sqlite-accounts.ts";
import { createSqliteApprovals } from "./sqlite-approvals.ts";
import { createSqliteAuditor } from "./sqlite-audit.ts";
import { createSqliteCalls } from "./sqlite-calls.ts";
import { createSqliteGrants } from "./sqlite-grants.ts";
import { createSqliteKeptAnswers } from "./sqlite-kept-answers.ts";
import { createSqliteKeys } from "./sqlite-keys.ts";
import { createSqliteLinks } from "./sqlite-links.ts";
import { createSqliteLedger } from "./sqlite-ledger.ts";
import { createSqlitePublications } from "./sqlite-publications.ts";
import { createSqliteQuotas } from "./sqlite-quotas.ts";
import { createSqliteSignIns } from "./sqlite-sign-ins.ts";
import { createSqliteTasks } from "./sqlite-tasks.ts";
import { createSqliteUsage } from "./sqlite-usage.ts";
import { createStandings } from "./journal/standings.ts";
import { createTaskRows } from "./task-rows.ts";
import { createUnpaidClaims } from "./journal/unpaid-claims.ts";

export interface SqliteStoreOptions extends Partial<OpeningEvents> {
  readonly path: string;
  readonly monotonicMs?: () => number;
  /** How long a write waits while another process writes. */
  readonly patienceMs?: number;
  readonly onCommit?: (writes: number) => void;
  /** Where to keep room for settlements on a full disk; a server has one, a command line needs none. */
  readonly ballastPath?: string;
  readonly onBrokenDisk?: (error: unknown) => void;
  /** Something that nobody waits for could not be written. */
  readonly onLostNote?: (what: string, error: unknown) => void;
  /** Brings data of an earlier version forward, or refuses to; at once when nobody says. */
  readonly guardMigration?: (migrate: () => void) => void;
  /** How many lines of the journal are posted together. */
  readonly journalLinesMax?: number;
  /** How many idempotency keys are found by memory alone. */
  readonly claimsInMemoryMax?: number;
  /** Where they stand there, which callers must not know. */
  readonly salt?: number;
  /** How many ended calls are looked at for one page of those that fit a filter. */
  readonly lookedThroughMax?: number;
}

export function openSqliteStore(options: SqliteStoreOptions): Store {
  const {
    monotonicMs = systemClock.monotonicMs,
    onCommit = () => {},
    onBrokenDisk = () => {},
    onLostNote = () => {},
    salt = crypto.getRandomValues(new Uint32Array(1))[0] ?? 1,
  } = options;
  const db = openHere(options);
  const place = new FilePlace(db, options.path);
  const log = createLogSync(options.path);
  const claims = createClaims(db, salt, options.claimsInMemoryMax);
  const journal = createJournal(db, claims, options.journalLinesMax);
  const unpaidClaims = createUnpaidClaims(db, salt);
  const earlierCalls = createEarlierCalls(db, { claims, unpaidClaims, journal });
  const standings = createStandings(db, journal.post);
  /** What this process holds and has not ended, so that most ends need not look for their call. */
  const openCalls = new TransitMap<HeldCall>();
  const dispatchMarks = createDispatchMarks();
  const tasks = createTaskRows(db);
  const budgetDays = createBudgetDays(db, openCalls);
  const ballast =
    options.ballastPath === undefined ? undefined : createBallast(options.ballastPath, monotonicMs);
  const commits = createGroupCommit({
    db,
    monotonicMs,
    syncLog: log.run,
    patienceUsualMs: options.patienceMs,
    afterBegin: () => {
      place.look();
      if (!journal.catchUp()) return;
      unpaidClaims.forget();
      standings.forget();
      openCalls.clear();
    },
    beforeCommit: () => {
      if (journal.write()) standings.forgetWhenMany();
    },
    onRollback: () => {
      journal.distrust();
      claims.onRollback();
      dispatchMarks.onRollback();
    },
    onCommit: (writes) => {
      claims.onCommit();
      dispatchMarks.onCommit();
      onCommit(writes);
    },
    onFull: () => ballast?.drop() ?? false,
    onBrokenDisk: (error) => onBrokenDisk(namingDamage(options.path, error)),
    onLostRide: (error) => onLostNote("a note about a call", error),
  });
  const whyNoNewCalls = (): Error | undefined =>
    place.whyGone() ?? (hasRoom(ballast) ? undefined : new StoreFull());
  const books = createPostedBooks(db, commits, journal, standings);
  const grants = createSqliteGrants(db, commits, books);
  return {
    ledger: createSqliteLedger({
      db,
      commits,
      journal,
      claims,
      unpaidClaims,
      earlierCalls,
      standings,
      openCalls,
      dispatchMarks,
      books,
      tasks,
      budgetDays,
      whyNoNewCalls,
      place,
    }),
    accounts: createSqliteAccounts(db, books),
    keys: createSqliteKeys(db, commits, books, budgetDays),
    usage: createSqliteUsage(db, books),
    calls: createSqliteCalls(db, books, claims, options.lookedThroughMax),
    quotas: createSqliteQuotas(db, commits, earlierCalls, unpaidClaims),
    links: createSqliteLinks(db, commits, earlierCalls, unpaidClaims),
    tasks: createSqliteTasks(db, commits, tasks),
    publications: createSqlitePublications(db, commits),
    grants,
    tokens: grants,
    approvals: createSqliteApprovals(db, commits),
    signIns: createSqliteSignIns(db, commits),
    keptAnswers: createSqliteKeptAnswers(db, commits),
    auditor: createSqliteAuditor(db, books),
    claimSecret: async (fingerprint) =>
      // Nearly always it was claimed before; whoever only looks, as an audit of broken books does, must not have to write.
      (findSecret(db) ?? (await commits.run(() => claimSecret(db, fingerprint)))) === fingerprint,
    ping: async () => {
      db.query("SELECT 1").get();
      place.look();
      const why = whyNoNewCalls();
      if (why !== undefined) throw why;
      await commits.checkTurns();
    },
    close: async () => {
      // Whatever is queued before this is written before the file is closed. Lines that cannot be posted are on disk, and the
      // next process posts them.
      await commits.run(journal.post).catch(() => {});
      log.close();
      db.close();
    },
  };
}

function openHere({ path, ...opening }: SqliteStoreOptions): Database {
  const db = openDatabase(path, opening);
  try {
    checkNotMoved(db, path);
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}

/** Whether there is room for new calls; without a ballast the disk itself decides. */
function hasRoom(ballast: Ballast | undefined): boolean {
  ballast?.restore();
  return ballast === undefined || !ballast.isGone();
}

import { idempotencyKeptMs, keptMsOf } from "../../ledger/idempotency-key.ts";
import {
  attemptsPerKeyMax,
  revokedPerKeyMax,
  type Link,
  type LinkBook,
  type NewLink,
  type NewLinkAttempt,
  type TakenAttempt,
} from "../../links/links.ts";
import {
  attemptsSweptAtOnce,
  foundAttempt,
  linkOf,
  nothing,
  type AttemptRow,
  type LinkRow,
} from "../link-rows.ts";
import { tokensPatienceMs } from "../patience.ts";
import type { Database } from "./server/database.ts";
import { findEarlier } from "./ledger/find-earlier.ts";
import { linkStatements as sql } from "./link-statements.ts";
import type { Query, Value } from "./server/query.ts";

/** What there may be only so much of per key is counted and written while the key's row is locked. */
export function createPostgresLinks(db: Database): LinkBook {
  const run = (text: string, values: readonly Value[]): Promise<void> =>
    db.write(async (query) => void (await query(text, values)));

  const readLink = async (text: string, values: readonly Value[]): Promise<Link | undefined> => {
    const [row] = await db.read<LinkRow>(text, values);
    return row && linkOf(row);
  };

  const readAttempt = async (stateHash: Uint8Array): Promise<AttemptRow | undefined> =>
    (await db.read<AttemptRow>(sql.attempt, [stateHash]))[0];

  const listRows = async ({
    accountId,
    keyId,
  }: Parameters<LinkBook["list"]>[0]): Promise<readonly LinkRow[]> => {
    if (keyId === undefined) {
      return accountId === undefined
        ? db.readPatiently(sql.list)
        : db.readPatiently(sql.listOfAccount, [accountId]);
    }
    const rows = await db.read<LinkRow>(sql.listOfKey, [keyId]);
    return accountId === undefined ? rows : rows.filter((row) => row.account_id === accountId);
  };

  return {
    begin: (attempt) => db.write((query) => begin(query, attempt)),
    findAttempt: async (stateHash, nowMs) => foundAttempt(await readAttempt(stateHash), nowMs),
    bindBrowser: (stateHash, browserHash) => run(sql.bindBrowser, [browserHash, stateHash]),
    takeAttempt: async (stateHash, nowMs) =>
      // A guess costs a look, not a write.
      (await readAttempt(stateHash))
        ? db.write((query) => takeAttempt(query, stateHash, nowMs))
        : { kind: "unknown" },
    save: (link) => db.writePatiently((query) => save(query, link), tokensPatienceMs),
    find: (linkId) => readLink(sql.find, [linkId]),
    findLive: (keyId, upstream) => readLink(sql.live, [keyId, upstream]),
    list: async (whose) => (await listRows(whose)).map(linkOf),
    setUser: (linkId, user) => run(sql.setUser, [user.id, user.username, linkId]),
    claimRenewal: ({ linkId, version, nowMs, untilMs }) =>
      db.write(async (query) => (await query(sql.claim, [untilMs, linkId, version, nowMs])).length === 1),
    replaceTokens: (linkId, tokens, scopes) => {
      const { version, salt, access, refresh = null, expiresAtMs = null } = tokens;
      const values = [version, salt, access, refresh, expiresAtMs, JSON.stringify(scopes), linkId];
      return db.writePatiently(
        async (query) => (await query(sql.replace, values)).length === 1,
        tokensPatienceMs,
      );
    },
    endRenewal: (linkId, version) => run(sql.endClaim, [linkId, version]),
    lapse: (linkId, version, nowMs) => run(sql.lapse, [nowMs, linkId, version]),
    revoke: (linkId, nowMs) =>
      db.write(async (query) => revoke(query, (await query<LinkRow>(sql.lock, [linkId]))[0], nowMs)),
    undo: (undoHash, nowMs) =>
      db.write(async (query) =>
        revoke(query, (await query<LinkRow>(sql.lockByUndo, [undoHash, nowMs]))[0], nowMs),
      ),
  };
}

async function begin(query: Query, attempt: NewLinkAttempt): Promise<Awaited<ReturnType<LinkBook["begin"]>>> {
  const { accountId, keyId, idempotency } = attempt;
  const keptFromMs = attempt.createdAtMs - idempotencyKeptMs;
  // The account before its key, as everywhere: nobody else takes an idempotency key of it meanwhile.
  if (idempotency) await query(sql.lockAccount, [accountId]);
  await query(sql.lockKey, [keyId]);
  if (idempotency) {
    const earlier = await findEarlier(query, accountId, idempotency, attempt.createdAtMs);
    if (earlier) return { kind: "idempotency_conflict", earlier };
    await query(sql.endOldClaim, [
      accountId,
      idempotency.keyHash,
      attempt.createdAtMs - keptMsOf(idempotency),
    ]);
  }
  const [open] = await query<{ n: bigint; first_end_ms: bigint | null }>(sql.openAttempts, [
    keyId,
    attempt.createdAtMs,
  ]);
  if (open && Number(open.n) >= attemptsPerKeyMax)
    return { kind: "too_many_open", endsAtMs: Number(open.first_end_ms) };
  await query(sql.insertAttempt, [
    attempt.stateHash,
    attempt.id,
    keyId,
    accountId,
    attempt.upstream,
    JSON.stringify(attempt.scopes),
    attempt.salt,
    attempt.verifier,
    attempt.confirm,
    idempotency?.keyHash ?? null,
    idempotency?.fingerprint ?? null,
    attempt.createdAtMs,
    attempt.expiresAtMs,
  ]);
  await query(sql.forgetAttempts, [keyId, attempt.createdAtMs, attemptsPerKeyMax]);
  // Last, when nothing is left to wait for: attempts of others are locked from here on.
  await query(sql.sweep, [keptFromMs, attemptsSweptAtOnce]);
  return { kind: "begun" };
}

async function takeAttempt(query: Query, stateHash: Uint8Array, nowMs: number): Promise<TakenAttempt> {
  const [row] = await query<AttemptRow>(sql.lockAttempt, [stateHash]);
  const found = foundAttempt(row, nowMs);
  await query(sql.useAttempt, [nowMs, nothing, stateHash]);
  return found.kind === "open" ? { ...found, kind: "taken" } : found;
}

async function save(query: Query, link: NewLink): Promise<Link | undefined> {
  const { tokens } = link;
  await query(sql.lockKey, [link.keyId]);
  const [before] = await query<LinkRow>(sql.lockLive, [link.keyId, link.upstream]);
  const replaced = await revoke(query, before, link.createdAtMs);
  await query(sql.insert, [
    link.id,
    link.keyId,
    link.accountId,
    link.upstream,
    link.user?.id ?? null,
    link.user?.username ?? null,
    JSON.stringify(link.scopes),
    tokens.version,
    tokens.salt,
    tokens.access,
    tokens.refresh ?? null,
    tokens.expiresAtMs ?? null,
    link.undoHash,
    link.undoUntilMs,
    link.createdAtMs,
  ]);
  await query(sql.forgetRevoked, [link.keyId, revokedPerKeyMax]);
  return replaced;
}

/** The row as it was is what the platform can be told with; the store keeps nothing of its tokens. */
async function revoke(query: Query, locked: LinkRow | undefined, nowMs: number): Promise<Link | undefined> {
  if (!locked) return undefined;
  await query(sql.revoke, [nowMs, nothing, locked.id]);
  return linkOf(locked);
}

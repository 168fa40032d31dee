import type { Database } from "bun:sqlite";
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
import { attemptsSweptAtOnce, foundAttempt, linkOf, nothing, type LinkRow } from "../link-rows.ts";
import { tokensPatienceMs } from "../patience.ts";
import type { EarlierCalls } from "./earlier-calls.ts";
import type { GroupCommit } from "./file/group-commit.ts";
import { prepareLinks } from "./link-statements.ts";
import type { UnpaidClaims } from "./journal/unpaid-claims.ts";

export function createSqliteLinks(
  db: Database,
  commits: GroupCommit,
  earlierCalls: EarlierCalls,
  unpaidClaims: UnpaidClaims,
): LinkBook {
  const sql = prepareLinks(db);

  const begin = (attempt: NewLinkAttempt): Awaited<ReturnType<LinkBook["begin"]>> => {
    const { accountId, idempotency } = attempt;
    const keptFromMs = attempt.createdAtMs - idempotencyKeptMs;
    sql.sweep.run(keptFromMs, attemptsSweptAtOnce);
    const earlier = idempotency && earlierCalls.find(accountId, idempotency, attempt.createdAtMs);
    if (earlier) return { kind: "idempotency_conflict", earlier };
    const open = sql.openAttempts.get(attempt.keyId, attempt.createdAtMs);
    if (open && Number(open.n) >= attemptsPerKeyMax)
      return { kind: "too_many_open", endsAtMs: Number(open.first_end_ms) };
    if (idempotency)
      sql.endOldClaim.run(accountId, idempotency.keyHash, attempt.createdAtMs - keptMsOf(idempotency));
    sql.insertAttempt.run(
      attempt.stateHash,
      attempt.id,
      attempt.keyId,
      accountId,
      attempt.upstream,
      JSON.stringify(attempt.scopes),
      attempt.salt,
      attempt.verifier,
      attempt.confirm ? 1 : 0,
      idempotency?.keyHash ?? null,
      idempotency?.fingerprint ?? null,
      attempt.createdAtMs,
      attempt.expiresAtMs,
    );
    if (idempotency) unpaidClaims.note(accountId, idempotency.keyHash);
    sql.forgetAttempts.run(attempt.keyId, attempt.createdAtMs, attemptsPerKeyMax);
    return { kind: "begun" };
  };

  const takeAttempt = (stateHash: Uint8Array, nowMs: number): TakenAttempt => {
    const found = foundAttempt(sql.attempt.get(stateHash), nowMs);
    sql.useAttempt.run(nowMs, nothing, stateHash);
    return found.kind === "open" ? { ...found, kind: "taken" } : found;
  };

  const save = (link: NewLink): Link | undefined => {
    const before = sql.live.get(link.keyId, link.upstream);
    if (before) sql.revoke.run(link.createdAtMs, nothing, before.id);
    sql.insert.run(
      link.id,
      link.keyId,
      link.accountId,
      link.upstream,
      link.user?.id ?? null,
      link.user?.username ?? null,
      JSON.stringify(link.scopes),
      link.tokens.version,
      link.tokens.salt,
      link.tokens.access,
      link.tokens.refresh ?? null,
      link.tokens.expiresAtMs ?? null,
      link.undoHash,
      link.undoUntilMs,
      link.createdAtMs,
    );
    sql.forgetRevoked.run(link.keyId, revokedPerKeyMax);
    return before ? linkOf(before) : undefined;
  };

  /** The row as it was is what the platform can be told with; the store keeps nothing of its tokens. */
  const listRows: (of: Parameters<LinkBook["list"]>[0]) => LinkRow[] = ({ accountId, keyId }) => {
    if (accountId === undefined) return keyId === undefined ? sql.list.all() : sql.listOfKey.all(keyId);
    if (keyId === undefined) return sql.listOfAccount.all(accountId);
    return sql.listOfKey.all(keyId).filter((row) => row.account_id === accountId);
  };

  const revoke = (row: ReturnType<typeof sql.find.get>, nowMs: number): Link | undefined => {
    if (!row || row.revoked_at_ms !== null) return undefined;
    sql.revoke.run(nowMs, nothing, row.id);
    return linkOf(row);
  };

  return {
    begin: (attempt) => commits.run(() => begin(attempt)),
    findAttempt: async (stateHash, nowMs) => foundAttempt(sql.attempt.get(stateHash), nowMs),
    bindBrowser: (stateHash, browserHash) =>
      commits.run(() => void sql.bindBrowser.run(browserHash, stateHash)),
    takeAttempt: async (stateHash, nowMs) =>
      // A guess costs a look, not a write.
      sql.attempt.get(stateHash)
        ? commits.run(() => takeAttempt(stateHash, nowMs))
        : ({ kind: "unknown" } as const),
    save: (link) => commits.run(() => save(link), tokensPatienceMs),
    find: async (linkId) => {
      const row = sql.find.get(linkId);
      return row ? linkOf(row) : undefined;
    },
    findLive: async (keyId, upstream) => {
      const row = sql.live.get(keyId, upstream);
      return row ? linkOf(row) : undefined;
    },
    list: async (whose) => listRows(whose).map(linkOf),
    setUser: (linkId, user) => commits.run(() => void sql.setUser.run(user.id, user.username, linkId)),
    claimRenewal: ({ linkId, version, nowMs, untilMs }) =>
      commits.run(() => sql.claim.run(untilMs, linkId, version, nowMs).changes === 1),
    replaceTokens: (linkId, tokens, scopes) =>
      commits.run(
        () =>
          sql.replace.run(
            tokens.version,
            tokens.salt,
            tokens.access,
            tokens.refresh ?? null,
            tokens.expiresAtMs ?? null,
            JSON.stringify(scopes),
            linkId,
          ).changes === 1,
        tokensPatienceMs,
      ),
    endRenewal: (linkId, version) => commits.run(() => void sql.endClaim.run(linkId, version)),
    lapse: (linkId, version, nowMs) => commits.run(() => void sql.lapse.run(nowMs, linkId, version)),
    revoke: (linkId, nowMs) => commits.run(() => revoke(sql.find.get(linkId), nowMs)),
    undo: (undoHash, nowMs) => commits.run(() => revoke(sql.byUndo.get(undoHash, nowMs), nowMs)),
  };
}

import type { Database } from "bun:sqlite";
import type {
  Account,
  AccountBook,
  AccountChange,
  BookedPayment,
  NewAccount,
  Payment,
  TopUp,
} from "../../ledger/accounts.ts";
import { tierAfterTopUp } from "../../limits/tiers.ts";
import type { Micros } from "../../platform/money.ts";
import type { PostedBooks } from "./journal/posted-books.ts";
import {
  accountColumns,
  accountOf,
  bookedOf,
  bookedColumns,
  housePaying,
  signupMemo,
  type AccountRow,
  type BookedRow,
  type PaymentKind,
} from "../account-rows.ts";
import { grantedLimitsAfter } from "../granted-limits.ts";
import { createSqliteEntries } from "./sqlite-entries.ts";

export function createSqliteAccounts(db: Database, books: PostedBooks): AccountBook {
  const sql = prepare(db);

  const find = (accountId: string): Account | undefined => {
    const row = sql.find.get(accountId);
    return row ? accountOf(row) : undefined;
  };

  const create = (account: NewAccount): Account => {
    sql.insert.run(account.id, account.name, account.tier, account.planMultiplierPpm, account.nowMs);
    const payment = {
      transferId: `grant:${account.id}`,
      accountId: account.id,
      amountMicros: account.creditMicros,
      nowMs: account.nowMs,
    };
    if (account.creditMicros > 0n) book(payment, "grant", signupMemo);
    return present(account.id);
  };

  const update = (accountId: string, change: AccountChange): Account | undefined => {
    const before = find(accountId);
    if (!before) return undefined;
    const after = { ...before, ...change };
    const granted = grantedLimitsAfter(before.grantedLimits, change.grantedLimits);
    const { rpm = null, tpm = null, concurrency = null } = granted;
    sql.update.run(
      after.name,
      after.tier,
      after.planMultiplierPpm,
      after.suspended ? 1 : 0,
      rpm,
      tpm,
      concurrency,
      accountId,
    );
    return present(accountId);
  };

  const topUp = (payment: TopUp): Account | undefined => {
    const account = find(payment.accountId);
    if (!account || sql.booked.get(payment.transferId)) return account;
    book(payment, "top_up", payment.reference ?? null);
    const toppedUpMicros = account.toppedUpMicros + payment.amountMicros;
    sql.raiseTier.run(toppedUpMicros, tierAfterTopUp(account.tier, toppedUpMicros), account.id);
    return present(account.id);
  };

  const findPayment = (accountId: string, transferId: string): BookedPayment | undefined => {
    const row = sql.payment.get(transferId, accountId);
    return row ? bookedOf(row) : undefined;
  };

  const adjust: (correction: Payment & { reason: string }) => Awaited<ReturnType<AccountBook["adjust"]>> = (
    correction,
  ) => {
    const account = find(correction.accountId);
    if (!account || sql.booked.get(correction.transferId)) return account;
    const availableMicros = account.postedMicros - account.heldMicros;
    if (availableMicros + correction.amountMicros < 0n)
      return { refused: "insufficient_balance", availableMicros };
    book(correction, "adjustment", correction.reason);
    return present(account.id);
  };

  const book = (payment: Payment, kind: PaymentKind, memo: string | null): void => {
    const { transferId, accountId, amountMicros, nowMs } = payment;
    sql.insertEntry.run(transferId, kind, accountId, amountMicros, memo, nowMs);
    sql.insertEntry.run(transferId, kind, housePaying[kind], -amountMicros, memo, nowMs);
    sql.post.run(amountMicros, accountId);
  };

  const present = (accountId: string): Account => {
    const account = find(accountId);
    if (!account) throw new Error(`Account ${accountId} vanished inside its own transaction.`);
    return account;
  };

  return {
    create: (account) => books.run(() => create(account)),
    find: (accountId) => books.read(() => find(accountId)),
    list: () => books.readLong(() => sql.list.all().map(accountOf)),
    update: (accountId, change) => books.run(() => update(accountId, change)),
    topUp: (payment) => books.run(() => topUp(payment)),
    findPayment: (accountId, transferId) => books.read(() => findPayment(accountId, transferId)),
    adjust: (correction) => books.run(() => adjust(correction)),
    entries: createSqliteEntries(db, books),
  };
}

function prepare(db: Database) {
  return {
    find: db.query<AccountRow, [string]>(`SELECT ${accountColumns} FROM account WHERE id = ?1`),
    list: db.query<AccountRow, []>(`SELECT ${accountColumns} FROM account ORDER BY created_at_ms, id`),
    insert: db.query<never, [string, string, string, bigint, number]>(
      "INSERT INTO account (id, name, tier, plan_multiplier_ppm, created_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
    ),
    update: db.query<
      never,
      [
        name: string,
        tier: string,
        planMultiplierPpm: bigint,
        suspended: number,
        rpm: number | null,
        tpm: number | null,
        concurrency: number | null,
        id: string,
      ]
    >(
      `UPDATE account SET name = ?1, tier = ?2, plan_multiplier_ppm = ?3, suspended = ?4, rpm = ?5, tpm = ?6,
         concurrency = ?7
       WHERE id = ?8`,
    ),
    post: db.query<never, [Micros, string]>(
      "UPDATE account SET posted_micros = posted_micros + ?1 WHERE id = ?2",
    ),
    raiseTier: db.query<never, [Micros, string, string]>(
      "UPDATE account SET topped_up_micros = ?1, tier = ?2 WHERE id = ?3",
    ),
    booked: db.query<{ kind: string }, [string]>("SELECT kind FROM payment WHERE transfer_id = ?1 LIMIT 1"),
    payment: db.query<BookedRow, [string, string]>(
      `SELECT ${bookedColumns} FROM payment WHERE transfer_id = ?1 AND party = ?2`,
    ),
    insertEntry: db.query<
      never,
      [
        transferId: string,
        kind: string,
        party: string,
        amountMicros: bigint,
        memo: string | null,
        createdAtMs: number,
      ]
    >(
      `INSERT INTO payment (transfer_id, kind, party, amount_micros, memo, created_at_ms)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
    ),
  };
}

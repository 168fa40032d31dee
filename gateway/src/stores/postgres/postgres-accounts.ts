import type {
  Account,
  AccountBook,
  AccountChange,
  NewAccount,
  Payment,
  TopUp,
} from "../../ledger/accounts.ts";
import { tierAfterTopUp } from "../../limits/tiers.ts";
import {
  accountColumns,
  accountOf,
  bookedColumns,
  bookedOf,
  housePaying,
  signupMemo,
  type AccountRow,
  type BookedRow,
  type PaymentKind,
} from "../account-rows.ts";
import { grantedLimitsAfter } from "../granted-limits.ts";
import { patienceOfCallersMs } from "../patience.ts";
import type { Database } from "./server/database.ts";
import { createPostgresEntries } from "./postgres-entries.ts";
import type { Query, Value } from "./server/query.ts";

export function createPostgresAccounts(db: Database): AccountBook {
  const create = async (query: Query, account: NewAccount): Promise<Account> => {
    const { id, name, tier, planMultiplierPpm, creditMicros, nowMs } = account;
    const opened = await changed(query, insert, [id, name, tier, planMultiplierPpm, nowMs]);
    if (creditMicros <= 0n) return opened;
    const payment = { transferId: `grant:${id}`, accountId: id, amountMicros: creditMicros, nowMs };
    return book(query, payment, "grant", signupMemo);
  };

  const change = async (
    query: Query,
    accountId: string,
    wanted: AccountChange,
  ): Promise<Account | undefined> => {
    const before = await lock(query, accountId);
    if (!before) return undefined;
    const after = { ...before, ...wanted };
    const granted = grantedLimitsAfter(before.grantedLimits, wanted.grantedLimits);
    const { rpm = null, tpm = null, concurrency = null } = granted;
    return changed(query, update, [
      after.name,
      after.tier,
      after.planMultiplierPpm,
      after.suspended,
      rpm,
      tpm,
      concurrency,
      accountId,
    ]);
  };

  const topUp = async (query: Query, payment: TopUp): Promise<Account | undefined> => {
    const account = await lock(query, payment.accountId);
    if (!account || (await isBooked(query, payment.transferId))) return account;
    await book(query, payment, "top_up", payment.reference ?? null);
    const toppedUpMicros = account.toppedUpMicros + payment.amountMicros;
    return changed(query, raiseTier, [
      toppedUpMicros,
      tierAfterTopUp(account.tier, toppedUpMicros),
      account.id,
    ]);
  };

  const adjust = async (
    query: Query,
    correction: Payment & { readonly reason: string },
  ): ReturnType<AccountBook["adjust"]> => {
    const account = await lock(query, correction.accountId);
    if (!account || (await isBooked(query, correction.transferId))) return account;
    const availableMicros = account.postedMicros - account.heldMicros;
    if (availableMicros + correction.amountMicros < 0n)
      return { refused: "insufficient_balance", availableMicros };
    return book(query, correction, "adjustment", correction.reason);
  };

  /** A transfer is booked once, so it may be tried again when nobody knows whether it was: whoever gave it could not. */
  const move = <Result>(write: (query: Query) => Promise<Result>): Promise<Result> =>
    db.writePatiently(write, patienceOfCallersMs, { evenInDoubt: true });

  return {
    create: (account) => db.writePatiently((query) => create(query, account)),
    find: async (accountId) => {
      const [row] = await db.read<AccountRow>(find, [accountId]);
      return row && accountOf(row);
    },
    list: async () => (await db.readPatiently<AccountRow>(list)).map(accountOf),
    update: (accountId, wanted) => db.writePatiently((query) => change(query, accountId, wanted)),
    topUp: (payment) => move((query) => topUp(query, payment)),
    findPayment: async (accountId, transferId) => {
      const [row] = await db.read<BookedRow>(booked, [transferId, accountId]);
      return row && bookedOf(row);
    },
    adjust: (correction) => move((query) => adjust(query, correction)),
    entries: createPostgresEntries(db),
  };
}

/** The account as it stays until this transaction ends: whatever holds or charges it waits. */
async function lock(query: Query, accountId: string): Promise<Account | undefined> {
  const [row] = await query<AccountRow>(`${find} FOR NO KEY UPDATE`, [accountId]);
  return row && accountOf(row);
}

/** Whether anybody booked the transfer, to whatever account. From here on nobody else books it in this moment. */
async function isBooked(query: Query, transferId: string): Promise<boolean> {
  await query("SELECT pg_advisory_xact_lock($1::int, hashtext($2))", [transferLocks, transferId]);
  const [booked] = await query("SELECT kind FROM payment WHERE transfer_id = $1 LIMIT 1", [transferId]);
  return booked !== undefined;
}

/** The account after its balance was moved, together with the two entries that explain it. */
async function book(
  query: Query,
  payment: Payment,
  kind: PaymentKind,
  memo: string | null,
): Promise<Account> {
  const { transferId, accountId, amountMicros, nowMs } = payment;
  await query(insertEntries, [transferId, kind, accountId, amountMicros, memo, nowMs, housePaying[kind]]);
  return changed(query, post, [amountMicros, accountId]);
}

async function changed(query: Query, text: string, values: readonly Value[]): Promise<Account> {
  const [row] = await query<AccountRow>(`${text} RETURNING ${accountColumns}`, values);
  if (!row) throw new Error("An account vanished inside its own transaction.");
  return accountOf(row);
}

/** Locks by two numbers are no locks by one, such as those of runs. */
const transferLocks = 1;

const find = `SELECT ${accountColumns} FROM account WHERE id = $1`;

const list = `SELECT ${accountColumns} FROM account ORDER BY created_at_ms, id`;

const insert =
  "INSERT INTO account (id, name, tier, plan_multiplier_ppm, created_at_ms) VALUES ($1, $2, $3, $4, $5)";

const update = `
  UPDATE account SET name = $1, tier = $2, plan_multiplier_ppm = $3, suspended = $4, rpm = $5, tpm = $6, concurrency = $7
  WHERE id = $8`;

const post = "UPDATE account SET posted_micros = posted_micros + $1 WHERE id = $2";

const raiseTier = "UPDATE account SET topped_up_micros = $1, tier = $2 WHERE id = $3";

const booked = `SELECT ${bookedColumns} FROM payment WHERE transfer_id = $1 AND party = $2`;

const insertEntries = `
  INSERT INTO payment (transfer_id, kind, party, amount_micros, memo, created_at_ms)
  VALUES ($1, $2, $3, $4::bigint, $5, $6), ($1, $2, $7, -$4::bigint, $5, $6)`;

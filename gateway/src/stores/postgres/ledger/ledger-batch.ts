import type { HoldRequest } from "../../../ledger/ledger.ts";
import type { Decision } from "../server/database.ts";
import { decideCommands, type Batch, type KnownKey, type Postable } from "./decide-commands.ts";
import { callIdOf, type Decided, type LedgerCommand } from "./ledger-command.ts";
import { readFacts, type LedgerFacts } from "./ledger-facts.ts";
import { writesOf } from "./ledger-rows.ts";
import type { Query } from "../server/query.ts";

/** Which accounts a batch locks, and how. */
interface Locks {
  /** The account of a call that this process holds, so that it need not be looked for. */
  readonly accountOf: (callId: string) => string | undefined;
  readonly locking: Locking;
}

/** Whether a batch waits for accounts that somebody else has locked. Commands about accounts it skips are postponed. */
export type Locking = "wait" | "wait briefly" | "skip";

/** Longer than the batches of all nodes usually take, and short enough for whoever comes next. */
const briefLockMs = 200;

/** A call that was not there appeared while the batch was read, so the whole batch has to be read again. */
export class CameLater extends Error {}

/** The run under which calls are held has been ended by another process, which took this one for dead. */
export class RunEnded extends Error {
  readonly runId: bigint;

  constructor(runId: bigint) {
    super(`The run ${runId} was ended by another process.`);
    this.runId = runId;
  }
}

/**
 * Decides many commands in one transaction. Everything a command is decided by is locked by way of its account, so all of them
 * are decided here, in the order they came, and written together.
 */
export async function decideBatch(
  query: Query,
  batch: Batch,
  { accountOf, locking }: Locks,
): Promise<Decision<readonly Decided[]>> {
  const { commands } = batch;
  const accountIn = (command: LedgerCommand): string | undefined =>
    command.kind === "hold" ? command.request.accountId : accountOf(callIdOf(command));
  if (locking === "wait briefly") await query(`SET LOCAL lock_timeout = ${briefLockMs}`);
  const callIds = unique(commands.map(callIdOf));
  const strangers = commands.filter((command) => accountIn(command) === undefined).map(callIdOf);
  const accountsElsewhere = strangers.length > 0 ? await findAccounts(query, strangers) : [];
  const accountsHere = commands.flatMap((command) => accountIn(command) ?? []);
  const holds = commands.flatMap((command) => (command.kind === "hold" ? command.request : []));
  const wanted = {
    accountIds: unique([...accountsHere, ...accountsElsewhere]),
    callIds,
    holds,
    taskIds: commands.flatMap((command) => taskEndOf(command)?.taskId ?? []),
    taskCallIds: commands.flatMap((command) =>
      command.kind === "release" && command.release.abandonsTask === true ? command.release.callId : [],
    ),
  };
  const [, facts] = await Promise.all([
    batch.runId === undefined ? undefined : lockRun(query, batch.runId),
    readFacts(query, wanted, { lock: locking === "skip" ? "skip" : "wait" }),
    learnPostable(query, holds, batch.known),
  ]);
  // A hold whose commit broke off may have come about since its account was looked for: nobody has locked that account.
  for (const callId of strangers) {
    const call = facts.calls.get(callId);
    if (call && !wanted.accountIds.includes(call.held.accountId)) throw new CameLater();
  }
  await learnKeys(query, outdatedKeys(holds, facts, batch.known), batch.known.keys);
  const doubtful = await findDoubtful(query, batch, facts);
  const { decided, changes } = decideCommands(batch, facts, doubtful);
  return { result: decided, writes: writesOf(changes) };
}

/** The lock is shared with other batches of the run. It blocks whoever ends the run, but not its signs of life. */
async function lockRun(query: Query, runId: bigint): Promise<void> {
  const [run] = await query<{ ended: boolean }>(
    "SELECT ended_at_ms IS NOT NULL AS ended FROM run WHERE id = $1 FOR KEY SHARE",
    [runId],
  );
  if (run?.ended !== false) throw new RunEnded(runId);
}

/**
 * Calls to be released that are not there, and may still come: a hold whose commit broke off can be under way in a session
 * that has not noticed. Such a session shares the lock of the run, so whoever gets that lock alone knows there is none.
 */
async function findDoubtful(
  query: Query,
  { commands, runId }: Batch,
  facts: LedgerFacts,
): Promise<ReadonlySet<string>> {
  const missing = commands
    .filter((command) => command.kind === "release" && !facts.calls.has(callIdOf(command)))
    .map(callIdOf);
  if (missing.length === 0 || runId === undefined) return new Set();
  const whole = await query("SELECT id FROM run WHERE id = $1 FOR UPDATE SKIP LOCKED", [runId]);
  if (whole.length === 0) return new Set(missing);
  if ((await findAccounts(query, missing)).length > 0) throw new CameLater();
  return new Set();
}

async function learnPostable(
  query: Query,
  holds: readonly HoldRequest[],
  { keys, priceVersions }: Postable,
): Promise<void> {
  // Forgotten before anything is read, so that what this batch needs of it is read again.
  for (const known of [keys, priceVersions]) if (known.size > knownMax) known.clear();
  const keyIds = unique(holds.map(({ keyId }) => keyId)).filter((id) => !keys.has(id));
  const versions = unique(holds.map(({ terms }) => terms.version)).filter((each) => !priceVersions.has(each));
  await Promise.all([learnKeys(query, keyIds, keys), learnPrices(query, versions, priceVersions)]);
}

async function learnKeys(
  query: Query,
  keyIds: readonly string[],
  known: Map<string, KnownKey>,
): Promise<void> {
  if (keyIds.length === 0) return;
  const found = await query<{ id: string; counts_days: boolean; budgets_begun: bigint }>(
    `SELECT key.id, counts_days, budgets_begun FROM key JOIN account ON account.id = account_id
     WHERE key.id = ANY($1::text[])`,
    [keyIds],
  );
  for (const row of found)
    known.set(row.id, { countsDays: row.counts_days, budgetsBegun: row.budgets_begun });
}

async function learnPrices(query: Query, versions: readonly string[], known: Set<string>): Promise<void> {
  if (versions.length === 0) return;
  const found = await query<{ version: string }>(
    "SELECT version FROM price WHERE version = ANY($1::text[])",
    [versions],
  );
  for (const { version } of found) known.add(version);
}

/** Keys that did not count their days when they were read, and may do so now: some key of their account has begun to. */
function outdatedKeys(holds: readonly HoldRequest[], facts: LedgerFacts, { keys }: Postable): string[] {
  const outdated = holds.filter(({ accountId, keyId, budget }) => {
    const key = budget ? undefined : keys.get(keyId);
    const account = facts.account(accountId);
    return key?.countsDays === false && account && key.budgetsBegun !== account.budgetsBegun;
  });
  return unique(outdated.map(({ keyId }) => keyId));
}

/** A few megabytes. */
const knownMax = 50_000;

async function findAccounts(query: Query, callIds: readonly string[]): Promise<readonly string[]> {
  const rows = await query<{ account_id: string }>(
    "SELECT DISTINCT account_id FROM call WHERE id = ANY($1::text[])",
    [unique(callIds)],
  );
  return rows.map((row) => row.account_id);
}

const taskEndOf = (command: LedgerCommand) =>
  command.kind === "hold"
    ? undefined
    : command.kind === "settle"
      ? command.settlement.task
      : command.release.task;

const unique = (names: readonly string[]): string[] => [...new Set(names)];

import { budgetWindowEndMs, budgetWindowStartMs } from "../keys/budget-window.ts";
import type { Budget, BudgetUse } from "../keys/keys.ts";
import { seenBy, sees } from "../keys/seen-by.ts";
import { hashIdempotencyKey } from "../ledger/idempotency-key.ts";
import { placeOfMoment } from "../ledger/call-places.ts";
import type { CallRecord } from "../ledger/call-record.ts";
import { receiptForCaller, type Receipt } from "../ledger/receipt.ts";
import { withAttemptsSoFar, type AttemptsOf } from "./attempts-so-far.ts";
import type { Store } from "./store.ts";
import { groupRequests, keyRequests, keySlot, keyTokens, upstreamRequests } from "../limits/call-limits.ts";
import type { LinkDesk } from "../links/link-desk.ts";
import { linkReport } from "../links/link-report.ts";
import { resetSeconds } from "../limits/limit-times.ts";
import type { Limiter, Want } from "../limits/limiter.ts";
import { listLimits, type SharedLimit } from "../offer/list-limits.ts";
import { listModels } from "../offer/list-models.ts";
import type { Offer } from "../offer/offer.ts";
import { readUsage, type UsageScope } from "../usage/usage-report.ts";
import { isoTime } from "../platform/clock.ts";
import type { BalanceReport, Books, BudgetReport, LimitReport } from "../operation/books.ts";
import type { Asker } from "../operation/asker.ts";

interface Parts {
  readonly store: Store;
  readonly limiter: Limiter;
  readonly links: LinkDesk;
  readonly offer: () => Offer;
  readonly attemptsOf: AttemptsOf;
}

/** Answers callers from the store. Every question carries the asker's account, so nobody sees another's books. */
export function createBooks({ store, limiter, links, offer, attemptsOf }: Parts): Books {
  const receiptNow = async (call: CallRecord): Promise<Receipt> =>
    receiptForCaller(await withAttemptsSoFar(call, store.tasks, attemptsOf));
  return {
    usage: (asker, window) => readUsage(store.usage, reportedTo(asker), window),
    balance: (asker) => readBalance(store, asker),
    receipt: async ({ accountId }, requestId) => {
      const call = await store.calls.find(accountId, requestId);
      return call && receiptNow(call);
    },
    receipts: async ({ accountId }, { madeFromMs, madeBeforeMs, ...filter }) => {
      const from = madeFromMs === undefined ? undefined : placeOfMoment(madeFromMs);
      const end = madeBeforeMs === undefined ? undefined : placeOfMoment(madeBeforeMs);
      const before = older(filter.before, end);
      const { calls, nextBefore } = await store.calls.list(accountId, { ...filter, before, from });
      return {
        object: "list",
        data: await Promise.all(calls.map(receiptNow)),
        has_more: nextBefore !== undefined,
        next_cursor: nextBefore ?? null,
      };
    },
    receiptByKey: async ({ accountId, nowMs }, idempotencyKey) => {
      const call = await store.calls.findByKey(accountId, hashIdempotencyKey(idempotencyKey), nowMs);
      return {
        object: "list",
        data: call ? [await receiptNow(call)] : [],
        has_more: false,
        next_cursor: null,
      };
    },
    models: (asker) => listModels(offer(), asker),
    limits: async (asker) => ({
      workspace_id: asker.accountId,
      key_id: asker.keyId,
      tier: asker.tier,
      limits: [
        ...(await readLimits(asker, limiter, listLimits(offer()))),
        ...(await readTaskLimits(asker, store, listLimits(offer()))),
      ],
      budget: await readBudget(store, asker),
      sign_in_budget: await readSignInBudget(store, asker),
      allowed_models: asker.allowedModels?.patterns ?? null,
      allowed_operations: asker.allowedOperations?.patterns ?? null,
    }),
    beginLink: ({ accountId, keyId, requestId, idempotency, confirmsLinks }, scopes) =>
      links.begin(
        { accountId, keyId },
        { scopes, requestId, idempotency, ...(confirmsLinks ? { confirm: true } : {}) },
      ),
    links: async (asker) => {
      const all = await links.list(seenBy(asker));
      return all
        .filter(({ revokedAtMs }) => revokedAtMs === undefined)
        .map((link) => linkReport(link, asker.nowMs));
    },
    revokeLink: async (asker, linkId) => {
      const link = await links.find(linkId);
      const ended = link && sees(asker, link) ? await links.end(linkId) : undefined;
      return (
        ended && {
          ...linkReport({ ...ended.link, revokedAtMs: ended.revokedAtMs }, asker.nowMs),
          revoked_at: isoTime(ended.revokedAtMs),
          platform: ended.platform,
        }
      );
    },
    applyForQuota: ({ requestId, accountId, keyId, idempotency, nowMs }, expected) =>
      store.quotas.file({ id: requestId, accountId, keyId, idempotency, createdAtMs: nowMs, ...expected }),
  };
}

/** Of two places in the list of calls the one that is further back. */
const older = (one: string | undefined, other: string | undefined): string | undefined =>
  one === undefined || (other !== undefined && other < one) ? other : one;

/** The usage report is the one thing in which an access token sees more than its key: all that the account used. */
const reportedTo = (asker: Asker): UsageScope =>
  asker.grant ? { accountId: asker.accountId, keyId: undefined } : seenBy(asker);

async function readLimits(
  asker: Asker,
  limiter: Limiter,
  shared: readonly SharedLimit[],
): Promise<LimitReport[]> {
  const { keyId, limits, nowMs } = asker;
  const report = async (
    name: string,
    appliesTo: LimitReport["applies_to"],
    want: Want,
  ): Promise<LimitReport> => {
    const { limit, remaining, resetsInMs } = await limiter.look(want);
    // Nobody knows when a running call gives its place back: it may be now.
    const reset = resetSeconds(want.kind === "slot" ? 0 : resetsInMs, nowMs);
    return { name, applies_to: appliesTo, limit, remaining, reset };
  };
  const own = [
    await report("requests_per_minute", "all", keyRequests(keyId, limits.rpm)),
    await report("tokens_per_minute", operationsWith(shared, "tokens"), keyTokens(keyId, 0, limits.tpm)),
    await report("concurrency", operationsWith(shared, "slot"), keySlot(keyId, "", limits.concurrency)),
  ];
  for (const limit of shared) {
    if (limit.kind === "group")
      own.push(await report("requests_per_minute", limit.operations, groupRequests(keyId, limit)));
    if (limit.kind === "upstream") {
      own.push(await report("upstream", limit.operations, upstreamRequests(limit.upstream, limit.limit)));
    }
  }
  return own;
}

/** Open tasks are counted in the books, not by the limiter: they outlive the process. */
async function readTaskLimits(
  { keyId, nowMs }: Asker,
  { tasks }: Store,
  shared: readonly SharedLimit[],
): Promise<LimitReport[]> {
  const reports: LimitReport[] = [];
  for (const limit of shared) {
    if (limit.kind !== "tasks") continue;
    const remaining = Math.max(0, limit.limit - (await tasks.countOpen(keyId)));
    const { operations, limit: most } = limit;
    const reset = Math.ceil(nowMs / 1000);
    reports.push({ name: "concurrent_tasks", applies_to: operations, limit: most, remaining, reset });
  }
  return reports;
}

const operationsWith = (shared: readonly SharedLimit[], kind: "tokens" | "slot"): readonly string[] =>
  shared.flatMap((limit) => (limit.kind === kind ? limit.operations : []));

async function readBalance(store: Store, asker: Asker): Promise<BalanceReport> {
  const account = await store.accounts.find(asker.accountId);
  if (!account) throw new Error("A credential names an account that is not there.");
  return {
    currency: "USD",
    balance_micros_usd: Number(account.postedMicros),
    held_micros_usd: Number(account.heldMicros),
    available_micros_usd: Number(account.postedMicros - account.heldMicros),
    budget: await readBudget(store, asker),
  };
}

async function readBudget(store: Store, { budget, keyId, nowMs }: Asker): Promise<BudgetReport | null> {
  if (!budget) return null;
  const use = await store.keys.budgetUse(keyId, budget.window, nowMs);
  return reportBudget(budget, use, nowMs);
}

/** The bound that a person set at sign-in holds beside the budget of the key they signed in with. */
async function readSignInBudget(store: Store, { grant, nowMs }: Asker): Promise<BudgetReport | null> {
  if (!grant) return null;
  const budget: Budget = { window: "day", limitMicros: grant.spendPolicy.perDayMicros };
  const use = await store.grants.dayUse(grant.id, budgetWindowStartMs(budget.window, nowMs));
  return reportBudget(budget, use, nowMs);
}

function reportBudget(budget: Budget, use: BudgetUse, nowMs: number): BudgetReport {
  const remaining = budget.limitMicros - use.spentMicros - use.heldMicros;
  const endMs = budgetWindowEndMs(budget.window, nowMs);
  return {
    window: budget.window,
    limit_micros_usd: Number(budget.limitMicros),
    spent_micros_usd: Number(use.spentMicros),
    held_micros_usd: Number(use.heldMicros),
    remaining_micros_usd: Number(remaining > 0n ? remaining : 0n),
    resets_at: endMs === undefined ? null : endMs / 1000,
  };
}

import { seenBy, sees } from "../keys/seen-by.ts";
import { hashIdempotencyKey } from "../ledger/idempotency-key.ts";
import type { CallRecord } from "../ledger/call-record.ts";
import { receiptForCaller, type Receipt } from "../ledger/receipt.ts";
import { withAttemptsSoFar, type AttemptsOf } from "./attempts-so-far.ts";
import type { Store } from "../store/store.ts";
import type { LinkDesk } from "../links/link-desk.ts";
import { linkReport } from "../links/link-report.ts";
import type { Link } from "../links/links.ts";
import type { Limiter } from "../limits/limiter.ts";
import { listLimits } from "../offer/list-limits.ts";
import { listModels } from "../offer/list-models.ts";
import type { Offer } from "../offer/offer.ts";
import { readUsage, type UsageScope } from "../usage/usage-report.ts";
import { isoTime } from "../platform/clock.ts";
import type { RevokedLinkReport, SelfService } from "../operation/self-service.ts";
import { reportBalance, reportBudget, reportSignInBudget } from "./report-money.ts";
import { reportLimits } from "./report-limits.ts";
import { spanOfCalls } from "./span-of-calls.ts";
import type { Asker } from "../operation/asker.ts";

interface Parts {
  readonly store: Store;
  readonly limiter: Limiter;
  readonly links: LinkDesk;
  readonly offer: () => Offer;
  readonly attemptsOf: AttemptsOf;
}

/** Answers callers about themselves. Every question carries the asker's account, so nobody sees another's books. */
export function createSelfService({ store, limiter, links, offer, attemptsOf }: Parts): SelfService {
  const receiptNow = async (call: CallRecord): Promise<Receipt> =>
    receiptForCaller(await withAttemptsSoFar(call, store.tasks, attemptsOf));
  return {
    usage: (asker, window) => readUsage(store.usage, reportedTo(asker), window),
    balance: (asker) => reportBalance(asker, store),
    receipt: async ({ accountId }, requestId) => {
      const call = await store.calls.find(accountId, requestId);
      return call && receiptNow(call);
    },
    receipts: async ({ accountId }, { madeFromMs, madeBeforeMs, ...filter }) => {
      const span = await spanOfCalls(accountId, { madeFromMs, madeBeforeMs, ...filter }, store.grants);
      if (!span) return { object: "list", data: [], has_more: false, next_cursor: null };
      const { calls, nextBefore } = await store.calls.list(accountId, { ...filter, ...span });
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
      limits: await reportLimits(asker, listLimits(offer()), { limiter, tasks: store.tasks }),
      budget: await reportBudget(asker, store),
      sign_in_budget: await reportSignInBudget(asker, store),
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
      if (!link || !sees(asker, link)) return undefined;
      const ended = await links.end(linkId);
      if (ended) return { ...endReport(ended.link, ended.revokedAtMs, asker), platform: ended.platform };
      // It had ended. Whoever asks again because no answer came must not hear that it never was.
      const { revokedAtMs } = (await links.find(linkId)) ?? link;
      return revokedAtMs === undefined ? undefined : endReport(link, revokedAtMs, asker);
    },
    applyForQuota: ({ requestId, accountId, keyId, idempotency, nowMs }, expected) =>
      store.quotas.file({ id: requestId, accountId, keyId, idempotency, createdAtMs: nowMs, ...expected }),
  };
}

const endReport = (link: Link, revokedAtMs: number, { nowMs }: Asker): RevokedLinkReport => ({
  ...linkReport({ ...link, revokedAtMs }, nowMs),
  revoked_at: isoTime(revokedAtMs),
});

/** The usage report is the one thing in which an access token sees more than its key: all that the account used. */
const reportedTo = (asker: Asker): UsageScope =>
  asker.grant ? { accountId: asker.accountId, keyId: undefined } : seenBy(asker);

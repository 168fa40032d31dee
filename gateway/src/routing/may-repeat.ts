// The rules of a further attempt: whether there may be one, and which of two its caller is told of.

import { neverSent, type Exchanged, type HiddenFailure } from "../operation/exchanged.ts";
import type { SoldOperation } from "../operation/operation.ts";
import type { Upstream } from "../operation/upstream.ts";

/**
 * Whether another upstream may be asked. Never after a timeout, a cut connection or an answer that nobody could read:
 * the work may be done and billed. Never once a stream has said more than that it begins. The sandbox's faults are meant to
 * be seen.
 */
export function mayRepeat(
  exchanged: Exchanged,
  { sandbox }: Pick<Upstream, "sandbox">,
  { repeatable }: Pick<SoldOperation, "repeatable">,
): boolean {
  if (sandbox || isStopping(exchanged)) return false;
  if (didNothing(exchanged)) return true;
  if (repeatable === false) return false;
  if (exchanged.kind === "answered") return failedInside.has(exchanged.hiddenFailure ?? exchanged.status);
  return exchanged.kind === "rate_limited";
}

/**
 * Certainly: not a byte was sent, the upstream refused the operator's key or account, or it does not have the
 * model, or what the call goes on with.
 */
export const didNothing = (exchanged: Exchanged): boolean =>
  neverSent(exchanged) || exchanged.kind === "key_rejected" || isLacking(exchanged);

/** Then nobody can be asked any more. */
const isStopping = (exchanged: Exchanged): boolean =>
  exchanged.kind === "no_answer" && exchanged.reason === "gateway_stopped";

const isLacking = (exchanged: Exchanged): boolean =>
  exchanged.kind === "answered" && exchanged.lacks !== undefined;

/**
 * The vendor's own errors, told instead of any output. A 504 is not among them: the work may still go on. A 429 is met
 * here only inside an answer with the status of a success.
 */
const failedInside: ReadonlySet<HiddenFailure> = new Set([429, 500, 502, 503, 529]);

interface Ended {
  readonly exchanged: Exchanged;
}

/**
 * Which of two attempts the caller is told of: the one that may have done something, so that its idempotency key is
 * kept for it; else the one that says when to come back; else the later one.
 */
export const moreTelling = <Attempt extends Ended>(earlier: Attempt | undefined, later: Attempt): Attempt =>
  earlier && weight(earlier.exchanged) > weight(later.exchanged) ? earlier : later;

function weight(exchanged: Exchanged): number {
  const hidesBusy = exchanged.kind === "answered" && exchanged.hiddenFailure === 429;
  if (exchanged.kind === "rate_limited" || hidesBusy) return 1;
  return didNothing(exchanged) || exchanged.kind === "link_rejected" ? 0 : 2;
}

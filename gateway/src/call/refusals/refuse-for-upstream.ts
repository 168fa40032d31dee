import { resetSeconds } from "../../limits/limit-times.ts";
import { type ExchangedWhole, neverSent } from "../../operation/exchanged.ts";
import type { Upstream } from "../../operation/upstream.ts";
import type { Clock } from "../../platform/clock.ts";
import { refuse } from "../../platform/refusals.ts";
import { creditPauseSeconds } from "../../routing/verdict.ts";

/** What a caller is told when there is no answer of the upstream's to pass on. */
export function refuseForUpstream(
  exchanged: Exclude<ExchangedWhole, { kind: "answered" }>,
  upstream: Upstream,
  clock: Clock,
): never {
  if (exchanged.kind === "rate_limited") {
    const { retryAfterSeconds, outOfCredit } = exchanged;
    // Waiting brings no money: clients would repeat the call, some after a minute, and be refused again.
    if (outOfCredit === true)
      refuseBusy(retryAfterSeconds ?? creditPauseSeconds, clock, { retryable: false });
    refuseBusy(retryAfterSeconds ?? 1, clock);
  }
  if (exchanged.kind === "link_rejected") {
    refuse("link_expired", "The platform does not accept the linked account's token; link it again.");
  }
  // What was sent may have been done, and a second one would be paid for as well.
  const retryable = neverSent(exchanged);
  if (exchanged.kind === "no_answer" && exchanged.reason === "gateway_stopped") refuseStopping(retryable);
  if (exchanged.kind === "key_rejected" || upstream.transport === "managed") refuseUnavailable(retryable);
  refuse("provider_request_failed", "provider request failed", { retryable });
}

export function refuseBusy(
  retryAfterSeconds: number,
  clock: Clock,
  whether: { readonly retryable?: boolean } = {},
): never {
  const reset = resetSeconds(retryAfterSeconds * 1_000, clock.wallMs());
  refuse("upstream_rate_limit", "The upstream is busy; nothing was charged.", {
    ...whether,
    retryAfterSeconds,
    inError: { limit: { name: "upstream", limit: null, remaining: 0, reset } },
  });
}

/** No word about the provider, which may have been answering. */
function refuseStopping(retryable: boolean): never {
  const what = retryable ? "nothing was sent to the provider" : "the provider's answer was not waited for";
  refuse("provider_request_failed", `The gateway is stopping; ${what}.`, { retryable });
}

export function refuseUnavailable(
  retryable: boolean,
  when: { readonly retryAfterSeconds?: number } = {},
): never {
  refuse("provider_unavailable", "The provider cannot serve this call now; nothing was charged.", {
    ...when,
    retryable,
  });
}

import type { OfferedModel } from "../offer/offer.ts";
import type { Estimate } from "../operation/estimate.ts";
import type { Upstream } from "../operation/upstream.ts";
import { microsRoundedUp, type Micros } from "../platform/money.ts";
import { valuePico, type Terms } from "../prices/terms.ts";

/** What a call is sold for, and by whom: what it will probably cost, and the most it can. Quotes and holds come from here alike. */
export interface CallPrice {
  readonly terms: Terms;
  readonly model: OfferedModel | undefined;
  readonly upstreams: readonly Upstream[];
  /** They stand in the order in which the operator wants them asked; otherwise their weights choose. */
  readonly ordered: boolean;
  /** The answer comes piece by piece. */
  readonly streaming: boolean;
  readonly estimate: Estimate;
  readonly exact: boolean;
  readonly multiplierPpm: bigint;
  readonly atMostMicros: Micros;
}

/** What the call will probably cost; only a quote asks, and a person who is to approve it. */
export const expectedMicros = ({ terms, estimate, exact, multiplierPpm, atMostMicros }: CallPrice): Micros =>
  exact ? atMostMicros : microsRoundedUp(valuePico(estimate.expected, terms) * multiplierPpm);

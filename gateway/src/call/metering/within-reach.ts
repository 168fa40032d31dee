import { contextTokensMax, type Quantities } from "../../prices/quantities.ts";
import type { CallPrice } from "../call-price.ts";

/** A vendor that runs tools may read the context several times for one call, but never ten times. */
const timesMax = 10;

/**
 * What a vendor says was used, limited to what the call can have used. A figure many times above what the model can read and
 * write, and above what was held for, is the vendor's error and would spoil every sum. What is above the hold but possible
 * is recorded as it is, and written off.
 */
export function withinReach(used: Quantities, { model, estimate }: CallPrice): Quantities {
  if (!model) return used;
  const { contextTokens = contextTokensMax, unaskedOutputTokensMax } = model.facts;
  const modelReach = (contextTokens + unaskedOutputTokensMax) * timesMax;
  for (const unit in used) {
    if ((used[unit] ?? 0) > modelReach)
      return bend(used, Math.max(modelReach, sum(estimate.atMost) * timesMax));
  }
  return used;
}

/** A vendor may take fifteen of its credits where the hold was for one, but never a thousand. */
const unitTimesMax = 1_000;

/** What a call that is paid by the unit can have used, judged by its hold. */
export const unitsWithinReach = (units: number, { estimate }: CallPrice): number =>
  Math.min(units, Math.max(1, sum(estimate.atMost)) * unitTimesMax);

function bend(used: Quantities, most: number): Quantities {
  if (!Object.values(used).some((quantity) => quantity > most)) return used;
  return Object.fromEntries(Object.entries(used).map(([unit, quantity]) => [unit, Math.min(quantity, most)]));
}

const sum = (quantities: Quantities): number => Object.values(quantities).reduce((so, more) => so + more, 0);

import type { WantedHold } from "./ledger.ts";

/** For a hold that nothing but the balance of its account bounds, and that nobody can repeat. */
export const unbound = {
  budget: undefined,
  grant: undefined,
  coveredMicros: undefined,
  approval: undefined,
  idempotency: undefined,
  task: undefined,
} as const satisfies Partial<WantedHold>;

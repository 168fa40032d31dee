import { refuse } from "../platform/refusals.ts";

/** Whoever is suspended may read, and neither buy nor have vendors asked. */
export const refuseSuspended = (): never =>
  refuse("account_suspended", "This account is suspended; ask the operator.");

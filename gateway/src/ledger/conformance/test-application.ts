import type { NewQuotaApplication } from "../quota-applications.ts";
import { middayMs, type Caller } from "./shared-conformance.ts";

/** An application for higher limits, for tests. */
export const applicationOf = (
  { accountId, keyId }: Pick<Caller, "accountId" | "keyId">,
  id: string,
  changed: Partial<NewQuotaApplication> = {},
): NewQuotaApplication => ({
  id,
  accountId,
  keyId,
  expectedRpm: 5_000,
  expectedTpm: 6_000_000,
  models: ["gpt-4o"],
  endpoints: [],
  useCase: "search",
  idempotency: undefined,
  createdAtMs: middayMs,
  ...changed,
});

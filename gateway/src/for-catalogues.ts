// The one way from a catalogue into the engine, for what ships and for operators' own folders alike: whatever a file of a
// catalogue needs is here, and it imports nothing else of ours.

// What it declares
export { defineOperation } from "./operation/define-operation.ts";
export { defineModel } from "./operation/define-model.ts";
export { fixed, free } from "./operation/price.ts";
export { z } from "zod";

// What its functions are given and give back
export type { CallInput } from "./operation/call-input.ts";
export type { Estimate } from "./operation/estimate.ts";
export type { GoesOn, Reference } from "./operation/goes-on.ts";
export type { LimitWord } from "./operation/limit-word.ts";
export type { ModelFacts } from "./operation/price-contract.ts";
export type { ModelListing } from "./operation/self-service.ts";
export type { Receipt } from "./ledger/receipt.ts";
export type { CallersDialect, ModelDialect } from "./platform/dialect.ts";

// How they look into a body, and refuse it
export { typeByName } from "./operation/type-by-name.ts";
export { refuseEarlier } from "./ledger/refuse-earlier.ts";
export { DecidingNames } from "./platform/deciding-names.ts";
export { isJsonObject, type JsonObject } from "./platform/json.ts";
export { refuse } from "./platform/refusals.ts";

// Figures that the engine keeps, too
export { idempotencyKeyPattern, idempotencyKeyRule } from "./ledger/idempotency-key.ts";
export { openApplicationsMax } from "./ledger/quota-applications.ts";
export { secondsPerDay } from "./platform/utc-day.ts";
export { guessTokens } from "./prices/guess-tokens.ts";
export { contextTokensMax } from "./prices/quantities.ts";
export { reportDaysMax } from "./usage/usage-report.ts";

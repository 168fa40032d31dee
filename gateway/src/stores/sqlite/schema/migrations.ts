import { accountLimits, accounts, allowedCalls, budgetDays } from "./accounts.ts";
import { approvalArguments, approvals, approvalsByExpiry } from "./approvals.ts";
import { calls, progress } from "./calls.ts";
import { claims, idempotencyKeys } from "./claims.ts";
import { entries } from "./entries.ts";
import { grants } from "./grants.ts";
import { installation } from "./installation.ts";
import { daybook, journal, unlistedCalls } from "./journal.ts";
import { keptAnswers } from "./kept-answers.ts";
import { links, openLinkAttempts } from "./links.ts";
import { prices } from "./prices.ts";
import { publications } from "./publications.ts";
import { quotaApplications } from "./quotas.ts";
import { signIns } from "./sign-ins.ts";
import { tasks, tasksAtVendor } from "./tasks.ts";
import { usageBuckets } from "./usage.ts";

// Two things keep the hot path cheap. A CHECK spells its words out with OR, because an IN list is built anew for
// every row. Tables that grow are keyed by time first, so that one commit touches few pages, however many
// accounts take part in it.

/**
 * Each migration brings the schema one version forward and is never edited once released: what changes a table later stands
 * below it in its file, and at the end of this list. `user_version` of the database says how many have run.
 */
export const migrations: readonly string[] = [
  installation + accounts + prices + calls + entries + usageBuckets,
  idempotencyKeys + progress + accountLimits + quotaApplications,
  links,
  tasks,
  publications,
  grants + signIns + approvals,
  daybook,
  journal,
  unlistedCalls,
  approvalsByExpiry,
  claims,
  approvalArguments,
  allowedCalls,
  tasksAtVendor,
  openLinkAttempts,
  budgetDays,
  keptAnswers,
];

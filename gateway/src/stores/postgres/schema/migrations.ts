import { accounts, budgetDays } from "./accounts.ts";
import { approvals } from "./approvals.ts";
import { calls } from "./calls.ts";
import { claims } from "./claims.ts";
import { entries } from "./entries.ts";
import { grants } from "./grants.ts";
import { installation } from "./installation.ts";
import { keptAnswers } from "./kept-answers.ts";
import { links, openLinkAttempts } from "./links.ts";
import { prices } from "./prices.ts";
import { publications } from "./publications.ts";
import { quotaApplications } from "./quotas.ts";
import { signIns } from "./sign-ins.ts";
import { tasks, tasksAtVendor } from "./tasks.ts";
import { usageBuckets } from "./usage.ts";

// Whatever names a row is compared byte by byte, as everywhere else in the house, whatever language the server speaks: the
// order of a language changes with the server's libraries, and an index that is unique in it would not be any more.

const firstBooks = [
  installation,
  accounts,
  prices,
  grants,
  calls,
  entries,
  usageBuckets,
  claims,
  tasks,
  quotaApplications,
  links,
  publications,
  signIns,
  approvals,
].join("");

/**
 * Each migration brings the schema one version forward and is never edited once released: what changes a table later stands
 * below it in its file, and at the end of this list. The row of `schema_version` says how many have run.
 */
export const migrations: readonly string[] = [
  firstBooks,
  tasksAtVendor,
  openLinkAttempts,
  budgetDays,
  keptAnswers,
];

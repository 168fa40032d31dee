import type { ApprovalBook } from "../approvals/approvals.ts";
import type { GrantBook } from "../grants/grants.ts";
import type { SignInRecords } from "../grants/sign-in-records.ts";
import type { PublicationBook } from "../contract/publications.ts";
import type { KeyBook } from "../keys/keys.ts";
import type { TokenBook } from "../keys/token-book.ts";
import type { LinkBook } from "../links/links.ts";
import type { QuotaBook } from "../ledger/quota-applications.ts";
import type { KeptAnswers } from "../routing/kept-answers.ts";
import type { TaskBook } from "../tasks/task-book.ts";
import type { UsageBook } from "../usage/usage-report.ts";
import type { AccountBook } from "../ledger/accounts.ts";
import type { Auditor } from "../ledger/audit.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { CallBook } from "../ledger/call-book.ts";

/** Everything durable, behind ports. Each kind of store implements these and passes the conformance suite. */
export interface Store {
  readonly ledger: Ledger;
  readonly accounts: AccountBook;
  readonly keys: KeyBook;
  readonly usage: UsageBook;
  readonly calls: CallBook;
  readonly quotas: QuotaBook;
  readonly links: LinkBook;
  readonly tasks: TaskBook;
  readonly publications: PublicationBook;
  readonly grants: GrantBook;
  readonly tokens: TokenBook;
  readonly approvals: ApprovalBook;
  readonly signIns: SignInRecords;
  readonly keptAnswers: KeptAnswers;
  readonly auditor: Auditor;
  /** Ties the data to the installation's secret: false when it was written under another one. */
  readonly claimSecret: (fingerprint: string) => Promise<boolean>;
  /** Refuses when the store cannot be read, or has stopped taking writes; what readiness asks. */
  readonly ping: () => Promise<void>;
  readonly close: () => Promise<void>;
}

// What every store must do, whatever it is made of. Each kind of store runs these very tests.

import { describe } from "bun:test";
import { signInsConformance } from "../grants/sign-ins-conformance.ts";
import { keysConformance } from "../keys/keys-conformance.ts";
import { linksConformance } from "../links/links-conformance.ts";
import { keptAnswersConformance } from "../routing/kept-answers-conformance.ts";
import { tasksConformance } from "../tasks/tasks-conformance.ts";
import { usageConformance } from "../usage/usage-conformance.ts";
import { accountsConformance } from "../ledger/conformance/accounts-conformance.ts";
import { approvalsConformance } from "../ledger/conformance/approvals-conformance.ts";
import { budgetsConformance } from "../ledger/conformance/budgets-conformance.ts";
import { claimsConformance } from "../ledger/conformance/claims-conformance.ts";
import { endsConformance } from "../ledger/conformance/ends-conformance.ts";
import { entriesConformance } from "../ledger/conformance/entries-conformance.ts";
import { freedApprovalsConformance } from "../ledger/conformance/freed-approvals-conformance.ts";
import { grantsConformance } from "../ledger/conformance/grants-conformance.ts";
import { holdsConformance } from "../ledger/conformance/holds-conformance.ts";
import { idempotencyConformance } from "../ledger/conformance/idempotency-conformance.ts";
import { modelConformance } from "../ledger/conformance/model-conformance.ts";
import { receiptsConformance } from "../ledger/conformance/receipts-conformance.ts";
import { roundingConformance } from "../ledger/conformance/rounding-conformance.ts";
import { runsConformance } from "../ledger/conformance/runs-conformance.ts";
import type { OpenStore } from "../ledger/conformance/shared-conformance.ts";
import { oneKeyConformance } from "./one-key-conformance.ts";

export function storeConformance(name: string, openStore: OpenStore): void {
  describe(`${name}: holding`, () => holdsConformance(openStore));
  describe(`${name}: ending`, () => endsConformance(openStore));
  describe(`${name}: rounding`, () => roundingConformance(openStore));
  describe(`${name}: budgets`, () => budgetsConformance(openStore));
  describe(`${name}: idempotency keys`, () => idempotencyConformance(openStore));
  describe(`${name}: idempotency keys of all kinds`, () => oneKeyConformance(openStore));
  describe(`${name}: idempotency keys in any history`, () => claimsConformance(openStore, 80));
  describe(`${name}: approvals that are freed`, () => freedApprovalsConformance(openStore));
  describe(`${name}: a new run`, () => runsConformance(openStore));
  describe(`${name}: accounts`, () => accountsConformance(openStore));
  describe(`${name}: entries`, () => entriesConformance(openStore));
  describe(`${name}: keys`, () => keysConformance(openStore));
  describe(`${name}: links`, () => linksConformance(openStore));
  describe(`${name}: sign-ins`, () => signInsConformance(openStore));
  describe(`${name}: answers that vendors keep`, () => keptAnswersConformance(openStore));
  describe(`${name}: receipts`, () => receiptsConformance(openStore));
  describe(`${name}: usage`, () => usageConformance(openStore));
  describe(`${name}: model`, () => modelConformance(openStore));
  tasksConformance(name, openStore);
  grantsConformance(name, openStore);
  approvalsConformance(name, openStore);
}

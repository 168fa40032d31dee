import type { QuotaApplication, QuotaGrant } from "../../../ledger/quota-applications.ts";
import { isoTime } from "../../../platform/clock.ts";
import { CommandFailed, defineCommand, optional, WrongUsage, type Answer } from "../command.ts";
import { fieldLines, isoTimeOrNull, table } from "../output.ts";
import { limitFlags, readLimits, readTier } from "../values.ts";
import { withStore } from "../with-store.ts";

export const quotaList = defineCommand({
  words: ["quota", "list"],
  summary: "lists applications for higher limits, oldest first",
  flags: { state: optional("S", "open, approved or denied; all when not given") },
  run: async ({ flags }, parts) => {
    const state = readState(flags.state);
    const applications = await withStore(parts, (store) => store.quotas.list(state));
    const rows = applications.map((application) => [
      application.id,
      application.accountId,
      application.state,
      String(application.expectedRpm),
      String(application.expectedTpm),
      application.useCase.replaceAll(/\p{Cc}/gu, " ").slice(0, 60),
    ]);
    const head = ["APPLICATION", "ACCOUNT", "STATE", "RPM", "TPM", "USE CASE"];
    return {
      lines: table(head, rows, "There are no applications."),
      json: { applications: applications.map(applicationJson) },
      exitCode: 0,
    };
  },
});

export const quotaApprove = defineCommand({
  words: ["quota", "approve"],
  operand: "ID",
  summary: "approves an application: Growth, or the figures given; a running server follows within 5 s",
  flags: {
    tier: optional(
      "T",
      "the tier to grant, unless the account has a higher one; growth when nothing else is given",
    ),
    ...limitFlags,
  },
  run: async ({ operand, flags }, parts) => {
    const limits = readLimits(flags);
    const tier = flags.tier ?? (Object.keys(limits).length === 0 ? "growth" : undefined);
    const grant: QuotaGrant = { limits, ...(tier === undefined ? {} : { tier: readTier("tier", tier) }) };
    const approve = withStore(parts, (store) => store.quotas.approve(operand, grant, parts.clock.wallMs()));
    return applicationAnswer(operand, await approve);
  },
});

export const quotaDeny = defineCommand({
  words: ["quota", "deny"],
  operand: "ID",
  summary: "denies an application",
  flags: {},
  run: async ({ operand }, parts) =>
    applicationAnswer(
      operand,
      await withStore(parts, (store) => store.quotas.deny(operand, parts.clock.wallMs())),
    ),
});

function readState(written: string | undefined): QuotaApplication["state"] | undefined {
  if (written === undefined || written === "open" || written === "approved" || written === "denied")
    return written;
  throw new WrongUsage("--state takes one of open, approved, denied.");
}

function applicationAnswer(id: string, application: QuotaApplication | undefined): Answer {
  if (!application) throw new CommandFailed(`There is no open application ${id}.`);
  return {
    lines: fieldLines({
      application: application.id,
      account: application.accountId,
      state: application.state,
    }),
    json: applicationJson(application),
    exitCode: 0,
  };
}

const applicationJson = (application: QuotaApplication) => ({
  application_id: application.id,
  account_id: application.accountId,
  key_id: application.keyId,
  state: application.state,
  expected_rpm: application.expectedRpm,
  expected_tpm: application.expectedTpm,
  models: application.models,
  endpoints: application.endpoints,
  use_case: application.useCase,
  created_at: isoTime(application.createdAtMs),
  decided_at: isoTimeOrNull(application.decidedAtMs),
});

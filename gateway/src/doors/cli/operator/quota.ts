import type { QuotaApplication, QuotaGrant } from "../../../ledger/quota-applications.ts";
import type { Store } from "../../../store/store.ts";
import { isoTime } from "../../../platform/clock.ts";
import { CommandFailed, defineCommand, optional, WrongUsage, type Answer } from "../command.ts";
import { fieldLines, isoTimeOrNull, table } from "../output.ts";
import { limitFlags, readLimits, readTier } from "../values.ts";
import { withStore } from "../with-store.ts";
import { grantedText } from "./account/account.ts";
import { shortPatternsText } from "./key/key-allowed.ts";

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
      shortPatternsText(wantedFor(application)),
      printable(application.useCase).slice(0, 60),
    ]);
    const head = ["APPLICATION", "ACCOUNT", "STATE", "RPM", "TPM", "FOR", "USE CASE"];
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
    return withStore(parts, async (store) =>
      decided(operand, await store.quotas.approve(operand, grant, parts.clock.wallMs()), store),
    );
  },
});

export const quotaDeny = defineCommand({
  words: ["quota", "deny"],
  operand: "ID",
  summary: "denies an application",
  flags: {},
  run: ({ operand }, parts) =>
    withStore(parts, async (store) =>
      decided(operand, await store.quotas.deny(operand, parts.clock.wallMs()), store),
    ),
});

function readState(written: string | undefined): QuotaApplication["state"] | undefined {
  if (written === undefined || written === "open" || written === "approved" || written === "denied")
    return written;
  throw new WrongUsage("--state takes one of open, approved, denied.");
}

/** An approval may grant less than was asked for, so what the account has now stands below it. */
async function decided(
  id: string,
  application: QuotaApplication | undefined,
  store: Pick<Store, "accounts">,
): Promise<Answer> {
  if (!application) throw new CommandFailed(`There is no open application ${id}.`);
  const account = await store.accounts.find(application.accountId);
  if (!account) throw new Error("An application names an account that is not there.");
  const { expectedRpm, expectedTpm } = application;
  return {
    lines: fieldLines({
      application: application.id,
      account: application.accountId,
      state: application.state,
      "asked for": `${expectedRpm} requests and ${expectedTpm} tokens per minute`,
      tier: account.tier,
      "granted limits": grantedText(account),
    }),
    json: { ...applicationJson(application), tier: account.tier, granted_limits: account.grantedLimits },
    exitCode: 0,
  };
}

/** What the applicant means to call, in their own words. */
const wantedFor = ({ models, endpoints }: QuotaApplication): readonly string[] =>
  [...models, ...endpoints].map(printable);

/** A stranger's words must not write to the terminal, nor turn the line around. */
const printable = (text: string): string => text.replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, " ");

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

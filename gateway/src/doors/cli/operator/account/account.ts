import type { Account, AccountChange } from "../../../../ledger/accounts.ts";
import { multiplierFromPpm, multiplierOne } from "../../../../platform/money.ts";
import { isoTime } from "../../../../platform/clock.ts";
import { prefixedId } from "../../../../platform/prefixed-id.ts";
import {
  CommandFailed,
  defineCommand,
  optional,
  required,
  toggle,
  WrongUsage,
  type Answer,
} from "../../command.ts";
import { fieldLines, table, usd } from "../../output.ts";
import { limitFlags, readCredit, readLimits, readMultiplier, readText, readTier } from "../../values.ts";
import { withNewStore, withStore } from "../../with-store.ts";

const tierHelp = "free, starter, growth or enterprise";
const multiplierHelp = "what list prices are multiplied by, like 0.9";

export const accountCreate = defineCommand({
  words: ["account", "create"],
  summary: "opens an account",
  flags: {
    name: required("N", "whose account it is"),
    tier: optional("T", `${tierHelp}; free when not given`),
    "credit-usd": optional("X", "a grant to begin with; it does not raise the tier"),
    "plan-multiplier": optional("M", `${multiplierHelp}; 1 when not given`),
  },
  run: async ({ flags }, parts) => {
    const account = {
      id: prefixedId("acc_", parts.newId),
      name: readText("name", flags.name),
      tier: readTier("tier", flags.tier ?? "free"),
      creditMicros: readCredit("credit-usd", flags["credit-usd"] ?? "0"),
      planMultiplierPpm:
        flags["plan-multiplier"] === undefined
          ? multiplierOne
          : readMultiplier("plan-multiplier", flags["plan-multiplier"]),
      nowMs: parts.clock.wallMs(),
    };
    const isFirst = !(await parts.hasData());
    const created = await withNewStore(parts, (store) => store.accounts.create(account));
    // Run in the wrong folder, this makes an account that no server knows. Say so, or nobody would notice.
    if (isFirst) parts.printError(`There was no data at ${parts.dataName} yet; it begins with this account.`);
    return accountAnswer(created);
  },
});

export const accountList = defineCommand({
  words: ["account", "list"],
  summary: "lists the accounts",
  flags: {},
  run: async (_given, parts) => {
    const accounts = await withStore(parts, (store) => store.accounts.list());
    const rows = accounts.map((account) => [
      account.id,
      account.name,
      account.tier,
      usd(account.postedMicros),
      usd(account.heldMicros),
      account.suspended ? "suspended" : "active",
    ]);
    return {
      lines: table(
        ["ACCOUNT", "NAME", "TIER", "BALANCE", "HELD", "STATE"],
        rows,
        "There are no accounts yet.",
      ),
      json: { accounts: accounts.map(accountJson) },
      exitCode: 0,
    };
  },
});

export const accountShow = defineCommand({
  words: ["account", "show"],
  operand: "ID",
  summary: "shows one account",
  flags: {},
  run: async ({ operand }, parts) =>
    accountAnswer(knownAccount(operand, await withStore(parts, (store) => store.accounts.find(operand)))),
});

export const accountUpdate = defineCommand({
  words: ["account", "update"],
  operand: "ID",
  summary:
    "changes an account's name, tier, plan or granted limits, suspends or resumes it; a running server follows within 5 s",
  flags: {
    name: optional("N", "whose account it is"),
    tier: optional("T", tierHelp),
    "plan-multiplier": optional("M", multiplierHelp),
    ...limitFlags,
    "no-granted-limits": toggle("take back all limits that were granted; the tier's hold"),
    suspend: toggle("refuse its calls until it is resumed"),
    resume: toggle("accept its calls again"),
  },
  run: async ({ operand, flags }, parts) => {
    if (flags.suspend && flags.resume) throw new WrongUsage("--suspend and --resume exclude each other.");
    const limits = readLimits(flags);
    const grants = Object.keys(limits).length > 0;
    if (grants && flags["no-granted-limits"])
      throw new WrongUsage("--no-granted-limits excludes --rpm, --tpm and --concurrency.");
    const change: AccountChange = {
      ...(flags.name !== undefined && { name: readText("name", flags.name) }),
      ...(flags.tier !== undefined && { tier: readTier("tier", flags.tier) }),
      ...(flags["plan-multiplier"] !== undefined && {
        planMultiplierPpm: readMultiplier("plan-multiplier", flags["plan-multiplier"]),
      }),
      ...(grants && { grantedLimits: limits }),
      ...(flags["no-granted-limits"] && { grantedLimits: null }),
      ...((flags.suspend || flags.resume) && { suspended: flags.suspend }),
    };
    if (Object.keys(change).length === 0) {
      throw new WrongUsage(
        "Nothing to change: give --name, --tier, --plan-multiplier, --rpm, --tpm, --concurrency, " +
          "--no-granted-limits, --suspend or --resume.",
      );
    }
    return accountAnswer(
      knownAccount(operand, await withStore(parts, (store) => store.accounts.update(operand, change))),
    );
  },
});

/** The account; fails with a sentence where there is none with that id. */
export function knownAccount(accountId: string, account: Account | undefined): Account {
  if (!account) throw new CommandFailed(`There is no account ${accountId}.`);
  return account;
}

export const accountAnswer = (account: Account): Answer => ({
  lines: fieldLines({
    account: account.id,
    name: account.name,
    tier: account.tier,
    "granted limits": grantedText(account),
    "plan multiplier": multiplierFromPpm(account.planMultiplierPpm),
    balance: usd(account.postedMicros),
    held: usd(account.heldMicros),
    available: usd(account.postedMicros - account.heldMicros),
    "topped up": usd(account.toppedUpMicros),
    state: account.suspended ? "suspended" : "active",
    created: isoTime(account.createdAtMs),
  }),
  json: accountJson(account),
  exitCode: 0,
});

/** Only what was granted: the tiers' own figures are in the server's configuration, which a command may not have. */
export function grantedText({ grantedLimits: { rpm, tpm, concurrency } }: Account): string {
  const figures = [
    ...(rpm === undefined ? [] : [`${rpm} requests per minute`]),
    ...(tpm === undefined ? [] : [`${tpm} tokens per minute`]),
    ...(concurrency === undefined ? [] : [`${concurrency} streams and long calls at once`]),
  ];
  return figures.length === 0 ? "none" : `${figures.join(", ")}, where the tier has fewer`;
}

const accountJson = (account: Account): object => ({
  account_id: account.id,
  name: account.name,
  tier: account.tier,
  plan_multiplier: multiplierFromPpm(account.planMultiplierPpm),
  suspended: account.suspended,
  granted_limits: account.grantedLimits,
  balance_micros_usd: Number(account.postedMicros),
  held_micros_usd: Number(account.heldMicros),
  available_micros_usd: Number(account.postedMicros - account.heldMicros),
  topped_up_micros_usd: Number(account.toppedUpMicros),
  created_at: isoTime(account.createdAtMs),
});

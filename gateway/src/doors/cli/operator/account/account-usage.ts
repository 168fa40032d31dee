import type { Store } from "../../../../store/store.ts";
import { dayOf, dayStartSeconds, secondsPerDay } from "../../../../platform/utc-day.ts";
import { readUsageByGroup, type UsageByGroup } from "../../../../usage/usage-by-group.ts";
import {
  readUsage,
  reportDaysMax,
  type UsageByDay,
  type UsageFigures,
  type UsageWindow,
} from "../../../../usage/usage-report.ts";
import { readWholeUsage, readWholeUsageByGroup } from "../../../../usage/whole-usage.ts";
import { knownAccount } from "./account.ts";
import { defineCommand, optional, WrongUsage } from "../../command.ts";
import { table, usd } from "../../output.ts";
import { readDaySeconds, readWord } from "../../values.ts";
import { withStore } from "../../with-store.ts";

const groupings = ["day", "account", "key", "model", "operation", "upstream"] as const;
type Grouping = (typeof groupings)[number];

/** One account's usage, or that of all together. */
type Wanted =
  | { readonly accountId: string; readonly by: Exclude<Grouping, "account"> }
  | { readonly accountId: undefined; readonly by: Exclude<Grouping, "key"> };

const daysUsual = 7;
/**
 * Days, accounts and keys are summed up as calls end; models, operations and upstreams are not, and every call of the span is
 * read for them. A month of calls is what a vendor's bill is about.
 */
const daysMax: Readonly<Record<Grouping, number>> = {
  day: reportDaysMax,
  account: reportDaysMax,
  key: reportDaysMax,
  model: 31,
  operation: 31,
  upstream: 31,
};

export const accountUsage = defineCommand({
  words: ["account", "usage"],
  operand: "[ACCOUNT_ID]",
  summary:
    "shows what an account, or all of them, used and was charged, by day, account, key, model, operation or upstream",
  flags: {
    from: optional("DATE", `the first UTC day; ${daysUsual} days in all when absent`),
    to: optional("DATE", "the last UTC day, included; today when absent"),
    by: optional(
      groupings.join("|"),
      `day when absent; account for all of them, key for one; at most ${daysMax.day} days, by model, operation or upstream at most ${daysMax.model}, because every call is read`,
    ),
  },
  run: async ({ operand, flags }, parts) => {
    const wanted = readWanted(operand, flags.by ?? "day");
    const { accountId, by } = wanted;
    const window = readWindow(flags, by, parts.clock.wallMs());
    const { groups, totals } = await withStore(parts, async (store) => {
      if (accountId !== undefined) knownAccount(accountId, await store.accounts.find(accountId));
      return readGroups(store, wanted, window);
    });
    const labels = labelsOf[by];
    const total = ["total", ...labels.slice(1).map(() => "")];
    return {
      lines: table(
        [...labels, "CALLS", "FAILED", "TOKENS IN", "TOKENS OUT", "VALUE", "CHARGED"],
        [
          ...groups.map(({ label, figures }) => [...Object.values(label).map(shown), ...cells(figures)]),
          [...total, ...cells(totals)],
        ],
        "",
      ),
      json: {
        account_id: accountId ?? null,
        by,
        from: dayOf(window.startSeconds),
        to: dayOf(window.endSeconds - secondsPerDay),
        groups: groups.map(({ label, figures }) => ({ ...label, ...figures })),
        totals,
      },
      exitCode: 0,
    };
  },
});

function readWanted(operand: string, written: string): Wanted {
  const by = readWord("by", written, groupings);
  if (operand === "") {
    if (by === "key") throw new WrongUsage("--by key is about one account: give its ACCOUNT_ID.");
    return { accountId: undefined, by };
  }
  if (by === "account") throw new WrongUsage("--by account is about all accounts: leave the ACCOUNT_ID out.");
  return { accountId: operand, by };
}

function readWindow(
  { from, to }: { readonly from: string | undefined; readonly to: string | undefined },
  by: Grouping,
  nowMs: number,
): UsageWindow {
  const lastDay = to === undefined ? dayStartSeconds(Math.floor(nowMs / 1000)) : readDaySeconds("to", to);
  const endSeconds = lastDay + secondsPerDay;
  const startSeconds =
    from === undefined ? endSeconds - daysUsual * secondsPerDay : readDaySeconds("from", from);
  if (startSeconds >= endSeconds) throw new WrongUsage(`--from must not lie after ${dayOf(lastDay)}.`);
  if (endSeconds - startSeconds > daysMax[by] * secondsPerDay)
    throw new WrongUsage(`By ${by}, --from and --to may span ${daysMax[by]} days at most.`);
  return { startSeconds, endSeconds };
}

interface Group {
  /** What stands before the figures, in the order of the table's columns. */
  readonly label: Readonly<Record<string, string | null>>;
  readonly figures: UsageFigures;
}

interface Groups {
  readonly groups: readonly Group[];
  readonly totals: UsageFigures;
}

const labelsOf: Readonly<Record<Grouping, readonly string[]>> = {
  day: ["DAY"],
  account: ["ACCOUNT", "NAME"],
  key: ["KEY", "NAME"],
  model: ["MODEL"],
  operation: ["OPERATION"],
  upstream: ["UPSTREAM"],
};

async function readGroups(store: Store, wanted: Wanted, window: UsageWindow): Promise<Groups> {
  const { groups, totals } = await readApart(store, wanted, window);
  const nameOf = await ownNames(store, wanted);
  const labelOf = {
    day: (day = "") => ({ day }),
    account: (id = "") => ({ account_id: id, name: nameOf(id) }),
    key: (id = "") => ({ key_id: id, name: nameOf(id) }),
    model: (model?: string) => ({ model: model ?? null }),
    operation: (id = "") => ({ operation_id: id }),
    upstream: (upstream?: string) => ({ upstream: upstream ?? null }),
  }[wanted.by];
  return { groups: groups.map(({ name, ...figures }) => ({ label: labelOf(name), figures })), totals };
}

async function readApart(
  { usage }: Store,
  { accountId, by }: Wanted,
  window: UsageWindow,
): Promise<UsageByGroup> {
  if (accountId === undefined)
    return by === "day"
      ? byDays(await readWholeUsage(usage, window))
      : readWholeUsageByGroup(usage, by, window);
  const account = { accountId, keyId: undefined };
  return by === "day"
    ? byDays(await readUsage(usage, account, window))
    : readUsageByGroup(usage, account, by, window);
}

/** Also those without any usage, in their order. */
const byDays = ({ buckets, totals }: UsageByDay): UsageByGroup => ({
  groups: buckets.map(({ start_time: start, end_time: _, ...figures }) => ({
    name: dayOf(start),
    ...figures,
  })),
  totals,
});

/** What people call their accounts and keys. */
async function ownNames(store: Store, { accountId, by }: Wanted): Promise<(id: string) => string | null> {
  const owners =
    by === "account" ? await store.accounts.list() : by === "key" ? await store.keys.list(accountId) : [];
  const names = new Map(owners.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? null;
}

/** An operation that knows no models is charged without one, and what a dead process left says nothing of its upstream. */
const shown = (label: string | null): string => label ?? "none";

const cells = (of: UsageFigures): string[] => [
  String(of.requests),
  String(of.failed_requests),
  String(of.input_tokens + of.cache_read_tokens + of.cache_write_tokens),
  String(of.output_tokens),
  usd(BigInt(of.usage_value_micros_usd)),
  usd(BigInt(of.charged_micros_usd)),
];
